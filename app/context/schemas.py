"""Contexts on the wire (api.md, Context)."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from app.context.diff import Change, Diff
from app.context.model import Format
from app.kit.bodies import Body
from app.kit.times import Time
from app.memory.model import Ranges
from app.memory.rules import MESSAGE_TOKENS_MAX
from app.recall.schemas import Query
from app.sessions.model import SEQ_MAX
from app.sessions.schemas import WAIT_MS_MAX, MessageIn
from app.state.schemas import Text, Texts
from app.state.templates import LIST_MOST


class ContextQuery(BaseModel):
    """What to compile. A budget of 0 is no limit; one that is not given is the session's own."""

    format: Format = Format.NEUTRAL
    memory_budget: int | None = Field(None, ge=0, le=MESSAGE_TOKENS_MAX, description="Tokens of the log")
    message_budget: int | None = Field(None, ge=0, le=MESSAGE_TOKENS_MAX, description="Tokens of the message tail")
    max_reflections: int | None = Field(None, ge=0, le=10_000)
    max_observations: int | None = Field(None, ge=0, le=10_000)
    query: Query | None = Field(None, description="Add what was said about this and is shown no longer")
    min_seq: int | None = Field(None, ge=0, le=SEQ_MAX, description="Wait, for `wait_ms`, until this message is stored")
    wait_ms: int = Field(0, ge=0, le=WAIT_MS_MAX, description="Wait so long for the memory to be idle")
    as_of_version: int | None = Field(
        None, ge=0, le=SEQ_MAX, description="The context as it was when this version of the log was recorded"
    )
    as_of_seq: int | None = Field(
        None,
        ge=0,
        le=SEQ_MAX,
        description="As it was before the message after this one came; of that version, if given",
    )
    now: Time | None = Field(None, description="The time to date the context by; default: the server's, or then")
    explain: bool = Field(False, description="Add the segments, and what was cut or left out")


class KnowledgeIn(Body):
    title: str = Field(max_length=1_000)
    text: Text
    placement: Literal["prefix", "tail"] = "prefix"


class ContextIn(Body):
    """What the caller adds to a context. Nothing of it is stored."""

    system: Texts = Field(
        default_factory=list,
        description="The agent's own system prompt, before everything else; a template: `{user:name|the customer}`",
    )
    knowledge: list[KnowledgeIn] = Field(default_factory=list, max_length=LIST_MOST)
    state: dict[str, Any] = Field(
        default_factory=dict,
        max_length=LIST_MOST,
        description="Values of this request, named `temp:x`: for templates, and shown after the messages",
    )
    channel: str | None = Field(None, max_length=1_000, description="Where the user writes from")
    incoming: list[MessageIn] = Field(default_factory=list, max_length=LIST_MOST, description="Shown, not stored")
    now: Time | None = None


class TokenCounts(BaseModel):
    total: int
    system: int
    guide: int
    knowledge: int
    reflections: int
    observations: int
    messages: int
    volatile: int


class CacheOut(BaseModel):
    epoch: str = Field(description="Within an epoch the prefix never changes")
    prefix_sha256: str
    stable_tokens: int
    shared_with_previous_tokens: int | None
    break_reason: str | None


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
    id: str = Field(description="That of a segment, a fact or a line of the volatile part, or messages:FIRST-LAST")
    stage: str = Field(description="The stage of the pipeline that decided")
    verdict: str = Field(description="kept, cut or dropped")
    reason: str
    tokens: int
    returns_with_tokens: int | None = Field(description="So many tokens more of its budget would bring it back whole")


class ContextOut(BaseModel):
    session: str
    as_of_seq: int
    memory_version: int
    format: Format
    payload: dict[str, Any] = Field(description="Ready to be splatted into the SDK's call")
    tokens: TokenCounts
    cache: CacheOut
    omitted: OmittedOut
    notices: list[str]
    segments: list[SegmentOut] | None = None
    decisions: list[DecisionOut] | None = None


class ChangeOut(BaseModel):
    """A note that entered or left; `why` is the cause of that version, or what retired the note."""

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
    """Seqs of the messages that entered and left the tail."""

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
