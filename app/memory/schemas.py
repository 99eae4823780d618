"""Request and response bodies of notes (api.md, Memory)."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field

from app.kit.bodies import Body
from app.memory.log import items_to_json
from app.memory.model import Observation, Reflection
from app.sessions.model import SEQ_MAX
from app.sessions.schemas import STORABLE_PATTERN, MessageOut

TEXT_CHARACTERS_MAX = 2**18  # read within a tenth of a second; some 65,000 tokens

NoteId = Annotated[int, Path(ge=1, le=SEQ_MAX, description="The note's number", examples=[41])]


class EditIn(Body):
    text: str = Field(
        max_length=TEXT_CHARACTERS_MAX,
        pattern=STORABLE_PATTERN,
        description="The lines that are to stand there: `Date:` headers and bullets, as the note's own `text` has them",
    )


class CompactIn(Body):
    model_config = ConfigDict(strict=True)

    up_to_seq: int = Field(ge=1, le=SEQ_MAX, description="Moved to the end of a group, and before the newest one")
    summary: str | None = Field(
        None,
        min_length=1,
        max_length=TEXT_CHARACTERS_MAX,
        description="What to show in their place; without it, what no note tells yet is condensed without a model",
    )


class CompactOut(BaseModel):
    session: str
    version: int = Field(description="Of the log, after it")
    up_to_seq: int = Field(description="The last message that the summary stands for")
    summary: MessageOut


class DeletedOut(BaseModel):
    session: str
    version: int = Field(description="Of the log, after it")
    retired: int = Field(description="How many notes left the log")


class ErasedOut(BaseModel):
    """A receipt."""

    session: str
    id: str
    seq: int
    sessions: list[str] = Field(description="The sessions it was erased from: this one, and branches that held it")
    rows: dict[str, int] = Field(description="Rows emptied, by their tables; summaries are messages too")
    rebuilding: bool = Field(description="Notes are gone that are being made again, of the other messages")


class ObservationOut(BaseModel):
    id: int
    status: str
    text: str
    items: list[dict[str, Any]]
    tokens: int
    message_tokens: int
    place: int = Field(description="Where in the log it stands: what is oldest is first")
    from_seq: int
    to_seq: int
    session: str = Field(description="Whose messages they are, where several share the log")
    born_version: int | None
    retired_version: int | None
    retired_by: str | None
    created_at: datetime


class ReflectionOut(BaseModel):
    id: int
    level: int
    generation: int
    status: str
    text: str
    items: list[dict[str, Any]]
    tokens: int
    source_tokens: int
    from_seq: int
    to_seq: int
    session: str
    sources: list[int]
    born_version: int | None
    retired_version: int | None
    retired_by: str | None
    created_at: datetime


def observation_out(found: Observation, key: str) -> ObservationOut:
    return ObservationOut(
        id=found.id,
        status=found.status,
        text=found.text,
        items=items_to_json(found.items),
        tokens=found.tokens,
        message_tokens=found.message_tokens,
        place=found.ordinal,
        from_seq=found.from_seq,
        to_seq=found.to_seq,
        session=found.conversation or key,
        born_version=found.born_version,
        retired_version=found.retired_version,
        retired_by=found.retired_by,
        created_at=found.created_at,
    )


def reflection_out(found: Reflection, key: str) -> ReflectionOut:
    return ReflectionOut(
        id=found.id,
        level=found.level,
        generation=found.generation,
        status=found.status,
        text=found.text,
        items=items_to_json(found.items),
        tokens=found.tokens,
        source_tokens=found.source_tokens,
        from_seq=found.from_seq,
        to_seq=found.to_seq,
        session=key,
        sources=list(found.sources),
        born_version=found.born_version,
        retired_version=found.retired_version,
        retired_by=found.retired_by,
        created_at=found.created_at,
    )
