"""Facts on the wire (api.md, Sessions)."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import Path
from pydantic import BaseModel, Field

from app.facts.model import SOURCES_MAX, Author, Category, Fact, Validity
from app.kit.bodies import Body
from app.kit.paging import NUMBER_MAX, PAGE_DEFAULT, Cursor, Limit
from app.kit.times import Time
from app.sessions.model import SEQ_MAX, Trust
from app.sessions.schemas import KEY_PATTERN

CITES_MAX = 100

FactId = Annotated[int, Path(ge=1, le=NUMBER_MAX, description="Id of the fact", examples=[7])]
SAYS_SOMETHING = r"^[^\x00]*[^\x00\s][^\x00]*$"  # storable, and not of blanks alone
FactText = Annotated[str, Field(min_length=1, pattern=SAYS_SOMETHING)]
Seq = Annotated[int, Field(ge=1, le=SEQ_MAX, strict=True)]


class CitedIn(Body):
    """Messages of one session of the resource."""

    session: str = Field(pattern=KEY_PATTERN, description="Key of the session")
    cites: list[Seq] = Field(min_length=1, max_length=CITES_MAX, description="Messages, by their `seq`")


class FactIn(Body):
    text: FactText = Field(description="One sentence that is understood without context")
    category: Category = Field(Category.PROFILE, description="Kind of fact; default: profile")
    trust: Trust = Field(
        Trust.OPERATOR,
        description="Source of the fact; tool and external are refused for a decision, preference or profile",
    )
    valid_from: Time | None = Field(None, description="Time from which the fact holds; default: now")
    valid_to: Time | None = Field(None, description="Time from which the fact no longer holds; default: none")
    sources: list[CitedIn] = Field(
        default_factory=list,
        max_length=SOURCES_MAX,
        description="Messages that the fact is based on; erasing one of them erases the fact",
    )


class FactPatch(Body):
    """Fields to change; a field that is left out or null stays, except that `valid_to` can be set to null."""

    text: FactText | None = None
    category: Category | None = None
    valid_from: Time | None = None
    valid_to: Time | None = Field(None, description="Time from which the fact no longer holds; null: none")

    def fields(self) -> dict[str, Any]:
        given = self.model_dump(include=self.model_fields_set)
        return {name: value for name, value in given.items() if value is not None or name == "valid_to"}


class FactQuery(BaseModel):
    """Filters of a resource's facts."""

    category: Category | None = Field(None, description="Only facts of this category")
    validity: Validity = Field(
        Validity.CURRENT,
        description="current: facts that hold at `at`; past: facts that no longer hold; all: every fact",
    )
    at: Time | None = Field(None, description="Time at which `validity` is judged; default: now")
    limit: Limit = PAGE_DEFAULT
    cursor: Cursor = None


class SourceOut(BaseModel):
    """The part of a session that a fact is based on."""

    session: str
    from_seq: int
    to_seq: int
    cites: list[int] = Field(description="Messages, by their `seq`")
    observations: list[int] = Field(description="Observations, by their `id`")


class FactOut(BaseModel):
    id: int
    resource_id: str
    text: str
    category: Category
    trust: Trust = Field(description="Source of the fact")
    author: Author = Field(description="Who worded the fact: caller, or extractor (the memory)")
    sources: list[SourceOut]
    valid_from: datetime
    valid_to: datetime | None
    replaced_by: int | None = Field(description="Id of the fact that ended this one")
    created_at: datetime
    updated_at: datetime


class FactPage(BaseModel):
    items: list[FactOut]
    next_cursor: str | None


class DeletedFactsOut(BaseModel):
    """Receipt: the number of facts deleted; 0 if there was none."""

    resource_id: str
    deleted: int


def fact_out(fact: Fact, resource_id: str) -> FactOut:
    return FactOut(
        id=fact.id,
        resource_id=resource_id,
        text=fact.text,
        category=fact.category,
        trust=fact.trust,
        author=fact.author,
        sources=[SourceOut.model_validate(source, from_attributes=True) for source in fact.sources],
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
        replaced_by=fact.replaced_by,
        created_at=fact.created_at,
        updated_at=fact.updated_at,
    )
