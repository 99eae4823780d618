"""Builds messages, notes and loaded memories for the tests of the memory's steps."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from app.memory.model import Item, Observation, Reflection, Status
from app.memory.records import Loaded
from app.sessions.model import Kind, Message, Role, text_part

NOW = datetime(2026, 8, 1, 10, 0, tzinfo=UTC)
MEMORY_ID = UUID(int=1)


def said(seq: int, text: str = "Hello", *, at: datetime = NOW, observe: bool = True) -> Message:
    """A message of the user."""
    return Message(
        seq=seq,
        id=f"m-{seq}",
        kind=Kind.USER,
        role=Role.USER,
        parts=(text_part(text),),
        tokens=10,
        created_at=at,
        observe=observe,
    )


def observation(number: int, *items: Item, tokens: int = 100) -> Observation:
    """Chunk ``number`` of the log: it covers messages 10 * number - 9 to 10 * number."""
    return Observation(
        id=number,
        ordinal=number * 10 - 9,
        status=Status.ACTIVE,
        text="",
        items=items,
        tokens=tokens,
        message_tokens=1_000,
        session_id=MEMORY_ID,
        from_seq=number * 10 - 9,
        to_seq=number * 10,
        covers=((number * 10 - 9, number * 10),),
        born_version=number,
        created_at=NOW,
    )


def reflection(number: int, *items: Item, level: int = 1, tokens: int = 100) -> Reflection:
    """A reflection that replaces chunk ``number``."""
    chunk = observation(number, *items, tokens=tokens)
    return Reflection(
        id=number,
        level=level,
        generation=1,
        status=Status.ACTIVE,
        text="",
        items=items,
        tokens=tokens,
        source_tokens=1_000,
        covers=chunk.covered,
        from_seq=chunk.from_seq,
        to_seq=chunk.to_seq,
        sources=(),
        born_version=number,
        created_at=NOW,
    )


def loaded(*chunks: Observation | Reflection) -> Loaded:
    return replace(
        EMPTY,
        observations=tuple(chunk for chunk in chunks if isinstance(chunk, Observation)),
        reflections=tuple(chunk for chunk in chunks if isinstance(chunk, Reflection)),
    )


EMPTY = Loaded(
    memory_id=MEMORY_ID,
    session_id=MEMORY_ID,
    session_key="s",
    tenant="default",
    now=NOW,
    config={},
    pending_tokens=0,
    last_seq=0,
    observed_seq=0,
    buffered_seq=0,
    requested=None,
    requested_at=None,
    attempts=0,
    reflected_at=None,
    unhelped_tokens=None,
    current_task=None,
    observations=(),
    buffered=(),
    reflections=(),
)
