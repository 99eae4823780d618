"""The compiled context piece by piece, for whoever asks why it looks as it does."""

from collections.abc import Iterator
from hashlib import sha256

from app.context.log import Log
from app.context.model import Block, Decision, Layout, Segment, Turn, Verdict
from app.context.tail import Tail
from app.kit.json import canonical
from app.sessions.model import Message, Role


def segments(layout: Layout) -> tuple[Segment, ...]:
    """Every block and turn in its order; their tokens sum to the total."""
    last = len(layout.stable) - 1
    return (
        *(_block(block, Role.SYSTEM) for block in layout.system),
        *(_turn(turn, ends_tail=index == last) for index, turn in enumerate(layout.stable)),
        *(_turn(turn, ends_tail=False) for turn in layout.incoming),
        *([_block(layout.volatile, Role.USER)] if layout.volatile else []),
    )


def decisions(log: Log, tail: Tail) -> tuple[Decision, ...]:
    return (*_of_log(log), *_of_tail(tail))


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


def _of_log(log: Log) -> Iterator[Decision]:
    for block in (*log.reflections, *log.observations):
        yield Decision(id=block.id, verdict=Verdict.KEPT, reason="within the memory budget")
    for block in (*log.dropped_reflections, *log.dropped_observations):
        yield Decision(id=block.id, verdict=Verdict.DROPPED, reason="over the memory budget or its number")


def _of_tail(tail: Tail) -> Iterator[Decision]:
    if tail.dropped:
        yield Decision(id=_range(tail.dropped), verdict=Verdict.DROPPED, reason="over the message budget")
    if tail.stored:
        yield Decision(id=_range(tail.stored), verdict=Verdict.KEPT, reason="the tail")
    for seq in sorted(tail.cut):
        yield Decision(id=f"message:{seq}", verdict=Verdict.CUT, reason="the newest group alone is over the budget")


def _range(messages: tuple[Message, ...]) -> str:
    return f"messages:{messages[0].seq}-{messages[-1].seq}"
