"""What a context is compiled from and into, as values."""

from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Any

from app.memory.model import Observation, Reflection
from app.memory.rules import Rules
from app.sessions.model import Message, Part


class Format(StrEnum):
    NEUTRAL = "neutral"
    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    TEXT = "text"


class Section(StrEnum):
    """The parts of a context in their order (memory-rules.md section 6); the answer counts the tokens of each."""

    SYSTEM = "system"
    KNOWLEDGE = "knowledge"
    GUIDE = "guide"
    REFLECTIONS = "reflections"
    OBSERVATIONS = "observations"
    MESSAGES = "messages"
    VOLATILE = "volatile"


class Stability(StrEnum):
    STATIC = "static"
    EPOCH = "epoch"
    APPEND = "append"
    TAIL = "tail"
    VOLATILE = "volatile"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One session at one moment, read by one statement.

    ``tail`` holds messages oldest first, from ``tail_start_seq`` on; ``observed_seq`` is the cursor. ``anchor_date``
    is what relative dates are computed against. ``version`` 0 with no messages is a session never seen.
    """

    key: str
    version: int
    last_seq: int
    observed_seq: int
    tail_from_seq: int
    anchor_date: date
    newest_created_at: datetime | None
    rules: Rules
    reflections: tuple[Reflection, ...]
    observations: tuple[Observation, ...]
    tail: tuple[Message, ...]
    tail_overflow: bool  # the tail was cut to the message budget: it starts after tail_from_seq
    unobserved_omitted: int  # unobserved messages before the first of ``tail``
    current_task: str | None = None
    suggested_response: str | None = None
    lagging: bool = False  # the memory is behind: failing, stalled or over the block threshold
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    title: str
    text: str
    placement: str = "prefix"  # or "tail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What the caller asked for. A budget of None is the session's own; 0 is no limit."""

    format: Format
    now: datetime
    system: tuple[str, ...] = ()
    knowledge: tuple[Knowledge, ...] = ()
    state: dict[str, Any] = field(default_factory=dict)
    channel: str | None = None
    incoming: tuple[Message, ...] = ()
    memory_budget: int | None = None
    message_budget: int | None = None
    max_reflections: int | None = None
    max_observations: int | None = None
    explain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message of the tail as every rendering sees it: stored messages, the continuation note, incoming ones."""

    role: str
    parts: tuple[Part, ...]
    tokens: int
    seq: int | None = None
    name: str | None = None
