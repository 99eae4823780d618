"""Sessions and messages on the wire (api.md)."""

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Header, Path, Query
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StrictBool
from pydantic_core import PydanticCustomError

from app.kit.bodies import Body
from app.kit.names import in_a_path, in_a_path_with_more
from app.kit.paging import PAGE_DEFAULT, Cursor, Limit
from app.kit.patterns import lazy_pattern
from app.kit.times import Time
from app.sessions.model import MESSAGES_MOST, SEQ_MAX, Kind, Message
from app.sessions.store import SessionRecord
from app.sessions.usage import TOKENS_MAX

KEY_PATTERN = r"^[A-Za-z0-9._:@~=+-]{1,200}$"
MESSAGE_ID_PATTERN = r"^[A-Za-z0-9._:@~=+/-]{1,200}$"
IDEMPOTENCY_KEY_PATTERN = r"^[A-Za-z0-9._:@~=+/-]{1,190}$"
SESSION_KEY = lazy_pattern(rf"(?!\.{{1,2}}$){KEY_PATTERN}")

STORABLE_PATTERN = r"^[^\x00]*$"  # text in Postgres cannot hold a NUL

WAIT_MS_MAX = 60_000

# The key of a session, resource or artifact: in a path, or in a body and later in a path.
Name = Annotated[str, Field(pattern=KEY_PATTERN), AfterValidator(in_a_path)]
Key = Annotated[
    str,
    Path(pattern=KEY_PATTERN, description="The session's key, chosen by the caller", examples=["s1"]),
    AfterValidator(in_a_path),
]
ResourceId = Annotated[
    str,
    Path(pattern=KEY_PATTERN, description="Whose sessions they are", examples=["user-42"]),
    AfterValidator(in_a_path),
]
MessageId = Annotated[str, Path(pattern=MESSAGE_ID_PATTERN, examples=["m-1"]), AfterValidator(in_a_path)]
IdempotencyKey = Annotated[
    Annotated[str, Field(pattern=IDEMPOTENCY_KEY_PATTERN), AfterValidator(in_a_path_with_more)] | None,
    Header(description="Gives messages without an id the id `K:<index>`"),
]
# The statuses of the memory, which is a floor above; a test compares them.
StatusName = Literal[
    "idle", "due", "buffering", "observing", "reflecting", "backing_off", "stalled", "paused", "disabled"
]
WaitMs = Annotated[int, Query(ge=0, le=WAIT_MS_MAX, description="Wait so long for the memory to be idle")]


# The ids that OpenAI's Agents SDK gives every item for which the model's server has none: in Python
# (models/fake_id.py), and in JavaScript (openaiItemIds.js).
PLACEHOLDER_IDS = ("__fake_id__", "FAKE_ID")


def _own(value: Any) -> Any:
    return None if value in PLACEHOLDER_IDS else value


class MessageIn(BaseModel):
    """A message in the neutral shape or as a provider's SDK produces it; fields of those shapes pass as they are."""

    model_config = ConfigDict(extra="allow")

    id: Annotated[
        Annotated[str, Field(pattern=MESSAGE_ID_PATTERN), AfterValidator(in_a_path)] | None, BeforeValidator(_own)
    ] = Field(None, description="Idempotency key within the session")
    created_at: Time | None = Field(None, description="When it was said; default: now")
    metadata: dict[str, Any] | None = None
    observe: StrictBool | None = Field(None, description="false: stored and shown, never remembered")
    trust: Literal["user", "operator", "tool", "external"] | None = None


def _no_boolean(value: Any) -> Any:
    """Refuse booleans, which Python takes for 0 and 1. Not by a strict field, for some languages write 1 as 1.0."""
    if isinstance(value, bool):
        raise PydanticCustomError("int_type", "Input should be a valid integer")
    return value


Tokens = Annotated[int, Field(ge=0, le=TOKENS_MAX), BeforeValidator(_no_boolean)]


class UsageIn(BaseModel):
    """The agent's own last model call: our names, or the SDK's object as it is."""

    model_config = ConfigDict(extra="allow")

    model: str | None = Field(None, max_length=400, pattern=STORABLE_PATTERN)
    input_tokens: Tokens | None = None
    cached_input_tokens: Tokens | None = None
    cache_write_tokens: Tokens | None = None
    output_tokens: Tokens | None = None


