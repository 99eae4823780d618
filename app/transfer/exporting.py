"""An export is one snapshot, read by a cursor: of bounded memory, however long a session is (docs/export.md)."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from app.kit.db import Database, Tx
from app.sessions.errors import SessionNotFound
from app.sessions.store import session_id
from app.transfer import lines
from app.transfer.errors import TooManyExports
from app.transfer.lines import Place
from app.transfer.store import TransferStore

RETRY_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportConfig:
    """How many run at once in a process, each with a connection, and how long one waits for who reads it."""

    concurrency: int = 2
    stall_seconds: float = 60.0


class Exporting:
    def __init__(self, *, database: Database, store: TransferStore, config: ExportConfig) -> None:
        self._database = database
        self._store = store
        self._config = config
        self._running = 0

    async def resource(self, tenant: str, resource_id: str) -> AsyncIterator[bytes]:
        """Lines of all sessions of a resource, and of what is kept of it alone. Raises TooManyExports before the first.

        The first is read here: what goes wrong until then can still be answered.
        """
        found = self._resource(tenant, resource_id)
        return _begun(await anext(found), found)

    async def session(self, tenant: str, key: str) -> AsyncIterator[bytes]:
        """Lines of one session. Raises SessionNotFound."""
        place = Place(tenant=tenant, key=key, id=session_id(tenant, key))
        async with self._snapshot() as tx:
            if not await self._store.taken(tx, place.id):
                raise SessionNotFound(f"session '{key}' was never seen")
            yield lines.header(scope="session", of=key, now=datetime.now(tz=UTC))
            count = 1
            async for line in self._store.lines(tx, place):
                yield line
                count += 1
            yield lines.end(count)

    async def _resource(self, tenant: str, resource_id: str) -> AsyncGenerator[bytes, None]:
        async with self._snapshot() as tx:
            yield lines.header(scope="resource", of=resource_id, now=datetime.now(tz=UTC))
            count = 1
            async for line in self._of_resource(tx, tenant, resource_id):
                yield line
                count += 1
            yield lines.end(count)

    async def _of_resource(self, tx: Tx, tenant: str, resource_id: str) -> AsyncIterator[bytes]:
        async for line in self._store.of_resource(tx, tenant, resource_id):
            yield line
        async for row in self._store.sessions(tx, tenant, resource_id):
            async for line in self._store.lines(tx, Place(tenant=tenant, key=row["key"], id=row["id"])):
                yield line

    @asynccontextmanager
    async def _snapshot(self) -> AsyncIterator[Tx]:
        limit = self._config.concurrency
        if self._running >= limit:
            raise TooManyExports(f"{limit} exports run (DAYBOOK_EXPORT__CONCURRENCY)", retry_after=RETRY_SECONDS)
        self._running += 1
        try:
            async with self._database.tx() as tx:
                await self._store.snapshot(tx, stall_seconds=self._config.stall_seconds)
                yield tx
        finally:
            self._running -= 1


async def _begun(first: bytes, rest: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
    async with aclosing(rest):
        yield first
        async for line in rest:
            yield line
