"""Fits notes and messages into budgets: the newest notes, and a tail whose start moves in quarters of its budget."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Self

from app.context.cutting import cut_evenly
from app.context.draft import Tail
from app.memory.spans import groups
from app.sessions.model import Message, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteLimits:
    """The limits of the log: tokens, and numbers of entries. None is no limit."""

    tokens: int | None = None
    reflections: int | None = None
    observations: int | None = None


def effective(asked: int | None, rule: int | None) -> int | None:
    """The limit in force; None: no limit. The caller's wins over the rule's, and 0 asks for no limit."""
    return rule if asked is None else asked or None


@dataclass(frozen=True, slots=True)
class Notes:
    """The log by id and tokens, each kind oldest first."""

    reflections: Mapping[str, int]
    observations: Mapping[str, int]

    def within(self, limits: NoteLimits) -> frozenset[str]:
        """The ids shown: the newest reflections that fit, then the newest observations in the rest of the budget."""
        kept = _newest(self.reflections, tokens_max=limits.tokens, count_max=limits.reflections)
        beside = sum(self.reflections[id_] for id_ in kept)
        found = _newest(self.observations, tokens_max=limits.tokens, count_max=limits.observations, beside=beside)
        return frozenset([*kept, *found])

    def budgets(self, limits: NoteLimits) -> dict[str, int | None]:
        """For each note that ``limits`` leave out, the smallest budget that would bring it back.

        An observation returns together with all reflections that may be shown. None if the number of entries is the
        limit.
        """
        kept = self.within(limits)
        if limits.tokens is None:
            return {id_: None for id_ in (*self.reflections, *self.observations) if id_ not in kept}
        shown = list(self.reflections.values())
        shown = shown if limits.reflections is None else shown[max(len(shown) - limits.reflections, 0) :]
        beside = sum(shown)
        found = _least(self.reflections, count_max=limits.reflections, above=limits.tokens)
        found |= _least(self.observations, count_max=limits.observations, above=limits.tokens, beside=beside)
        return {id_: least for id_, least in found.items() if id_ not in kept}


def _newest(sizes: Mapping[str, int], *, tokens_max: int | None, count_max: int | None, beside: int = 0) -> list[str]:
    ids = list(sizes)
    kept = newest_within(list(sizes.values()), tokens_max=tokens_max, count_max=count_max, beside=beside)
    return [ids[index] for index in kept]


def newest_within(
    tokens: Sequence[int], *, tokens_max: int | None, count_max: int | None, beside: int = 0
) -> list[int]:
    """The indexes kept, ascending, of items given oldest first by their sizes.

    The newest are taken until one does not fit, ``beside`` of the budget being taken already. An item larger than the
    whole budget is passed over: it could never be shown, and must not hide the ones before it.
    """
    kept: list[int] = []
    left = None if tokens_max is None else tokens_max - beside
    for index in range(len(tokens) - 1, -1, -1):
        if len(kept) == count_max:
            break
        if tokens_max is not None and tokens[index] > tokens_max:
            continue
        if left is not None:
            if tokens[index] > left:
                break
            left -= tokens[index]
        kept.append(index)
    return kept[::-1]


def _least(sizes: Mapping[str, int], *, count_max: int | None, above: int, beside: int = 0) -> dict[str, int | None]:
    found = least_budgets(list(sizes.values()), count_max=count_max, above=above, beside=beside)
    return dict(zip(sizes, found, strict=True))


def least_budgets(tokens: Sequence[int], *, count_max: int | None, above: int, beside: int) -> list[int | None]:
    """For each item the smallest ``tokens_max`` over ``above`` with which ``newest_within`` keeps it; None: none does.

    An item is kept if it and the newer ones, without those larger than the budget, fit together. A budget too small for
    them is raised to their sum, which lets larger ones in: the sum grows by half each time, so that this ends soon.
    """
    newer = _Sizes(tokens)
    found: list[int | None] = [None] * len(tokens)
    for index in range(len(tokens) - 1, -1, -1):
        newer.add(tokens[index])
        budget = max(tokens[index], above + 1)
        while (taken := newer.up_to(budget))[1] + beside > budget:
            budget = taken[1] + beside
        found[index] = budget if count_max is None or taken[0] <= count_max else None
    return found


class _Sizes:
    """The number and the sum of the added sizes up to a given one: a Fenwick tree (1994)."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = sorted(set(sizes))
        self._counts = [0] * (len(self._sizes) + 1)
        self._sums = [0] * (len(self._sizes) + 1)

    def add(self, size: int) -> None:
        at = bisect_left(self._sizes, size) + 1
        while at < len(self._sums):
            self._counts[at] += 1
            self._sums[at] += size
            at += at & -at

    def up_to(self, size: int) -> tuple[int, int]:
        at = bisect_right(self._sizes, size)
        count = total = 0
        while at:
            count += self._counts[at]
            total += self._sums[at]
            at -= at & -at
        return count, total


