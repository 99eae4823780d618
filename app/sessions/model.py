"""What was said: a session's messages as values.

A part is a JSON object with a ``type``; the neutral types are those of ``PartType``. Fields beyond the neutral ones
are kept as they came, so that a part survives a round trip to the provider it came from (api.md, Messages).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol, Self, TypeAlias
from uuid import UUID

from app.llm.port import Usage

Part: TypeAlias = dict[str, Any]

SEQ_MAX = 2**63 - 1
BEFORE_ALL = UUID(int=0)  # what goes over all sessions, in the order of their ids, begins after it
MESSAGES_MOST = 10_000  # that a request may be allowed to have: of a longer list no more is read


class PartType(StrEnum):
    TEXT = "text"  # text
    TOOL_CALL = "tool_call"  # id, name, arguments (object, or the string as sent if it is not JSON)
    TOOL_RESULT = "tool_result"  # tool_call_id, output (string, JSON, or a list of parts), is_error
    REASONING = "reasoning"  # text, signature and whatever else the provider sent
    IMAGE = "image"  # url | data, media_type, width, height
    FILE = "file"  # url | data, media_type, name


_TEXT = PartType.TEXT.value  # asked of an enum a value takes as long as the part


def text_part(text: str) -> Part:
    return {"type": _TEXT, "text": text}


def is_part(value: Any) -> bool:
    """Whether a JSON value, in a tool's output or a file's content, is a part of its own."""
    return isinstance(value, dict) and value.get("type") in PartType.__members__.values()


def text_of(parts: Iterable[Part]) -> str:
    """What is said in words, without reasoning, calls and results."""
    return "\n".join(str(part.get("text") or "") for part in parts if part.get("type") == PartType.TEXT)


class Kind(StrEnum):
    USER = "user_message"
    ASSISTANT = "assistant_message"
    SYSTEM = "system_message"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    SUMMARY = "summary"
    BOUNDARY = "boundary"


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class Trust(StrEnum):
    USER = "user"
    OPERATOR = "operator"
    TOOL = "tool"
    EXTERNAL = "external"


@dataclass(slots=True, kw_only=True)
class Message:
    """One stored message. Nobody changes one: it is not frozen as a context makes hundreds, in a third of the time.

    ``seq`` is its gap-free number in the session, from 1. ``tokens`` is counted once, at append. ``observe`` is False
    for what the memory skips: system messages, control text, and what the caller asked to leave out. A summary stands
    for the messages up to ``up_to_seq``. Of a message with ``erased_at`` only its place is left.
    """

    seq: int
    id: str
    kind: Kind
    role: Role
    parts: tuple[Part, ...]
    tokens: int
    created_at: datetime
    name: str | None = None
    observe: bool = True
    sealed: bool = False
    trust: Trust = Trust.USER
    metadata: dict[str, Any] = field(default_factory=dict)
    content_hash: bytes = b""
    up_to_seq: int | None = None
    erased_at: datetime | None = None

    @property
    def is_foreign(self) -> bool:
        """Whether what it says is neither the user's word nor the operator's."""
        return self.role is Role.TOOL or self.trust in {Trust.TOOL, Trust.EXTERNAL}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """A message as it is to be stored: read from the wire, counted and hashed. ``created_at`` None is now."""

    id: str
    kind: Kind
    role: Role
    parts: tuple[Part, ...]
    tokens: int
    observe: bool
    trust: Trust
    content_hash: bytes
    name: str | None = None
    created_at: datetime | None = None
    metadata: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageFilter:
    """Which messages of a session: ``after`` and ``before`` are seqs, both exclusive; ``until`` is exclusive too."""

    after: int = 0
    before: int = SEQ_MAX
    since: datetime | None = None
    until: datetime | None = None
    kind: str | None = None
    tool: str | None = None
    descending: bool = False

    def looking(self, *, last_seq: int, looked_max: int) -> Self:
        """The same filter, bounded to the first ``looked_max`` messages in its order: seqs have no gaps."""
        before = min(self.before, last_seq + 1)
        if self.descending:
            return replace(self, after=max(self.after, before - 1 - looked_max), before=before)
        return replace(self, before=min(before, self.after + 1 + looked_max))

    @property
    def last(self) -> int:
        """The last seq that is wanted."""
        return self.after + 1 if self.descending else self.before - 1

    def goes_on(self, seq: int, *, last_seq: int) -> bool:
        """Whether a message after this one, in the filter's order, may be wanted."""
        return seq - 1 > self.after if self.descending else seq < min(self.before - 1, last_seq)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorUsage(Usage):
    """The agent's own last model call; ``input_tokens`` includes those read from the cache and those written to it.

    ``cost_usd`` is None where the price of the model is not known.
    """

    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDefaults:
    """What an append needs of the service's memory rules; a session's own config overrides the last three.

    ``wake_tokens``: pending tokens at which a new memory is looked at. ``early_tokens``: how much observed ahead is
    worth activating when the provider's cache is cold.
    """

    wake_tokens: int
    early_tokens: int
    cache_ttl: float
    timezone: str
    scope: str = "session"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueState:
    """Where a memory stands in the queue of work.

    ``due``: it can be claimed now (``due_at <= now`` by the database's clock), so a lease, if any, has run out.
    ``attempts``: failures in a row. ``paused``: a cap on cost is reached.
    """

    due: bool
    due_at: datetime | None
    leased: bool
    lease_step: str | None
    attempts: int
    paused: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCounters:
    memory_id: UUID
    config: dict[str, Any]
    pending_tokens: int
    observation_tokens: int
    queue: QueueState


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """Sessions that are locked and being deleted, by all the names under which something is kept of them.

    ``resource_id``: set if the resource is deleted with all its sessions. ``shared_memory``: a memory that other
    sessions keep, so not one of the ``memories`` to delete.
    """

    tenant: str
    sessions: tuple[UUID, ...]
    keys: tuple[str, ...]
    memories: tuple[UUID, ...]
    resource_id: str | None = None
    shared_memory: UUID | None = None

    def beside(self, shared: UUID | None) -> Self:
        """The same, where other sessions go on with this memory; None: none does."""
        return self if shared is None else replace(self, memories=(), shared_memory=shared)


class Reader(Protocol):
    """What was made of messages by who reads them, floors above. The caller holds the lock of the session's row."""

    async def forget_from(self, tx: Any, session: UUID, seq: int) -> None:
        """Forget the messages from ``seq`` on; they are read anew."""


class SearchIndex(Reader, Protocol):
    """What was made of messages to find them by."""

    async def forget_messages(self, tx: Any, session: UUID, *, from_seq: int, to_seq: int) -> None:
        """Forget what these messages say, for good."""


class MemoryPort(Protocol):
    """What the message log needs of the memory, which lives a floor above and is handed in by ``main``."""

    @property
    def defaults(self) -> MemoryDefaults: ...

    def summary(self, counters: MemoryCounters) -> dict[str, Any]:
        """The ``memory`` object of an append's answer."""

    def check_config(self, config: dict[str, Any]) -> dict[str, Any]:
        """The session's config, read and checked. Raises Invalid."""

    def wake(self, memory_id: UUID) -> None:
        """Hurry: an append has made this memory due. Never waits, never fails."""

    async def idle(self, memory_id: UUID, wait_ms: int) -> bool:
        """Wait until there is nothing to do for this memory; False when the time ran out."""
