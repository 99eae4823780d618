"""What a caller can do with a session's artifacts: keep, read, list, search and delete them."""

import asyncio
import time
from collections.abc import Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from uuid import UUID

from app.artifacts import store as artifact_store
from app.artifacts.errors import ArtifactNotFound, ArtifactNotText, ArtifactsFull, ArtifactTooLarge
from app.artifacts.grep import Found, NotText, PatternError, check_text, grep
from app.artifacts.model import Artifact, NewArtifact, PartAt, Stored
from app.artifacts.objects import PLACE_SECONDS, Objects
from app.artifacts.parts import VERSION, part_at
from app.artifacts.redacting import redacted_text
from app.artifacts.schemas import GrepIn
from app.artifacts.store import ArtifactStore, Put
from app.kit.conditions import Conditions, PreconditionFailed
from app.kit.db import Tx
from app.kit.errors import FieldError, Invalid, Unavailable
from app.kit.queueing import Shared
from app.redaction.model import OFF, Redaction
from app.sessions.errors import SessionNotFound
from app.sessions.model import Gone
from app.sessions.store import session_id

TOO_MANY = "too many artifact searches are running (DAYBOOK_ARTIFACTS__GREP_CONCURRENCY)"
FIRST_PART = PartAt(0, -1)  # before every part of a message


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactConfig:
    """Limits: bytes of one artifact, its versions, and the versions of all artifacts of a session.

    ``grep_concurrency``: searches at once in a process, each for ``grep_seconds`` at most.
    ``grep_line_characters_max``: shown of a line that matches, or is beside one. ``part_bytes_inline_max``: a message's
    part of more bytes is an artifact too (api.md). ``inserted_bytes_max``: of an artifact that a template inserts.
    """

    bytes_max: int = 8 * 1024 * 1024
    versions_max: int = 100
    session_max: int = 1_000
    grep_concurrency: int = 4
    grep_seconds: float = 10.0
    grep_line_characters_max: int = 500
    part_bytes_inline_max: int = 10_000
    inserted_bytes_max: int = 64 * 1024