def tail_cut(tail_tokens: int, budget: int | None) -> int:
    """How many tokens to leave out at the head of a tail: 0, or the fewest quarters of the budget that make it fit.

    So the start does not move until another quarter of the budget has been appended.
    """
    if budget is None or tail_tokens <= budget:
        return 0
    quarter = max(budget // 4, 1)
    return -((budget - tail_tokens) // quarter) * quarter


@dataclass(frozen=True)
class TailStarts:
    """The possible starts of a tail. ``before`` has the tokens before each message, and last the tokens of all.

    The tokens count from ``tail_from_seq``, which may lie before the first message that was read.
    """

    messages: Sequence[Message]
    before: Sequence[int]

    @classmethod
    def of(cls, messages: Sequence[Message], *, skipped_tokens: int) -> Self:
        return cls(messages, list(accumulate((message.tokens for message in messages), initial=skipped_tokens)))

    def within(self, budget: int | None) -> int:
        """The first group start at or after the cut, at the latest that of the newest group."""
        cut = tail_cut(self.before[-1], budget)
        if cut == 0 and self.before[0] == 0:
            return 0
        at = bisect_left(self._groups, cut, key=self.before.__getitem__)
        return self._groups[min(at, len(self._groups) - 1)]

    @cached_property
    def _groups(self) -> list[int]:
        """The indexes at which whole groups begin. An open call does not hold what follows it.

        A group that begins with results has lost its calls: at the head of a cut tail it is the rest of a group.
        """
        sizes = [len(group.messages) for group in groups(self.messages, force_closed=True)]
        starts = accumulate(sizes[:-1], initial=0)
        return [start for start in starts if self.messages[start].role is not Role.TOOL] or [0]


def fitting_summary(summary: Message | None, *, key: str, budget: int | None) -> tuple[Message | None, int | None]:
    """The summary, cut to half the budget, and the rest of the budget for the messages."""
    if summary is None or budget is None:
        return summary, budget
    share = min(summary.tokens, budget // 2)
    (fitted,) = cut_evenly([summary], key=key, tokens_max=share)
    return fitted, budget - share


def budget_leaving(limit: int, *, summary_tokens: int) -> int:
    """The smallest budget that leaves ``limit`` to the messages beside a summary (see ``fitting_summary``)."""
    return limit + min(max(limit - 1, 0), summary_tokens)


def fitting_tail(tail: Tail, starts: TailStarts, *, key: str, budget: int | None) -> Tail:
    """The messages from the first group start after the cut on, oldest first.

    The newest group is always shown, evenly cut if it alone is over the budget. Incoming messages count as if they
    were stored, so that storing them moves nothing.
    """
    start = starts.within(budget)
    shown = tail.messages[start:]
    cut = shown if budget is None else cut_evenly(shown, key=key, tokens_max=budget)
    boundary = max(len(tail.stored) - start, 0)
    return Tail(
        summary=tail.summary,
        stored=cut[:boundary],
        incoming=cut[boundary:],
        dropped=tail.messages[:start],
        cut=frozenset(after.seq for before, after in zip(shown, cut, strict=True) if after is not before),
    )
