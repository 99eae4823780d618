"""Explains a compiled context: its segments, and the budgets' decision on each item."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import repeat
from typing import Self

from app.context.blocks import message_id
from app.context.cutting import least_whole
from app.context.draft import Line, Tail
from app.context.fitting import NoteLimits, Notes, TailStarts, budget_leaving
from app.context.model import Block, Decision, Layout, Segment, Turn, Verdict
from app.kit.json import canonical
from app.kit.tokens import text_tokens
from app.sessions.model import Message, Role

BUDGET = "budget"
OVER_MESSAGES = "over the message budget"


def segments(layout: Layout) -> tuple[Segment, ...]:
    """Every block and turn in its order; their tokens sum to the total."""
    last = len(layout.stable) - 1 if layout.breakpoints else -1
    return (
        *(_block(block, Role.SYSTEM) for block in layout.system),
        *(_turn(turn, ends_tail=index == last) for index, turn in enumerate(layout.stable)),
        *(_turn(turn, ends_tail=False) for turn in layout.incoming),
        *([_block(layout.volatile, Role.USER)] if layout.volatile else []),
    )


def decision(
    stage: str, verdict: Verdict, piece: Block | Turn | Line | Message, reason: str, *, returns: int | None = None
) -> Decision:
    return Decision(
        id=f"message:{piece.seq}" if isinstance(piece, Message) else piece.id,
        stage=stage,
        verdict=verdict,
        reason=reason,
        tokens=text_tokens(piece.text) if isinstance(piece, Line) else piece.tokens,
        returns_with_tokens=returns,
    )


def least(is_kept: Callable[[int], bool], *, above: int, enough: int) -> int:
    """The smallest budget that keeps an item, which is kept under ``enough`` and not under ``above``.

    Found by bisection.
    """
    low, high = above, enough
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_kept(middle) else (middle, high)
    return high


def of_notes(blocks: Sequence[Block], notes: Notes, limits: NoteLimits) -> Iterator[Decision]:
    """The memory budget's decision on each note."""
    budgets = notes.budgets(limits)
    for block in blocks:
        if block.id not in budgets:
            yield decision(BUDGET, Verdict.KEPT, block, "within the memory budget")
        else:
            budget = budgets[block.id]
            returns = None if budget is None else budget - (limits.tokens or 0)
            reason = "over the memory budget" if returns else f"over the number of {block.section}"
            yield decision(BUDGET, Verdict.DROPPED, block, reason, returns=returns)


@dataclass(frozen=True, slots=True, kw_only=True)
class TailBudgets:
    """The message budget that is ``asked`` for, and what is ``left`` of it beside a summary of ``summary_tokens``."""

    asked: int
    left: int
    summary_tokens: int

    @classmethod
    def of(cls, summary: Message | None, *, asked: int | None, left: int | None) -> Self:
        """None is no limit, under which nothing has to return."""
        return cls(asked=asked or 0, left=left or 0, summary_tokens=0 if summary is None else summary.tokens)

    def lack(self, left: int) -> int:
        """How many more tokens to ask for, so that ``left`` are left for the messages."""
        return budget_leaving(left, summary_tokens=self.summary_tokens) - self.asked


def of_summary(whole: Message | None, *, shown: Message | None, budget: int | None) -> Iterator[Decision]:
    """The message budget's decision on the summary, which gets half of it at most."""
    if whole is None or shown is None:
        return
    if shown is whole:
        yield decision(BUDGET, Verdict.KEPT, whole, "within half of the message budget")
    else:
        returns = 2 * whole.tokens - (budget or 0)
        yield decision(BUDGET, Verdict.CUT, shown, "over half of the message budget", returns=returns)


def of_tail(
    shown: Tail, starts: TailStarts, *, first_seq: int, last_seq: int, budgets: TailBudgets
) -> Iterator[Decision]:
    """The message budget's decision on each message; those after ``last_seq`` are incoming.

    The messages from ``first_seq`` up to the first that was read, the first of ``starts``, are one item.
    """

    def of(message: Message, verdict: Verdict, reason: str, *, returns: int | None = None) -> Decision:
        found = decision(BUDGET, verdict, message, reason, returns=returns)
        return replace(found, id=message_id(message.seq, last_seq=last_seq))

    skipped, total = starts.before[0], starts.before[-1]
    if skipped:
        yield Decision(
            id=f"messages:{first_seq}-{starts.messages[0].seq - 1}",
            stage=BUDGET,
            verdict=Verdict.DROPPED,
            reason=OVER_MESSAGES,
            tokens=skipped,
            returns_with_tokens=budgets.lack(total),
        )
    for index, message in enumerate(shown.dropped):
        enough = least(_reaches(index, starts), above=budgets.left, enough=total)
        yield of(message, Verdict.DROPPED, OVER_MESSAGES, returns=budgets.lack(enough))
    wholes = least_whole(starts.messages[len(shown.dropped) :]) if shown.cut else repeat(0)
    for message, enough in zip(shown.messages, wholes, strict=False):
        if message.seq in shown.cut:
            yield of(message, Verdict.CUT, "the newest group alone is over the budget", returns=budgets.lack(enough))
        else:
            yield of(message, Verdict.KEPT, "within the message budget")


def _reaches(index: int, starts: TailStarts) -> Callable[[int], bool]:
    return lambda tokens: starts.within(tokens) <= index


def _block(block: Block, role: Role) -> Segment:
    return Segment(
        id=block.id,
        section=block.section,
        role=role,
        stability=block.stability,
        tokens=block.tokens,
        sha256=sha256(block.text.encode()).hexdigest(),
        breakpoint=block.breakpoint,
    )


def _turn(turn: Turn, *, ends_tail: bool) -> Segment:
    return Segment(
        id=turn.id,
        section=turn.section,
        role=turn.role,
        stability=turn.stability,
        tokens=turn.tokens,
        sha256=sha256(canonical(turn.parts)).hexdigest(),
        breakpoint=ends_tail,
    )