class AppendIn(Body):
    messages: list[MessageIn] = Field(min_length=1, max_length=MESSAGES_MOST)
    resource_id: Name | None = Field(None, description="Whose session it is, e.g. a user's id")
    usage: UsageIn | None = None


class MessageQuery(BaseModel):
    """Filters of a session's messages: `after_seq`, `before_seq` and `until` are exclusive, the others are not."""

    after_seq: int = Field(0, ge=0, le=SEQ_MAX)
    before_seq: int = Field(SEQ_MAX, ge=0, le=SEQ_MAX)
    from_seq: int = Field(0, ge=0, le=SEQ_MAX, description="The first message: what a note's `#12-15` begins with")
    to_seq: int = Field(SEQ_MAX, ge=0, le=SEQ_MAX, description="The last message")
    conversation: str | None = Field(
        None, pattern=KEY_PATTERN, description="Of the session that a note of a shared memory names: `#monday:12`"
    )
    since: Time | None = None
    until: Time | None = None
    kind: Kind | None = None
    tool: str | None = Field(None, max_length=200, pattern=STORABLE_PATTERN, description="Messages that call this tool")
    order: Literal["asc", "desc"] = "asc"
    limit: Limit = PAGE_DEFAULT
    cursor: Cursor = None


class StoredMessage(BaseModel):
    id: str
    seq: int
    kind: str
    tokens: int


class MemorySummary(BaseModel):
    """Where the memory stands after an append."""

    status: str
    pending_tokens: int
    observe_at: int
    observation_tokens: int
    reflect_at: int


class AppendOut(BaseModel):
    session: str
    messages: list[StoredMessage]
    replayed: int = Field(description="How many of the messages had been stored before")
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
    observe: bool
    sealed: bool
    trust: str
    up_to_seq: int | None = Field(description="A summary's: it stands in the place of the messages up to there")
    erased_at: datetime | None = Field(description="Nothing is left of it but where it stood")


class MessagePage(BaseModel):
    items: list[MessageOut]
    next_cursor: str | None


MERGED = "Merged; a null unsets a key, and switches ``buffer_every`` off"
Metadata = Annotated[dict[str, Any], Field(description="Merged; a null removes its key")]


class SessionIn(Body):
    resource_id: Name | None = None
    metadata: Metadata = Field(default_factory=dict)
    config: dict[str, Any] = Field(
        default_factory=dict,
        description=f"The memory's rules for this session. {MERGED}",
    )


class ResourceIn(Body):
    config: dict[str, Any] = Field(
        default_factory=dict,
        description=f"The rules, but for ``scope``, of the memory that its sessions share in resource scope. {MERGED}",
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

    key: Name = Field(description="The new session's")
    at_seq: int | None = Field(None, ge=1, le=SEQ_MAX, description="The last message copied; default: the newest")


class ParentOut(BaseModel):
    """What a session is a branch of, and its last message that was copied."""

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
    pending_seconds: int = Field(description="Age of the oldest message not yet observed")
    last_error: dict[str, Any] | None


class ListedSessionOut(SessionOut):
    """A session in a list, with where its memory stands."""

    memory: ListedMemory


class SessionQuery(BaseModel):
    resource_id: str | None = Field(None, pattern=KEY_PATTERN)
    status: StatusName | None = Field(None, description="Only those whose memory stands so")
    search: str | None = Field(
        None, min_length=1, max_length=200, pattern=STORABLE_PATTERN, description="Part of a key, in any case"
    )
    limit: Limit = PAGE_DEFAULT
    cursor: Cursor = None


class ConfigOut(BaseModel):
    """What a session's config was changed to; before the first change it was empty."""

    number: int
    changed_at: datetime
    from_seq: int = Field(description="The `seq` the next message was to get")
    memory_version: int
    config: dict[str, Any]


class ConfigPage(BaseModel):
    items: list[ConfigOut]
    next_cursor: str | None


class DeletedSessionOut(BaseModel):
    """A receipt."""

    session: str
    rows: dict[str, int] = Field(description="Rows deleted, by their tables")


class DeletedResourceOut(BaseModel):
    """A receipt."""

    resource_id: str
    sessions: int = Field(description="How many sessions were deleted")
    rows: dict[str, int] = Field(description="Rows deleted, by their tables")


class SessionPage(BaseModel):
    items: list[ListedSessionOut]
    next_cursor: str | None = Field(
        description="Of a list that is searched, or of one status, a page may have few or no items though more follow"
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
