"""Sessions and messages on the wire (api.md)."""

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Header, Path, Query
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictBool
from pydantic_core import PydanticCustomError

from app.kit.bodies import Body
from app.kit.names import KEY, MESSAGE_ID, no_dot_segment, no_dot_segment_before_index
from app.kit.paging import PAGE_DEFAULT, Cursor, Limit
from app.kit.patterns import lazy_pattern
from app.kit.times import Time
from app.sessions.model import MESSAGES_MOST, SEQ_MAX, Kind, Message
from app.sessions.store import SessionRecord
from app.sessions.usage import TOKENS_MAX

KEY_PATTERN = f"^{KEY}$"
MESSAGE_ID_PATTERN = f"^{MESSAGE_ID}$"
IDEMPOTENCY_KEY_PATTERN = r"^[A-Za-z0-9._:@~=+/-]{1,190}$"
SESSION_KEY = lazy_pattern(rf"(?!\.{{1,2}}$){KEY_PATTERN}")

STORABLE_PATTERN = r"^[^\x00]*$"  # text in Postgres cannot hold a NUL

WAIT_MS_MAX = 60_000

# The key of a session, resource or artifact: in a path, or in a body and later in a path.
Name = Annotated[str, Field(pattern=KEY_PATTERN), AfterValidator(no_dot_segment)]
Key = Annotated[
    str,
    Path(pattern=KEY_PATTERN, description="Session key, chosen by the caller", examples=["s1"]),
    AfterValidator(no_dot_segment),
]
ResourceId = Annotated[
    str,
    Path(
        pattern=KEY_PATTERN,
        description="Id of the resource, such as the user or project that owns the sessions",
        examples=["user-42"],
    ),
    AfterValidator(no_dot_segment),
]
MessageId = Annotated[str, Path(pattern=MESSAGE_ID_PATTERN, examples=["m-1"]), AfterValidator(no_dot_segment)]
IdempotencyKey = Annotated[
    Annotated[str, Field(pattern=IDEMPOTENCY_KEY_PATTERN), AfterValidator(no_dot_segment_before_index)] | None,
    Header(
        description="Messages without an id get the id `K:<index>`, where K is this key, so that a retry stores"
        " nothing twice"
    ),
]
# The statuses of the memory, which is a layer above; a test compares them.
StatusName = Literal[
    "idle", "due", "buffering", "observing", "reflecting", "backing_off", "stalled", "paused", "disabled"
]
WaitMs = Annotated[
    int, Query(ge=0, le=WAIT_MS_MAX, description="Milliseconds to wait for the memory to become idle; 0: do not wait")
]


# The ids that OpenAI's Agents SDK gives every item for which the model's server has none: in Python
# (models/fake_id.py), and in JavaScript (openaiItemIds.js).
PLACEHOLDER_IDS = ("__fake_id__", "FAKE_ID")


def _own(value: Any) -> Any:
    return None if value in PLACEHOLDER_IDS else value


class MessageIn(BaseModel):
    """A message in Daybook's neutral shape or in that of a provider's SDK, whose other fields are accepted too."""

    model_config = ConfigDict(extra="allow")

    id: Annotated[
        Annotated[str, Field(pattern=MESSAGE_ID_PATTERN), AfterValidator(no_dot_segment)] | None,
        BeforeValidator(_own),
    ] = Field(None, description="Id of the message and its idempotency key within the session")
    created_at: Time | None = Field(None, description="Time the message was written; default: now")
    metadata: dict[str, Any] | None = None
    observe: StrictBool | None = Field(
        None, description="false: the message is stored and shown in contexts, but never observed"
    )
    trust: Literal["user", "operator", "tool", "external"] | None = Field(
        None, description="Source of the content; default by role: user, operator (system, assistant) or tool"
    )


def _no_boolean(value: Any) -> Any:
    """Refuse booleans, which Python takes for 0 and 1. Not by a strict field, for some languages write 1 as 1.0."""
    if isinstance(value, bool):
        raise PydanticCustomError("int_type", "Input should be a valid integer")
    return value


Tokens = Annotated[int, Field(ge=0, le=TOKENS_MAX), BeforeValidator(_no_boolean)]


