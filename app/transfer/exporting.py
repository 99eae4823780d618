"""Streams exports, each of one snapshot read by a cursor, in bounded memory (docs/export.md)."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Hashable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256

import structlog

from app.artifacts.objects import ObjectCut, Objects
from app.facts import forgetting_store
from app.facts.rereading import overrides_to_json
from app.kit.db import AWAY, Database, Row, Tx
from app.kit.errors import Unavailable, first_line
from app.kit.offload import offloaded
from app.kit.queueing import Shared
from app.sessions.errors import SessionNotFound
from app.sessions.sharing import shared_memory_id
from app.sessions.store import session_id
from app.transfer import lines, store
from app.transfer.errors import ExportBrokenError, TooManyExports
from app.transfer.lines import Place

RETRY_SECONDS = 30.0
PIECE_BYTES = 256 * 1024  # of a line: an artifact's may have ten megabytes, for which a slow network takes minutes
KEEP_ALIVES_PER_STALL = 20  # keep-alives in ``stall_seconds``: an export may time out sooner by one such interval
NO_STORE = "artifacts are in an object store, which is not configured (DAYBOOK_ARTIFACTS__URL)"
ELSEWHERE = frozenset({"content", "object_key", "deleted_at"})  # columns of an artifact that its line does not copy

log = structlog.get_logger("daybook.transfer")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportConfig:
    """How many run at once in a process, each with a connection, and how long one waits for its reader."""

    concurrency: int = 4
    stall_seconds: float = 60.0


class Reading:
    """The snapshot of an export, kept alive while its reader takes pieces, however slowly: one row may take long."""

    def __init__(self, tx: Tx, *, stall_seconds: float) -> None:
        self.tx = tx
        self._interval = stall_seconds / KEEP_ALIVES_PER_STALL
        self._patience = stall_seconds - self._interval  # after a piece that was not told of
        self._told = time.monotonic()
        self._longest = 0.0  # seconds for which a piece was offered

    @property
    def is_stalled(self) -> bool:
        return self._longest >= self._patience

    async def piece_taken(self, *, offered: float) -> None:
        """Note that the reader has taken a piece; ``offered``: when it could (``time.monotonic``)."""
        now = time.monotonic()
        self._longest = max(self._longest, now - offered)
        if now - self._told >= self._interval:
            self._told = now
            await store.keep_alive(self.tx)


class Exporting:
    """``objects``: the store of the artifacts' bytes that are not in the database."""

    def __init__(self, *, database: Database, objects: Objects | None, config: ExportConfig) -> None:
        self._database = database
        self._objects = objects
        self._config = config
        self._running = Shared(places=config.concurrency)

    async def resource(self, tenant: str, resource_id: str, *, sharer: Hashable) -> AsyncGenerator[bytes, None]:
        """The lines of a resource and of all its sessions, the long ones in pieces.

        The first is read here: an error until then can still be answered. ``sharer``: on whose behalf it runs. Raises
        TooManyExports, and Unavailable if bytes of artifacts are in an object store and none is configured.
        """
        found = self._resource(tenant, resource_id, sharer)
        return _begun(await anext(found), found)

    async def session(self, tenant: str, key: str) -> AsyncIterator[bytes]:
        """The lines of one session, without what it shares with others. Raises SessionNotFound."""
        place = Place(tenant=tenant, key=key, id=session_id(tenant, key))
        async with self._snapshot(tenant) as reading:
            if not await store.taken(reading.tx, place.id):
                raise SessionNotFound(key)
            async for line in _framed("session", key, self._of_session(reading.tx, place)):
                offered = time.monotonic()
                yield line
                await reading.piece_taken(offered=offered)

    async def _resource(self, tenant: str, resource_id: str, sharer: Hashable) -> AsyncGenerator[bytes, None]:
        async with self._snapshot(sharer) as reading:
            if self._objects is None and await store.names_objects(reading.tx, tenant, resource_id):
                raise Unavailable(NO_STORE)
            async for line in _framed("resource", resource_id, self._of_resource(reading.tx, tenant, resource_id)):
                for begin in range(0, len(line), PIECE_BYTES):
                    offered = time.monotonic()
                    yield line[begin : begin + PIECE_BYTES]
                    await reading.piece_taken(offered=offered)

    async def _of_resource(self, tx: Tx, tenant: str, resource_id: str) -> AsyncIterator[bytes]:
        async for line in store.of_resource(tx, tenant, resource_id):
            yield line
        async for row in store.sessions(tx, tenant, resource_id):
            async for line in self._of_session(tx, Place(tenant=tenant, key=row["key"], id=row["id"])):
                yield line
        async for line in store.shared(tx, shared_memory_id(tenant, resource_id)):
            yield line

    async def _of_session(self, tx: Tx, place: Place) -> AsyncIterator[bytes]:
        async for line in store.lines(tx, place):
            yield line
        overrides = await forgetting_store.overrides_of(tx, place.id)
        for one in overrides_to_json(overrides, place.id, place.key):
            yield lines.correction(place.key, one)
        async for row in store.artifacts(tx, place.id):
            yield await self._artifact(place, row)

    async def _artifact(self, place: Place, row: Row) -> bytes:
        if row["deleted_at"] is not None:
            return lines.deleted_artifact(place.key, row, at=row["deleted_at"])
        content = await self._content(place, row)
        if content is None and not await self._is_there(place, row):  # deleted since the snapshot, with its object
            return lines.deleted_artifact(place.key, row, at=datetime.now(tz=UTC))
        if content is None:
            log.warning("artifact_lost", session=place.key, artifact=row["name"], version=row["version"])
        described = {name: value for name, value in row.items() if name not in ELSEWHERE}
        return await asyncio.to_thread(lines.artifact, place.key, described, content)

    async def _content(self, place: Place, row: Row) -> bytes | None:
        """The bytes of a version; None: its object is not there, or not whole. Raises Unavailable."""
        if row["object_key"] is None:
            content: bytes = row["content"]
            return content
        if self._objects is None:
            raise Unavailable(NO_STORE)
        try:
            return await self._objects.read(row["object_key"], 0, row["size"])
        except ObjectCut:
            return None
        except Unavailable as error:
            which = f"version {row['version']} of the artifact '{row['name']}' of session '{place.key}'"
            raise Unavailable(f"{which}: {error.detail}") from error

    async def _is_there(self, place: Place, row: Row) -> bool:
        """Whether the version exists now, outside the snapshot."""
        async with self._database.connection() as connection:
            return await store.is_there(connection, place.id, name=row["name"], version=row["version"])

    @asynccontextmanager
    async def _snapshot(self, sharer: Hashable) -> AsyncIterator[Reading]:
        """Raises Unavailable if the reader stalls."""
        limit = self._config.concurrency
        detail = f"at most {limit} exports run at once, half as many for one tenant (DAYBOOK_EXPORT__CONCURRENCY)"
        refusal = TooManyExports(detail, retry_after=RETRY_SECONDS)
        stall_seconds = self._config.stall_seconds
        reading: Reading | None = None
        try:
            async with self._running.place(sharer, refusal=refusal), self._database.snapshot() as tx:
                await store.set_stall_timeout(tx, stall_seconds=stall_seconds)
                reading = Reading(tx, stall_seconds=stall_seconds)
                yield reading
        except AWAY as error:
            if reading is None or not reading.is_stalled:
                raise
            detail = f"its reader took nothing for {stall_seconds:g} s (DAYBOOK_EXPORT__STALL_SECONDS)"
            raise Unavailable(detail) from error


async def _framed(scope: str, of: str, rows: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The rows between the header and the end, which has the number and the digest of the lines before it."""
    header = lines.header(scope=scope, of=of, now=datetime.now(tz=UTC))
    yield header
    count, lost, digest = 1, 0, sha256(header)
    async for row in rows:
        await offloaded(partial(digest.update, row), size=len(row))
        yield row
        count += 1
        lost += lines.is_lost(row)
    yield lines.end(count, lost=lost, digest=digest.hexdigest())


async def _begun(first: bytes, rest: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    try:
        async with aclosing(rest):
            yield first
            async for line in rest:
                yield line
    except (Unavailable, *AWAY) as error:
        raise ExportBrokenError(first_line(error)) from error
