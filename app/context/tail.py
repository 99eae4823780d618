"""The message tail: where it starts, and what of it is cut (memory-rules.md section 6)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from app.context.cutting import cut_evenly
from app.memory.spans import groups
from app.sessions.model import Message, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """The messages shown, stored ones and then incoming ones; ``dropped`` came before them.

    ``cut`` are the seqs of the messages that were shortened: only ever of the newest group, alone over the budget.
    """

    stored: tuple[Message, ...]
    incoming: tuple[Message, ...] = ()
    dropped: tuple[Message, ...] = ()
    cut: frozenset[int] = frozenset()


def tail_cut(tail_tokens: int, budget: int | None) -> int:
    """How many tokens to leave out at the head of a tail: 0, or the fewest quarters of the budget that make it fit.

    So the start stands still until another quarter of the budget was said.
    """
    if budget is None or tail_tokens <= budget:
        return 0
    quarter = max(budget // 4, 1)
    return -((budget - tail_tokens) // quarter) * quarter


def fitting_tail(
    stored: Sequence[Message], incoming: Sequence[Message], *, skipped_tokens: int, budget: int | None
) -> Tail:
    """The messages from the first group start after the cut on, oldest first.

    ``skipped_tokens`` of the same tail lie before the first stored message. The newest group is always shown, evenly
    cut if it alone is over the budget. ``incoming`` counts as if it were stored, so that storing it moves nothing.
    """
    messages = [*stored, *incoming]
    start = _start(messages, skipped_tokens, budget)
    shown = tuple(messages[start:])
    cut = shown if budget is None else cut_evenly(shown, tokens_max=budget)
    boundary = max(len(stored) - start, 0)
    return Tail(
        stored=cut[:boundary],
        incoming=cut[boundary:],
        dropped=tuple(messages[:start]),
        cut=frozenset(after.seq for before, after in zip(shown, cut, strict=True) if after is not before),
    )


def _start(messages: Sequence[Message], skipped_tokens: int, budget: int | None) -> int:
    """The first group start at or after the cut, at the latest that of the newest group."""
    before = list(accumulate((message.tokens for message in messages), initial=skipped_tokens))
    cut = tail_cut(before[-1], budget)
    if cut == 0:
        return 0
    starts = _group_starts(messages)
    return next((start for start in starts if before[start] >= cut), starts[-1])


def _group_starts(messages: Sequence[Message]) -> list[int]:
    """The indexes a tail may start at: those of whole groups. An open call keeps nothing that follows it.

    Results that begin a group have no call among the messages: at the head of a cut tail they are the rest of a group
    that was left out.
    """
    sizes = [len(group.messages) for group in groups(messages, force_closed=True)]
    starts = accumulate(sizes[:-1], initial=0)
    return [start for start in starts if messages[start].role is not Role.TOOL] or [0]
