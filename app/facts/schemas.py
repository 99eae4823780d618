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

FactId = Annotated[int, Path(ge=1, le=NUMBER_MAX, description="The fact's number", examples=[7])]
SAYS_SOMETHING = r"^[^\x00]*[^\x00\s][^\x00]*$"  # storable, and not of blanks alone
FactText = Annotated[str, Field(min_length=1, pattern=SAYS_SOMETHING)]
Seq = Annotated[int, Field(ge=1, le=SEQ_MAX, strict=True)]


class CitedIn(Body):
    """Messages of a session of the resource."""

    session: str = Field(pattern=KEY_PATTERN)
    cites: list[Seq] = Field(min_length=1, max_length=CITES_MAX, description="By their `seq`")


class FactIn(Body):
    text: FactText = Field(description="One sentence that stays true by itself")
    category: Category = Field(Category.PROFILE, description="Default: profile")
    trust: Trust = Field(Trust.OPERATOR, description="Whose word it is; a tool's or a stranger's is no preference")
    valid_from: Time | None = Field(None, description="Default: now")
    valid_to: Time | None = Field(None, description="Default: until further notice")
    sources: list[CitedIn] = Field(
        default_factory=list, max_length=SOURCES_MAX, description="What it rests on; it is erased with any of these"
    )


class FactPatch(Body):
    """What is to be other than it is; what is not named, or is null, stays. Only `valid_to` can be null."""

    text: FactText | None = None
    category: Category | None = None
    valid_from: Time | None = None
    valid_to: Time | None = Field(None, description="null: until further notice")

    def fields(self) -> dict[str, Any]:
        given = self.model_dump(include=self.model_fields_set)
        return {name: value for name, value in given.items() if value is not None or name == "valid_to"}


class FactQuery(BaseModel):
    """Filters of a resource's facts."""

    category: Category | None = None
    validity: Validity = Field(Validity.CURRENT, description="Valid at that time, not any more, or whatever it is")
    at: Time | None = Field(None, description="The time of `validity`; default: now")
    limit: Limit = PAGE_DEFAULT
    cursor: Cursor = None


class SourceOut(BaseModel):
    """What of a session a fact rests on."""

    session: str
    from_seq: int
    to_seq: int
    cites: list[int] = Field(description="Messages, by their `seq`")
    observations: list[int] = Field(description="Notes, by their `id`")


class FactOut(BaseModel):
    id: int
    resource_id: str
    text: str
    category: Category
    trust: Trust = Field(description="Whose word it is")
    author: Author = Field(description="Whose wording: of a caller, or of the memory")
    sources: list[SourceOut]
    valid_from: datetime
    valid_to: datetime | None
    replaced_by: int | None = Field(description="The fact that ended it")
    created_at: datetime
    updated_at: datetime


class FactPage(BaseModel):
    items: list[FactOut]
    next_cursor: str | None


class DeletedFactsOut(BaseModel):
    """Receipt: how many facts were deleted, 0 where there was nothing."""

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
