"""Value types of the message log: messages, their parts, a memory's counters, and the ports to the layers above.

A part is a JSON object with a ``type``; the neutral types are those of ``PartType``. Fields beyond the neutral ones
are kept as they came, so that a part survives a round trip to its provider (api.md, Messages).
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
BEFORE_ALL = UUID(int=0)  # less than any session's id: where an iteration over all sessions begins
MESSAGES_MOST = 10_000  # the upper bound of the setting ``messages_max``: of a longer list no more is read


class PartType(StrEnum):
    TEXT = "text"  # text
    TOOL_CALL = "tool_call"  # id, name, arguments (object, or the string as sent if it is not JSON)
    TOOL_RESULT = "tool_result"  # tool_call_id, output (string, JSON, or a list of parts), is_error
    REASONING = "reasoning"  # text, signature and whatever else the provider sent
    IMAGE = "image"  # url | data, media_type, width, height
    FILE = "file"  # url | data | content (string, JSON, or a list of parts), media_type, name


_TEXT = PartType.TEXT.value  # looking up an enum's value takes as long as making the part


def text_part(text: str) -> Part:
    return {"type": _TEXT, "text": text}


def is_part(value: Any) -> bool:
    """Whether a JSON value within a tool's output or a file's content is itself a part."""
    return isinstance(value, dict) and value.get("type") in PartType.__members__.values()


def text_of(parts: Iterable[Part]) -> str:
    """The texts of the text parts, joined by line breaks."""
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

    @classmethod
    def is_name_of_one(cls, name: str) -> bool:
        """Whether a participant of this name would pose as a role where names are told alone."""
        return name.strip().lower() in {*cls}


class Trust(StrEnum):
    USER = "user"
    OPERATOR = "operator"
    TOOL = "tool"
    EXTERNAL = "external"


@dataclass(slots=True, kw_only=True)
class Message:
    """One stored message. Never mutated; not frozen, as a context makes hundreds, in a third of the time.

    ``seq`` is its gap-free number in the session, from 1. ``tokens`` is counted once, at append. ``observe`` is False
    for what the memory skips: system messages, control text, and what the caller asked to leave out. A summary
    replaces the messages up to ``up_to_seq``. A message with ``erased_at`` is a tombstone without content.
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
        """Whether its content comes from a tool or a stranger, not from the user or the operator."""
        return self.role is Role.TOOL or self.trust in {Trust.TOOL, Trust.EXTERNAL}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """A message to store: normalised, counted and hashed. ``created_at`` None: now."""

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
    """A filter of a session's messages: ``after`` and ``before`` are exclusive seqs; ``until`` is exclusive too."""

    after: int = 0
    before: int = SEQ_MAX
    since: datetime | None = None
    until: datetime | None = None
    kind: str | None = None
    tool: str | None = None
    descending: bool = False

    def bounded(self, *, last_seq: int, looked_max: int) -> Self:
        """The same filter, bounded to the first ``looked_max`` messages in its order: seqs have no gaps."""
        before = min(self.before, last_seq + 1)
        if self.descending:
            return replace(self, after=max(self.after, before - 1 - looked_max), before=before)
        return replace(self, before=min(before, self.after + 1 + looked_max))

    @property
    def last(self) -> int:
        """The last seq of the range, in the filter's order."""
        return self.after + 1 if self.descending else self.before - 1

    def goes_on(self, seq: int, *, last_seq: int) -> bool:
        """Whether the range goes on after ``seq``, in the filter's order."""
        return seq - 1 > self.after if self.descending else seq < min(self.before - 1, last_seq)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorUsage(Usage):
    """Tokens of the agent's own last model call; ``input_tokens`` includes cache reads and cache writes.

    ``cost_usd`` is None if the price of the model is not known.
    """

    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDefaults:
    """The service's memory rules that an append needs; a session's own config overrides the last three.

    ``wake_tokens``: pending tokens at which a new memory becomes due. ``early_tokens``: buffered tokens that are worth
    activating when the provider's cache is cold.
    """

    wake_tokens: int
    early_tokens: int
    cache_ttl: float
    timezone: str
    scope: str = "session"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueState:
    """The state of a memory in the work queue.

    ``due``: it can be claimed now (``due_at <= now`` by the database's clock), so a lease, if any, has run out.
    ``attempts``: consecutive failures. ``paused``: a cap on cost is reached.
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
    """Sessions that are locked and being deleted, by every id and key under which rows belong to them.

    ``resource_id``: set if the resource is deleted with all its sessions. ``shared_memory``: a memory that other
    sessions still use, so not one of the ``memories`` to delete.
    """

    tenant: str
    sessions: tuple[UUID, ...]
    keys: tuple[str, ...]
    memories: tuple[UUID, ...]
    resource_id: str | None = None
    shared_memory: UUID | None = None

    def beside(self, shared: UUID | None) -> Self:
        """The same without deleting the memory ``shared``, which other sessions still use; None: no memory is."""
        return self if shared is None else replace(self, memories=(), shared_memory=shared)


class DerivedStore(Protocol):
    """A store of data that layers above derive from messages. The caller holds the lock of the session's row."""

    async def forget_from(self, tx: Any, session: UUID, seq: int) -> None:
        """Delete what was derived from the messages from ``seq`` on; message ``seq`` is being replaced."""


class SearchIndex(DerivedStore, Protocol):
    """The search index over messages."""

    async def forget_messages(self, tx: Any, session: UUID, *, from_seq: int, to_seq: int) -> None:
        """Remove these messages from the index for good."""


class MemoryPort(Protocol):
    """The memory as the message log uses it; it lives a layer above, and is handed in."""

    @property
    def defaults(self) -> MemoryDefaults: ...

    def summary(self, counters: MemoryCounters) -> dict[str, Any]:
        """The ``memory`` object of an append's answer."""

    def check_config(self, config: dict[str, Any]) -> dict[str, Any]:
        """Parse and check a session's config. Raises Invalid."""

    def wake(self, memory_id: UUID) -> None:
        """Tell the engine that this memory is due. Never waits, never fails."""

    async def idle(self, memory_id: UUID, wait_ms: int) -> bool:
        """Wait until this memory has nothing to do; False if ``wait_ms`` ran out first."""
