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

NoteId = Annotated[int, Path(ge=1, le=SEQ_MAX, description="Id of the note", examples=[41])]


class EditIn(Body):
    text: str = Field(
        max_length=TEXT_CHARACTERS_MAX,
        pattern=STORABLE_PATTERN,
        description="New text of the note: `Date:` headers and bullets, in the form of the note's own `text`",
    )


class CompactIn(Body):
    model_config = ConfigDict(strict=True)

    up_to_seq: int = Field(
        ge=1,
        le=SEQ_MAX,
        description="`seq` of the last message to replace; moved to the end of its group, and before the newest group",
    )
    summary: str | None = Field(
        None,
        min_length=1,
        max_length=TEXT_CHARACTERS_MAX,
        description="Summary to show in place of the messages; default: messages that no note covers are"
        " condensed without a model",
    )


class CompactOut(BaseModel):
    session: str
    version: int = Field(description="Version of the log after the compaction")
    up_to_seq: int = Field(description="`seq` of the last message that the summary replaces")
    summary: MessageOut


class DeletedOut(BaseModel):
    session: str
    version: int = Field(description="Version of the log after the deletion")
    retired: int = Field(description="Number of notes removed from the log")


class ErasedOut(BaseModel):
    """Receipt of an erased message."""

    session: str
    id: str
    seq: int
    sessions: list[str] = Field(
        description="Keys of the sessions it was erased from: this one, and branches that had a copy"
    )
    rows: dict[str, int] = Field(description="Number of rows emptied, by table; summaries count as messages")
    rebuilding: bool = Field(description="true: notes were emptied whose other messages are being observed again")


class ObservationOut(BaseModel):
    id: int
    status: str
    text: str
    items: list[dict[str, Any]]
    tokens: int = Field(description="Tokens of the note's text")
    message_tokens: int = Field(description="Tokens of the messages that it covers")
    place: int = Field(description="Position in the log, oldest first")
    from_seq: int
    to_seq: int
    session: str = Field(description="Key of the session whose messages it covers")
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
    source_tokens: int = Field(description="Tokens of the notes that it condenses")
    from_seq: int
    to_seq: int
    session: str
    sources: list[int] = Field(description="Ids of the observations (level 1) or reflections that it condenses")
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
