"""Contexts on the wire (api.md, Context)."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from app.context.diff import Change, Diff
from app.context.model import Format
from app.kit.bodies import Body
from app.kit.times import Time
from app.memory.ranges import Ranges
from app.memory.rules import MESSAGE_TOKENS_MAX
from app.recall.schemas import Query
from app.sessions.model import SEQ_MAX
from app.sessions.schemas import WAIT_MS_MAX, MessageIn
from app.state.schemas import Text, Texts
from app.state.templates import LIST_MOST


class ContextQuery(BaseModel):
    """What to compile. A budget of 0 is no limit; one that is not given is the session's own."""

    format: Format = Field(
        Format.NEUTRAL, description="Shape of `payload`: that of a provider's SDK, neutral messages or plain text"
    )
    memory_budget: int | None = Field(
        None,
        ge=0,
        le=MESSAGE_TOKENS_MAX,
        description="Maximum tokens of the observation log; 0: no limit; default: the session's",
    )
    message_budget: int | None = Field(
        None,
        ge=0,
        le=MESSAGE_TOKENS_MAX,
        description="Maximum tokens of the message tail; 0: no limit; default: the session's",
    )
    max_reflections: int | None = Field(
        None, ge=0, le=10_000, description="Maximum number of reflections; 0: no limit; default: the session's"
    )
    max_observations: int | None = Field(
        None, ge=0, le=10_000, description="Maximum number of observations; 0: no limit; default: the session's"
    )
    query: Query | None = Field(
        None, description="Text to recall: adds matching messages that the context no longer shows"
    )
    min_seq: int | None = Field(
        None, ge=0, le=SEQ_MAX, description="Wait, for at most `wait_ms`, until the message with this `seq` is stored"
    )
    wait_ms: int = Field(
        0, ge=0, le=WAIT_MS_MAX, description="Milliseconds to wait for the memory to become idle; 0: do not wait"
    )
    as_of_version: int | None = Field(
        None, ge=0, le=SEQ_MAX, description="Compile the context as it was when this version of the log was recorded"
    )
    as_of_seq: int | None = Field(
        None,
        ge=0,
        le=SEQ_MAX,
        description="Compile the context as it was while this message was the newest, of `as_of_version` if that"
        " is given",
    )
    now: Time | None = Field(
        None,
        description="Time at which the context is dated; default: the server's time, or that of `as_of_version`"
        " or `as_of_seq`",
    )
    breakpoints: bool = Field(
        True,
        description="Mark where a cached part ends, in the provider's way; false: no marks, for models and servers that"
        " refuse them (OpenAI before GPT-5.6, Mistral, Groq)",
    )
    explain: bool = Field(False, description="Add `segments`, and `decisions` on what was kept, cut or dropped")


class KnowledgeIn(Body):
    title: str = Field(max_length=1_000)
    text: Text
    placement: Literal["prefix", "tail"] = Field(
        "prefix", description="prefix: before the observation log, where a provider caches it; tail: after the messages"
    )


class ContextIn(Body):
    """What the caller adds to the context. None of it is stored."""

    system: Texts = Field(
        default_factory=list,
        description="The agent's own system prompt, first in the context; a template: `{user:name|the customer}`",
    )
    knowledge: list[KnowledgeIn] = Field(
        default_factory=list, max_length=LIST_MOST, description="Titled texts to show in the context"
    )
    state: dict[str, Any] = Field(
        default_factory=dict,
        max_length=LIST_MOST,
        description="Values of this request, named `temp:x`: templates can use them, and they are shown after the"
        " messages",
    )
    channel: str | None = Field(None, max_length=1_000, description="Channel that the user writes from")
    incoming: list[MessageIn] = Field(
        default_factory=list,
        max_length=LIST_MOST,
        description="Messages to show after the stored ones; they are not stored",
    )
    now: Time | None = Field(
        None, description="Time at which the context is dated; overrides the query parameter `now`"
    )


class TokenCounts(BaseModel):
    """Tokens of the context by section; `total` is the sum of the others."""

    total: int
    system: int
    guide: int
    knowledge: int
    reflections: int
    observations: int
    messages: int
    volatile: int


class CacheOut(BaseModel):
    """The prefix of the context, which a provider can cache."""

    epoch: str = Field(description="Name of the epoch; within one, each context extends the one before")
    prefix_sha256: str = Field(description="SHA-256 of the prefix")
    stable_tokens: int = Field(description="Tokens of the prefix, which excludes the volatile part")
    shared_with_previous_tokens: int | None = Field(
        description="Tokens at the beginning shared with the session's previous context; null: not known"
    )
    break_reason: str | None = Field(
        description="Why the previous prefix no longer holds; null: it holds, or is not known"
    )


class OmittedOut(BaseModel):
    messages: int
    unobserved_messages: int
    observations: int
    reflections: int


class SegmentOut(BaseModel):
    id: str
    section: str
    role: str
    stability: str
    tokens: int
    sha256: str
    breakpoint: bool


class DecisionOut(BaseModel):
    id: str = Field(
        description="Id of a segment, of a fact or of a line of the volatile part, or `messages:FIRST-LAST`"
    )
    stage: str = Field(description="Stage of the pipeline that decided")
    verdict: str = Field(description="kept, cut or dropped")
    reason: str
    tokens: int
    returns_with_tokens: int | None = Field(
        description="Tokens by which its budget has to grow to show it whole; null: it is whole, or tokens do not help"
    )


class ContextOut(BaseModel):
    session: str
    as_of_seq: int = Field(description="`seq` of the newest stored message of this context")
    memory_version: int
    format: Format
    payload: dict[str, Any] = Field(description="Arguments of the SDK's model call, in the requested format")
    tokens: TokenCounts
    cache: CacheOut
    omitted: OmittedOut
    notices: list[str] = Field(description="What the caller should know, such as a memory that lags behind")
    segments: list[SegmentOut] | None = Field(None, description="Only with `explain`")
    decisions: list[DecisionOut] | None = Field(None, description="Only with `explain`")


class ChangeOut(BaseModel):
    """A note that entered or left the log; `why` is the cause of that version, or what retired the note."""

    kind: Literal["observation", "reflection"]
    id: int
    version: int
    why: str = Field(examples=["activated", "reflection:3", "edited", "deleted"])
    text: str
    tokens: int
    from_seq: int
    to_seq: int


class SeqRangeOut(BaseModel):
    first: int = Field(serialization_alias="from")
    last: int = Field(serialization_alias="to")


class TailChangesOut(BaseModel):
    """Ranges of `seq` of the messages that entered and left the message tail."""

    entered: list[SeqRangeOut]
    left: list[SeqRangeOut]


class DiffOut(BaseModel):
    session: str
    from_version: int
    to_version: int
    entered: list[ChangeOut]
    left: list[ChangeOut]
    messages: TailChangesOut


def diff_out(found: Diff, key: str) -> DiffOut:
    return DiffOut(
        session=key,
        from_version=found.since,
        to_version=found.until,
        entered=list(map(_change_out, found.entered)),
        left=list(map(_change_out, found.left)),
        messages=TailChangesOut(entered=_ranges(found.messages_entered), left=_ranges(found.messages_left)),
    )


def _change_out(change: Change) -> ChangeOut:
    return ChangeOut.model_validate(change, from_attributes=True)


def _ranges(ranges: Ranges) -> list[SeqRangeOut]:
    return [SeqRangeOut(first=first, last=last) for first, last in ranges]
