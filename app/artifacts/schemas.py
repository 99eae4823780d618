"""Artifacts on the wire (api.md)."""

import re
from datetime import datetime
from typing import Annotated

from fastapi import Path, Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from app.artifacts.model import Artifact, handle
from app.kit.bodies import Body
from app.kit.names import no_dot_segment
from app.kit.paging import NUMBER_MAX
from app.kit.patterns import lazy_pattern
from app.sessions.schemas import KEY_PATTERN

PATTERN_CHARS_MAX, MATCHES_MAX, NEIGHBOURS_MAX = 1_000, 200, 10
MATCHES_DEFAULT, NEIGHBOURS_DEFAULT = 50, 2
# RFC 9110 section 8.3.1: type "/" subtype and parameters, of visible characters; nothing else is echoed in a header.
MEDIA_TYPE = lazy_pattern(r"[\w.+*#$&^!-]+/[\w.+*#$&^!-]+(?:\s*;[\x20-\x7e]*)?", re.ASCII)
MEDIA_TYPE_CHARS_MAX = 200

Name = Annotated[
    str,
    Path(pattern=KEY_PATTERN, description="Name of the artifact; `message:SEQ:PART` names a part of a message"),
    AfterValidator(no_dot_segment),
]
Version = Annotated[int | None, Query(ge=1, le=NUMBER_MAX, description="Version number; default: the newest")]


class ArtifactOut(BaseModel):
    """One version of an artifact; its bytes never change."""

    session: str
    name: str
    version: int
    handle: str = Field(description="Reference to this version, as contexts show it")
    media_type: str
    size: int = Field(description="Size in bytes")
    sha256: str = Field(description="SHA-256 of the bytes, in hexadecimal")
    created_at: datetime


class ArtifactPage(BaseModel):
    items: list[ArtifactOut]
    next_cursor: str | None


class GrepIn(Body):
    model_config = ConfigDict(strict=True)

    pattern: str = Field(min_length=1, max_length=PATTERN_CHARS_MAX, description="Regular expression in RE2 syntax")
    limit: int = Field(MATCHES_DEFAULT, ge=1, le=MATCHES_MAX, description="Maximum number of matching lines returned")
    neighbours: int = Field(
        NEIGHBOURS_DEFAULT, ge=0, le=NEIGHBOURS_MAX, description="Number of lines returned before and after each match"
    )
    ignore_case: bool = False
    version: int | None = Field(None, ge=1, le=NUMBER_MAX, description="Version number; default: the newest")


class MatchOut(BaseModel):
    """A matching line and its number, from 1; a long line is cut to the piece around the match."""

    line: int
    text: str
    before: list[str]
    after: list[str]


class GrepOut(BaseModel):
    session: str
    name: str
    version: int
    handle: str
    matches: list[MatchOut]
    truncated: bool = Field(description="true: more lines match than `limit`")


class ArtifactDeletedOut(BaseModel):
    """Receipt: the number of versions deleted; 0 if there was no artifact of this name."""

    session: str
    name: str
    deleted: int


def is_media_type(given: str) -> bool:
    return len(given) <= MEDIA_TYPE_CHARS_MAX and MEDIA_TYPE.fullmatch(given) is not None


def artifact_out(artifact: Artifact, key: str) -> ArtifactOut:
    return ArtifactOut(
        session=key,
        name=artifact.name,
        version=artifact.version,
        handle=handle(key, artifact.name, artifact.version),
        media_type=artifact.media_type,
        size=artifact.size,
        sha256=artifact.sha256,
        created_at=artifact.created_at,
    )