class UsageIn(BaseModel):
    """Token usage of the agent's own last model call: in these names, or the SDK's usage object unchanged."""

    model_config = ConfigDict(extra="allow")

    model: str | None = Field(None, max_length=400, pattern=STORABLE_PATTERN)
    input_tokens: Tokens | None = None
    cached_input_tokens: Tokens | None = None
    cache_write_tokens: Tokens | None = None
    output_tokens: Tokens | None = None


class AppendIn(Body):
    messages: list[MessageIn] = Field(min_length=1, max_length=MESSAGES_MOST)
    resource_id: Name | None = Field(None, description="Resource that the session belongs to, such as a user's id")
    usage: UsageIn | None = Field(None, description="Token usage of the agent's model call for this turn")


class MessageQuery(BaseModel):
    """Filters of a session's messages: `after_seq`, `before_seq` and `until` are exclusive, the others are not."""

    after_seq: int = Field(0, ge=0, le=SEQ_MAX, description="Only messages with a greater `seq`")
    before_seq: int = Field(SEQ_MAX, ge=0, le=SEQ_MAX, description="Only messages with a smaller `seq`")
    from_seq: int = Field(
        0, ge=0, le=SEQ_MAX, description="`seq` of the first message, inclusive: 12 for a note's `#12-15`"
    )
    to_seq: int = Field(
        SEQ_MAX, ge=0, le=SEQ_MAX, description="`seq` of the last message, inclusive: 15 for a note's `#12-15`"
    )
    conversation: str | None = Field(
        None,
        pattern=KEY_PATTERN,
        description="Key of another session that shares this memory, as its notes name it: `monday` for `#monday:12`",
    )
    since: Time | None = Field(None, description="Only messages created at this time or later")
    until: Time | None = Field(None, description="Only messages created before this time")
    kind: Kind | None = Field(None, description="Only messages of this kind")
    tool: str | None = Field(
        None, max_length=200, pattern=STORABLE_PATTERN, description="Only messages that call this tool"
    )
    order: Literal["asc", "desc"] = Field("asc", description="Sort order by `seq`")
    limit: Limit = PAGE_DEFAULT
    cursor: Cursor = None


class StoredMessage(BaseModel):
    id: str
    seq: int = Field(description="Gap-free number of the message in its session, from 1")
    kind: str
    tokens: int


class MemorySummary(BaseModel):
    """State of the memory after an append."""

    status: str
    pending_tokens: int = Field(description="Tokens of messages not yet observed")
    observe_at: int = Field(description="Pending tokens at which the observer runs")
    observation_tokens: int = Field(description="Tokens of the live observations")
    reflect_at: int = Field(description="Observation tokens at which the reflector runs")


class AppendOut(BaseModel):
    session: str
    messages: list[StoredMessage]
    replayed: int = Field(description="Number of these messages that were already stored")
    memory: MemorySummary


class MessageOut(BaseModel):
    id: str
    seq: int
    kind: str
    role: str
    name: str | None
    content: list[dict[str, Any]]
    tokens: int
    created_at: datetime
    metadata: dict[str, Any]
    observe: bool = Field(description="false: the memory skips this message")
    sealed: bool = Field(description="true: an observation covers the message, so it can no longer be replaced")
    trust: str
    up_to_seq: int | None = Field(
        description="Set on a summary only: contexts show it in place of the messages up to this `seq`"
    )
    erased_at: datetime | None = Field(description="Time the message was erased; only its place in the log is left")


class MessagePage(BaseModel):
    items: list[MessageOut]
    next_cursor: str | None = Field(
        description="Cursor of the next page; null: this is the last. A filtered page may be empty although more follow"
    )


MERGED = "Merged into the stored config; a null unsets its key, but switches `buffer_every` off"
Metadata = Annotated[dict[str, Any], Field(description="Merged into the stored metadata; a null removes its key")]


class SessionIn(Body):
    resource_id: Name | None = Field(None, description="Resource that the session belongs to")
    metadata: Metadata = Field(default_factory=dict)
    config: dict[str, Any] = Field(
        default_factory=dict,
        description=f"Rules of this session's memory. {MERGED}",
    )


