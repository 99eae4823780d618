"""What a worker claims, loads, locks and records, as values; the store reads and writes them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from app.memory.model import Item, Observation, Reflection
from app.memory.ranges import Ranges
from app.memory.rules import Rules
from app.memory.steps import Request, Sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    memory_id: UUID
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a session is observed, and read for facts.

    ``last_seq`` is the newest message, ``observed_seq`` the cursor, ``buffered_seq`` the last message that is observed
    or buffered. Facts were extracted from the messages up to ``facts_seq``.
    """

    session_id: UUID
    session_key: str
    last_seq: int
    observed_seq: int
    buffered_seq: int
    facts_seq: int = 0
    ended: bool = False

    @property
    def is_unread(self) -> bool:
        """Whether it has ended, and some of its messages were not read for facts."""
        return self.ended and self.facts_seq < self.last_seq


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation(Progress):
    """A session of a shared memory with work to do. ``waits``: it has messages to be observed."""

    waits: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Messages ``first``..``last`` of a session, to be observed again because their notes were erased."""

    session_id: UUID
    session_key: str
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing(Progress):
    """A memory's counters as a worker reads them, without its notes, and the session that a step is about.

    ``unfinished``: of a span only a part is observed. ``rebuilding``: what is to be observed again, the next range
    first. ``conversations``: the sessions of a shared memory with work to do, the one with the oldest unobserved
    message first. ``last_error`` is of the last of ``attempts`` failures in a row.
    """

    memory_id: UUID
    tenant: str
    now: datetime
    config: dict[str, Any]
    pending_tokens: int
    requested: Request | None
    requested_at: datetime | None
    attempts: int
    reflected_at: datetime | None
    unhelped_tokens: int | None
    current_task: str | None
    sizes: Sizes = field(default_factory=Sizes)
    unfinished: bool = False
    rebuilding: tuple[Gap, ...] = ()
    resource_id: str | None = None
    conversations: tuple[Conversation, ...] = ()
    last_error: Mapping[str, Any] | None = None

    @property
    def is_shared(self) -> bool:
        return self.memory_id != self.session_id

    def about(self, conversation: Conversation) -> Self:
        """The same memory, for a step about this session."""
        return replace(self, **{one.name: getattr(conversation, one.name) for one in fields(Progress)})

    @property
    def conversation_id(self) -> UUID | None:
        """The session that a step is about, if others share the memory."""
        return self.session_id if self.is_shared else None

    @property
    def to_note(self) -> bool:
        """Whether facts are to be extracted from a session."""
        if self.is_shared:
            return any(conversation.is_unread for conversation in self.conversations)
        return self.resource_id is not None and self.is_unread


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded(Standing):
    """The same with its notes: live ``observations`` and ``reflections``, and ``buffered`` observations."""

    observations: tuple[Observation, ...]
    buffered: tuple[Observation, ...]
    reflections: tuple[Reflection, ...]

    @classmethod
    def of(cls, standing: Standing, **notes: Any) -> Self:
        return cls(**{one.name: getattr(standing, one.name) for one in fields(Standing)}, **notes)

    @property
    def next_ordinal(self) -> int:
        """The place in the log of the next chunk: its first seq, or in a shared log after everything else."""
        if not self.is_shared:
            return self.buffered_seq + 1
        return 1 + max((note.place[1] for note in (*self.chunks, *self.buffered)), default=0)

    @property
    def chunks(self) -> list[Observation | Reflection]:
        """The live log, oldest first."""
        return sorted((*self.reflections, *self.observations), key=lambda chunk: chunk.place)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fenced:
    """The locked memory at the moment of recording. ``newest_seq`` is the newest message that is no summary."""

    version: int
    generation: int
    usage: dict[str, Any]
    now: datetime
    observed_seq: int
    buffered_seq: int
    newest_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One call, its fields columns of the ``runs`` table; ``rejected_output`` only if it was refused."""

    kind: str
    provider: str
    model: str
    prompt_version: str
    outcome: str
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    latency_ms: int = 0
    from_seq: int | None = None
    to_seq: int | None = None
    error: str | None = None
    grounded_share: float | None = None
    rejected_output: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One execution of a step: its lease, memory and rules. Each model call is added to ``runs``."""

    lease: Lease
    loaded: Loaded
    rules: Rules
    runs: list[Run] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewObservation:
    """An observation to be recorded, with the task and response told by the observer. ``ordinal``: see ``model``."""

    ordinal: int
    items: tuple[Item, ...]
    tokens: int
    message_tokens: int
    from_seq: int
    to_seq: int
    covers: Ranges
    current_task: str | None
    suggested_response: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewReflection:
    """A reflection to be recorded, and the ids of the notes that it condenses."""

    level: int
    items: tuple[Item, ...]
    tokens: int
    source_tokens: int
    covers: Mapping[UUID, Ranges]
    from_seq: int
    to_seq: int
    observations: tuple[int, ...]
    reflections: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Locked:
    """Session and memory, locked for a request (``locking_store.lock``). ``version`` 0: there is no memory yet.

    ``newest_seq`` is the newest message that is no summary, 0 where there is none; ``tail_from_seq`` the tail's start.
    """

    session_id: UUID
    memory_id: UUID
    version: int
    last_seq: int
    observed_seq: int
    buffered_seq: int
    tail_from_seq: int
    newest_seq: int
    config: dict[str, Any]
    rebuilding: tuple[Gap, ...]

    @property
    def is_shared(self) -> bool:
        return self.memory_id != self.session_id

    @property
    def gaps(self) -> Ranges:
        """The ranges of the session that are to be observed again."""
        return tuple((gap.first, gap.last) for gap in self.rebuilding if gap.session_id == self.session_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """The current task and suggested response that a request sets; None: there is none."""

    current_task: str | None = None
    suggested_response: str | None = None


FORGOTTEN = Hints()
