"""Artifacts as values: immutable versions of a payload, which are kept by name in a session."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID


class PartAt(NamedTuple):
    """A part of a stored message: the message's ``seq``, and the part's place in it, from 0."""

    seq: int
    place: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """One version, without its bytes. ``sha256`` is of them, in hex; ``size`` is in bytes.

    The bytes are in the database, or in the object store if ``object_key`` is set; those of a message's ``part`` are
    the message's own.
    """

    session_id: UUID
    name: str
    version: int
    media_type: str
    size: int
    sha256: str
    created_at: datetime
    object_key: str | None = None
    part: PartAt | None = None

    @property
    def etag(self) -> str:
        return f'"{self.sha256}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class NewArtifact:
    """A version to be kept. ``content`` None: the bytes are in the object store under ``object_key``."""

    name: str
    media_type: str
    size: int
    sha256: bytes
    content: bytes | None
    object_key: str | None = None


class Stored(NamedTuple):
    """The version that a put found or made. ``as_sent``: its bytes are those of the request, none redacted."""

    artifact: Artifact
    created: bool
    as_sent: bool


def handle(key: str, name: str, version: int) -> str:
    """The handle of a version of an artifact of the session ``key``, for answers and contexts."""
    return f"artifact://{key}/{name}?version={version}"
