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
    query: Query = Field(description="Words to find, in any language; a date in it narrows the time")
    limit: int = Field(LIMIT_DEFAULT, ge=1, le=LIMIT_MAX, strict=True)
    kinds: list[KindIn] = Field(
        default=list(KINDS),
        min_length=1,
        max_length=KINDS_MAX,
        description="What to look for; default: all",
    )
    since: Time | None = Field(None, description="Only what was said from then on")
    until: Time | None = Field(None, description="Only what was said before")
    now: Time | None = Field(None, description='What "yesterday" is told from; default: the server\'s time')
    neighbours: int = Field(
        0, ge=0, le=NEIGHBOURS_MAX, strict=True, description="So many messages before and after each message found"
    )


class ResourceRecallIn(RecallIn):
    session: str | None = Field(None, pattern=KEY_PATTERN, description="Only this session of the resource")


class NeighbourOut(BaseModel):
    seq: int
    role: str
    text: str
    created_at: datetime


class HitOut(BaseModel):
    kind: Literal["message", "observation", "fact"]
    session: str | None = Field(description="null: a fact that was noted by hand, and rests on no session")
    from_seq: int | None
    to_seq: int | None
    score: float = Field(description="Comparable within one answer only")
    text: str
    role: str | None
    name: str | None
    trust: str | None = Field(description="Whose word it is: the user's, the operator's, a tool's or a stranger's")
    created_at: datetime = Field(description="When it was said; of a fact, since when it is true")
    cites: list[int] = Field(description="The messages that a note rests on, by their `seq`")
    neighbours: list[NeighbourOut]


class RecallOut(BaseModel):
    hits: list[HitOut] = Field(description="Best first")


class ToolsOut(BaseModel):
    tools: list[dict[str, Any]] = Field(description="As the SDK takes them")


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