class ArtifactService:
    def __init__(
        self,
        store: ArtifactStore,
        config: ArtifactConfig,
        objects: Objects | None = None,
        redaction: Redaction = OFF,
    ) -> None:
        self._store = store
        self._config = config
        self._objects = objects
        self._redaction = redaction
        self._greps = Shared(places=config.grep_concurrency, seconds=PLACE_SECONDS)
        self._threads = ThreadPoolExecutor(config.grep_concurrency, thread_name_prefix="daybook-grep")

    async def put(
        self,
        *,
        tenant: str,
        key: str,
        name: str,
        media_type: str,
        content: bytes,
        expected: Conditions,
    ) -> Stored:
        """Keep the bytes as the next version, unless the newest one has the same bytes and media type.

        Raises SessionNotFound, Invalid, ArtifactTooLarge, ArtifactsFull, and
        PreconditionFailed if the newest version is not the one ``expected``.
        """
        _refuse_part(name)
        self._refuse_size(content)
        session = session_id(tenant, key)
        sent, redact = content, self._redaction.of(tenant)
        if redact is not None:
            content = await asyncio.to_thread(redacted_text, content, media_type, redact)
        object_key = None if self._objects is None else await self._objects.write(session, content)
        new = NewArtifact(
            name=name,
            media_type=media_type,
            size=len(content),
            sha256=sha256(content).digest(),
            content=content if object_key is None else None,
            object_key=object_key,
        )
        artifact, created = await self._kept(session, key, new, expected)
        return Stored(artifact, created, as_sent=content == sent)

    async def _kept(self, session: UUID, key: str, new: NewArtifact, expected: Conditions) -> tuple[Artifact, bool]:
        """Write the row; if none is written, delete the object."""
        unused = () if new.object_key is None else (new.object_key,)
        limits = {"session_max": self._config.session_max, "versions_max": self._config.versions_max}
        try:
            put = await self._store.put(session, new, expected=expected, **limits)
        except PreconditionFailed:
            await self.clear(unused)
            await self._check_session(session, key)
            raise
        if put is None or not put.created:
            await self.clear(unused)
        if put is None:
            raise SessionNotFound(key)
        if put.artifact is None:
            raise self._full(put, new.name)
        return put.artifact, put.created

    async def get(self, *, tenant: str, key: str, name: str, version: int | None = None) -> Artifact:
        """A version, or the newest one. Raises SessionNotFound, ArtifactNotFound."""
        session, at = session_id(tenant, key), part_at(name)
        if at is None:
            found = await self._store.get(session, name, version)
        else:
            found = await self._store.part(session, at) if version in {None, VERSION} else None
        if found is None:
            await self._check_session(session, key)
            raise _not_found(key, name, version)
        return found

    async def content(self, key: str, artifact: Artifact, start: int, end: int) -> bytes:
        """The bytes from ``start`` up to ``end``. Raises ArtifactNotFound if they were deleted meanwhile."""
        content = await self._content(artifact, start, end)
        if content is None:
            raise _not_found(key, artifact.name, artifact.version)
        return content

    async def _content(self, artifact: Artifact, start: int, end: int) -> bytes | None:
        if artifact.object_key is None:
            return await self._store.content(artifact, start, end)
        if self._objects is None:
            raise Unavailable("its bytes are in an object store, and none is configured (DAYBOOK_ARTIFACTS__URL)")
        return await self._objects.read(artifact.object_key, start, end)

    async def page(self, *, tenant: str, key: str, after: str | PartAt, limit: int) -> list[Artifact]:
        """The newest version of each artifact by name, then the large parts of the messages in their order."""
        session = session_id(tenant, key)
        found: list[Artifact] = []
        if isinstance(after, str):
            found = await self._store.newest(session, after=after, limit=limit)
        if len(found) < limit:
            found += await self._store.large_parts(
                session,
                after=FIRST_PART if isinstance(after, str) else after,
                bytes_min=self._config.part_bytes_inline_max,
                limit=limit - len(found),
            )
        if not found:
            await self._check_session(session, key)
        return found

    async def versions(self, *, tenant: str, key: str, name: str, before: int, limit: int) -> list[Artifact]:
        """The versions of an artifact below a number, newest first. Raises SessionNotFound, ArtifactNotFound."""
        newest = await self.get(tenant=tenant, key=key, name=name)
        if newest.part is not None:
            return [newest]
        return await self._store.versions(newest.session_id, name, before=before, limit=limit)

    async def grep(
        self, *, tenant: str, key: str, name: str, asked: GrepIn, sharer: Hashable
    ) -> tuple[Artifact, Found]:
        """The lines of a text that match, searched in a thread of its own: it may take seconds.

        ``sharer``: on whose behalf. Raises SessionNotFound, ArtifactNotFound, ArtifactNotText, Invalid, and Unavailable
        if too many are searched.
        """
        artifact = await self.get(tenant=tenant, key=key, name=name, version=asked.version)
        try:
            async with self._greps.place(sharer, refusal=Unavailable(TOO_MANY)):
                content = await self.content(key, artifact, 0, artifact.size)
                return artifact, await self._searched(content, asked)
        except PatternError as error:
            raise Invalid.naming(FieldError("/pattern", str(error))) from error
        except NotText as error:
            raise ArtifactNotText(_not_text(name, error)) from error

    async def _searched(self, content: bytes, asked: GrepIn) -> Found:
        end = time.monotonic() + self._config.grep_seconds
        search = partial(
            grep,
            content,
            asked.pattern,
            limit=asked.limit,
            neighbours=asked.neighbours,
            line_characters_max=self._config.grep_line_characters_max,
            ignore_case=asked.ignore_case,
            is_late=lambda: time.monotonic() > end,
        )
        return await asyncio.get_running_loop().run_in_executor(self._threads, search)

    async def delete(self, *, tenant: str, key: str, name: str, expected: Conditions) -> int:
        """Delete every version; answers how many there were. Raises SessionNotFound, Invalid, PreconditionFailed."""
        _refuse_part(name)
        session = session_id(tenant, key)
        try:
            deleted = await self._store.delete(session, name, expected)
        except PreconditionFailed:
            await self._check_session(session, key)
            raise
        if not deleted:
            await self._check_session(session, key)
        await self.clear([object_key for object_key in deleted if object_key is not None])
        return len(deleted)

    async def objects_of(self, tx: Tx, gone: Gone) -> Sequence[str]:
        """The objects of sessions that are being deleted."""
        return () if self._objects is None else await artifact_store.objects_of(tx, gone.sessions)

    async def clear(self, names: Sequence[str]) -> None:
        """Delete objects that no row has; what cannot be deleted now is left to the sweep."""
        if self._objects is not None and names:
            await self._objects.clear(names)

    async def refusals(self, session: UUID, names: Sequence[str]) -> dict[str, str | None]:
        """The names that have an artifact, each with the reason why no template can insert it, or None."""
        return {artifact.name: await self._refusal(artifact) for artifact in await self._store.named(session, names)}

    async def _refusal(self, artifact: Artifact) -> str | None:
        try:
            self._refuse_insertion(artifact, pointer="")
            await self._text(artifact, pointer="")
        except (ArtifactTooLarge, ArtifactNotText) as error:
            return error.detail
        return None

    async def texts(self, session: UUID, pointers: Mapping[str, str]) -> dict[str, str]:
        """The newest texts under these names, for templates; a name without an artifact is left out.

        ``pointers``: where in the request each name is used, for the errors. Raises ArtifactNotText, and
        ArtifactTooLarge over ``inserted_bytes_max``.
        """
        found = await self._store.named(session, list(pointers))
        for artifact in found:
            self._refuse_insertion(artifact, pointer=pointers[artifact.name])
        return {artifact.name: await self._text(artifact, pointer=pointers[artifact.name]) for artifact in found}

    async def _text(self, artifact: Artifact, *, pointer: str) -> str:
        content = await self._content(artifact, 0, artifact.size)
        try:
            return check_text(content or b"")
        except NotText as error:
            raise ArtifactNotText.at(pointer, _not_text(artifact.name, error)) from error

    async def _check_session(self, session: UUID, key: str) -> None:
        if not await self._store.session_exists(session):
            raise SessionNotFound(key)

    def _refuse_size(self, content: bytes) -> None:
        limit = self._config.bytes_max
        if len(content) > limit:
            raise ArtifactTooLarge(f"an artifact may have at most {limit} bytes (DAYBOOK_ARTIFACTS__BYTES_MAX)")

    def _refuse_insertion(self, artifact: Artifact, *, pointer: str) -> None:
        limit = self._config.inserted_bytes_max
        if artifact.size > limit:
            detail = (
                f"'{artifact.name}' has {artifact.size} bytes; a template may insert at most {limit}"
                " (DAYBOOK_ARTIFACTS__INSERTED_BYTES_MAX)"
            )
            raise ArtifactTooLarge.at(pointer, detail)

    def _full(self, put: Put, name: str) -> ArtifactsFull:
        limit = self._config.versions_max
        if put.versions >= limit:
            return ArtifactsFull(
                f"'{name}' has {limit} versions already (DAYBOOK_ARTIFACTS__VERSIONS_MAX): delete it first"
            )
        limit = self._config.session_max
        return ArtifactsFull(
            f"the session has {limit} versions of artifacts already (DAYBOOK_ARTIFACTS__SESSION_MAX): delete one"
        )


def _refuse_part(name: str) -> None:
    if part_at(name) is not None:
        raise Invalid.at("name", f"'{name}' is a part of a message: change or delete the message instead")


def _not_found(key: str, name: str, version: int | None) -> ArtifactNotFound:
    which = "" if version is None else f" in version {version}"
    return ArtifactNotFound(f"session '{key}' has no artifact '{name}'{which}")


def _not_text(name: str, error: NotText) -> str:
    return f"'{name}' is not text: {error}"
