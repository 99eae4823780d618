"""Recall on the wire (api.md)."""

from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, Field

from app.kit.bodies import Body
from app.kit.times import Time
from app.recall.model import Hit, HitKind, Search, Span
from app.sessions.schemas import KEY_PATTERN, STORABLE_PATTERN

LIMIT_DEFAULT, LIMIT_MAX = 10, 100
NEIGHBOURS_MAX = 10
QUERY_CHARACTERS_MAX = 10_000
KINDS_MAX = 10  # one may be named twice

Query = Annotated[str, Field(min_length=1, max_length=QUERY_CHARACTERS_MAX, pattern=STORABLE_PATTERN)]
KindIn: TypeAlias = Literal["messages", "observations", "facts"]
KINDS: dict[KindIn, HitKind] = {
    "messages": HitKind.MESSAGE,
    "observations": HitKind.OBSERVATION,
    "facts": HitKind.FACT,
}


class RecallIn(Body):
    query: Query = Field(
        description='Text to search for, in any language; hits of a time that it names ("last May") come first'
    )
    limit: int = Field(LIMIT_DEFAULT, ge=1, le=LIMIT_MAX, strict=True, description="Maximum number of hits")
    kinds: list[KindIn] = Field(
        default=list(KINDS),
        min_length=1,
        max_length=KINDS_MAX,
        description="Kinds of hits to return; default: all",
    )
    since: Time | None = Field(None, description="Only hits from this time on")
    until: Time | None = Field(None, description="Only hits before this time")
    now: Time | None = Field(
        None, description='Time that relative dates such as "yesterday" refer to; default: the server\'s time'
    )
    neighbours: int = Field(
        0,
        ge=0,
        le=NEIGHBOURS_MAX,
        strict=True,
        description="Number of messages returned before and after each message found",
    )


class ResourceRecallIn(RecallIn):
    session: str | None = Field(None, pattern=KEY_PATTERN, description="Search only this session of the resource")


class NeighbourOut(BaseModel):
    seq: int
    role: str
    text: str
    created_at: datetime


class HitOut(BaseModel):
    kind: Literal["message", "observation", "fact"]
    session: str | None = Field(description="Key of the session; null: a fact that was added by hand without sources")
    from_seq: int | None
    to_seq: int | None
    score: float = Field(description="Relevance; comparable within one response only")
    text: str
    role: str | None
    name: str | None
    trust: str | None = Field(description="Source of the content: user, operator, tool or external")
    created_at: datetime = Field(description="Time the message was written; of a fact, the time from which it holds")
    cites: list[int] = Field(description="Messages that a note is based on, by their `seq`")
    neighbours: list[NeighbourOut]


class RecallOut(BaseModel):
    hits: list[HitOut] = Field(description="Hits, best first")


class ToolsOut(BaseModel):
    tools: list[dict[str, Any]] = Field(description="Tool definitions in the SDK's shape")


def search_of(body: RecallIn) -> Search:
    return Search(
        query=body.query,
        limit=body.limit,
        kinds=frozenset(KINDS[kind] for kind in body.kinds),
        span=Span(since=body.since, until=body.until),
        now=body.now,
        neighbours=body.neighbours,
        session=body.session if isinstance(body, ResourceRecallIn) else None,
    )


def recall_out(hits: list[Hit]) -> RecallOut:
    return RecallOut(hits=[_hit_out(hit) for hit in hits])


def _hit_out(hit: Hit) -> HitOut:
    return HitOut(
        kind=hit.kind.value,
        session=hit.session,
        from_seq=hit.from_seq or None,
        to_seq=hit.to_seq or None,
        score=hit.score,
        text=hit.text,
        role=hit.role,
        name=hit.name,
        trust=hit.trust,
        created_at=hit.created_at,
        cites=list(hit.cites),
        neighbours=[NeighbourOut.model_validate(neighbour, from_attributes=True) for neighbour in hit.neighbours],
    )
