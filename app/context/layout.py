"""The order of a context, by how long each part stays the same, and where its cache breakpoints are."""

from collections.abc import Sequence
from dataclasses import replace

from app.context.log import Log
from app.context.model import Ask, Block, Layout, Snapshot, Stability, Turn
from app.context.sections import continuation, guide_block, system_blocks, volatile_block
from app.context.tail import Tail
from app.sessions.model import Message, Role


def laid_out(snapshot: Snapshot, ask: Ask, *, log: Log, tail: Tail, unobserved_omitted: int) -> Layout:
    """The sections in the order of memory-rules.md section 6; the guide and the note only where there is a log.

    Breakpoints: after the caller's part, the reflections and the observations; the fourth, at the end of the tail,
    depends on the provider's shape and is set by its rendering.
    """
    guide, note = ([guide_block()], [continuation()]) if log else ([], [])
    own, reflections, observations = map(_ending_in_breakpoint, (system_blocks(ask), log.reflections, log.observations))
    stable = [*note, *(_turn(message, f"message:{message.seq}", Stability.TAIL) for message in tail.stored)]
    incoming = [
        _turn(message, f"incoming:{number}", Stability.VOLATILE) for number, message in enumerate(tail.incoming)
    ]
    spoken = [*stable, *incoming]
    has_place = bool(spoken) and spoken[-1].role is not Role.ASSISTANT
    volatile = volatile_block(snapshot, ask, has_memory=bool(log), unobserved_omitted=unobserved_omitted)
    return Layout(
        system=(*own, *guide, *reflections, *observations),
        stable=tuple(stable),
        incoming=tuple(incoming),
        volatile=volatile if has_place else None,
    )


def _ending_in_breakpoint(blocks: Sequence[Block]) -> list[Block]:
    return [*blocks[:-1], *(replace(block, breakpoint=True) for block in blocks[-1:])]


def _turn(message: Message, id_: str, stability: Stability) -> Turn:
    return Turn(
        id=id_,
        role=message.role,
        parts=message.parts,
        tokens=message.tokens,
        stability=stability,
        name=message.name,
    )