class ResourceIn(Body):
    config: dict[str, Any] = Field(
        default_factory=dict,
        description=f"Rules, except `scope`, of the memory that the resource's sessions share. {MERGED}",
    )
    metadata: Metadata = Field(default_factory=dict)


class ResourceOut(BaseModel):
    resource_id: str
    config: dict[str, Any]
    metadata: dict[str, Any]
    created_at: datetime
    updated_at: datetime


class BranchIn(Body):
    model_config = ConfigDict(strict=True)

    key: Name = Field(description="Key of the new session")
    at_seq: int | None = Field(
        None, ge=1, le=SEQ_MAX, description="`seq` of the last message to copy; default: the newest"
    )


class ParentOut(BaseModel):
    """The session that this one was branched from, and the `seq` of the last message copied."""

    key: str
    at_seq: int


class SessionOut(BaseModel):
    session: str
    resource_id: str | None
    parent: ParentOut | None
    last_seq: int
    config: dict[str, Any]
    metadata: dict[str, Any]
    created_at: datetime
    last_active_at: datetime
    ended_at: datetime | None


class ListedMemory(MemorySummary):
    pending_seconds: int = Field(description="Age in seconds of the oldest message not yet observed")
    last_error: dict[str, Any] | None


class ListedSessionOut(SessionOut):
    """A session in a list, with the state of its memory."""

    memory: ListedMemory


class SessionQuery(BaseModel):
    resource_id: str | None = Field(None, pattern=KEY_PATTERN, description="Only sessions of this resource")
    status: StatusName | None = Field(None, description="Only sessions whose memory has this status")
    search: str | None = Field(
        None,
        min_length=1,
        max_length=200,
        pattern=STORABLE_PATTERN,
        description="Only sessions whose key contains this text, case-insensitive",
    )
    limit: Limit = PAGE_DEFAULT
    cursor: Cursor = None


class ConfigOut(BaseModel):
    """The session's config after one change; before the first change it was empty."""

    number: int = Field(description="Number of the change, from 1")
    changed_at: datetime
    from_seq: int = Field(description="`seq` of the first message appended after the change")
    memory_version: int
    config: dict[str, Any]


class ConfigPage(BaseModel):
    items: list[ConfigOut]
    next_cursor: str | None


class DeletedSessionOut(BaseModel):
    """Receipt of a deleted session."""

    session: str
    rows: dict[str, int] = Field(description="Number of rows deleted, by table")


class DeletedResourceOut(BaseModel):
    """Receipt of a deleted resource."""

    resource_id: str
    sessions: int = Field(description="Number of sessions deleted")
    rows: dict[str, int] = Field(description="Number of rows deleted, by table")


class SessionPage(BaseModel):
    items: list[ListedSessionOut]
    next_cursor: str | None = Field(
        description="Cursor of the next page; null: this is the last. With `search` or `status`, a page may be"
        " short or empty although more follow"
    )


def message_out(message: Message) -> MessageOut:
    gone = message.erased_at is not None
    return MessageOut(
        id=message.id,
        seq=message.seq,
        kind=message.kind,
        role=message.role,
        name=message.name,
        content=[] if gone else list(message.parts),
        tokens=0 if gone else message.tokens,
        created_at=message.created_at,
        metadata=message.metadata,
        observe=message.observe,
        sealed=message.sealed,
        trust=message.trust,
        up_to_seq=message.up_to_seq,
        erased_at=message.erased_at,
    )


def session_out(session: SessionRecord) -> SessionOut:
    return SessionOut(
        session=session.key,
        resource_id=session.resource_id,
        parent=_parent_out(session),
        last_seq=session.last_seq,
        config=session.config,
        metadata=session.metadata,
        created_at=session.created_at,
        last_active_at=session.last_active_at,
        ended_at=session.ended_at,
    )


def _parent_out(session: SessionRecord) -> ParentOut | None:
    if session.branched_from is None or session.branched_at_seq is None:
        return None
    return ParentOut(key=session.branched_from, at_seq=session.branched_at_seq)
