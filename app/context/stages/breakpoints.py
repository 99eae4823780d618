"""Lays out the context, the part that stays the same for longest first, and sets the cache breakpoints."""

from collections.abc import Sequence
from dataclasses import replace

from app.context.blocks import message_id, text_block
from app.context.draft import Draft, Line
from app.context.model import Ask, Block, Layout, Section, Snapshot, Stability, Turn
from app.context.wording import in_context
from app.sessions.model import Kind, Message, Role


def breakpoints(draft: Draft, snapshot: Snapshot, ask: Ask) -> Draft:
    """Set breakpoints after the caller's part, the reflections and the observations (memory-rules.md section 6).

    The profile comes after the first one: up to there the prefix is the same for all sessions of an agent. Those in the
    tail depend on the provider's shape and are set by its rendering (docs/decisions/0078).
    """
    parts: tuple[Sequence[Block], ...] = ((*draft.system, *draft.knowledge), draft.reflections, draft.observations)
    own, reflections, observations = map(_ending_in_breakpoint, parts) if ask.breakpoints else parts
    summary = [draft.tail.summary] if draft.tail.summary else []
    last_seq = snapshot.last_seq
    layout = Layout(
        system=(*own, *draft.profile, *draft.guide, *reflections, *observations),
        stable=(
            *draft.continuation,
            *(_turn(message, Stability.EPOCH, last_seq=last_seq) for message in summary),
            *(_turn(message, Stability.TAIL, last_seq=last_seq) for message in draft.tail.stored),
        ),
        incoming=tuple(_turn(message, Stability.VOLATILE, last_seq=last_seq) for message in draft.tail.incoming),
        volatile=_volatile(draft.volatile) if draft.volatile else None,
        breakpoints=ask.breakpoints,
    )
    return replace(draft, layout=layout)


def _ending_in_breakpoint(blocks: Sequence[Block]) -> list[Block]:
    return [*blocks[:-1], *(replace(block, breakpoint=True) for block in blocks[-1:])]


def _turn(message: Message, stability: Stability, *, last_seq: int) -> Turn:
    """The message as a turn. An erased result keeps the role of a tool, whoever sent it."""
    return Turn(
        message_id(message.seq, last_seq=last_seq),
        Role.TOOL if message.erased_at and message.kind is Kind.TOOL_RESULT else message.role,
        message.parts,
        message.tokens,
        Section.MESSAGES,
        stability,
        message.name,
    )


def _volatile(lines: Sequence[Line]) -> Block:
    inner = "\n".join(line.text for line in lines)
    return text_block("volatile", Section.VOLATILE, Stability.VOLATILE, in_context(inner))
