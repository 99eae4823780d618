"""Deletes sessions with everything that is kept of them, in one transaction; their keys can be used again.

Objects outside the database are deleted after the commit, because a rollback would bring back the rows that name them.

The sessions' rows are locked first, as by every writer of what belongs to them. So an append comes either before, and
is deleted, or after, and begins a new session. A step of the memory that ends later finds no row to record to.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from app.kit.db import Database, Tx
from app.sessions import deleting_store
from app.sessions.errors import SessionNotFound
from app.sessions.lineage import adopt
from app.sessions.metrics import SessionMetrics
from app.sessions.model import Gone, MemoryPort
from app.sessions.sharing_store import hold_related
from app.sessions.store import session_id


class Keeper(Protocol):
    """A store with rows that belong to sessions or to a resource: there is one on each layer (app/services.py)."""

    async def forget(self, tx: Tx, gone: Gone) -> dict[str, int]:
        """Delete their rows. Answers the number of rows by table."""


class Outside(Protocol):
    """The store of sessions' objects outside the database, on a layer above."""

    async def objects_of(self, tx: Tx, gone: Gone) -> Sequence[str]:
        """The objects that the rows of these sessions name."""

    async def clear(self, names: Sequence[str]) -> None:
        """Delete objects that no row names any more. Never fails: what is left over is found later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The number of deleted sessions and, by table, rows, and the objects that they named ``outside`` the database."""

    sessions: int
    rows: dict[str, int]
    outside: tuple[str, ...] = ()


class Deleting:
    """``keepers`` delete in their order, the sessions' own store last."""

    def __init__(
        self,
        *,
        database: Database,
        keepers: Sequence[Keeper],
        memory: MemoryPort,
        outside: Outside,
        metrics: SessionMetrics,
    ) -> None:
        self._database = database
        self._metrics = metrics
        self._memory = memory
        self._keepers = keepers
        self._outside = outside

    async def session(self, tenant: str, key: str) -> Receipt:
        """Delete one session. If others share its memory, their part of it stays. Raises SessionNotFound."""
        session = session_id(tenant, key)
        async with self._database.tx(of=session) as tx:
            held = await hold_related(tx, session)
            if held is None:
                raise SessionNotFound(key)
            gone = await deleting_store.held(tx, tenant, [session])
            receipt = await self.forget(tx, gone.beside(held.shared))
        await self.clear(receipt)
        if held.shared is not None:
            self._memory.wake(held.shared)
        self._metrics.erased("session")
        return receipt

    async def resource(self, tenant: str, resource_id: str) -> Receipt:
        """Delete all sessions of a resource, and its own rows. Not an error if there is nothing."""
        async with self._database.tx() as tx:
            receipt = await self.forget(tx, await deleting_store.lock_resource(tx, tenant, resource_id))
        await self.clear(receipt)
        self._metrics.erased("resource")
        return receipt

    async def forget(self, tx: Tx, gone: Gone) -> Receipt:
        """Delete sessions that are locked in this transaction; call ``clear`` once it is committed."""
        outside = await self._outside.objects_of(tx, gone)
        rows: dict[str, int] = {}
        for keeper in self._keepers:
            rows |= await keeper.forget(tx, gone)
        await adopt(tx, gone)
        rows |= await deleting_store.forget(tx, gone)
        return Receipt(sessions=len(gone.sessions), rows=rows, outside=tuple(outside))

    async def clear(self, receipt: Receipt) -> None:
        """Delete the objects that deleted sessions had outside the database."""
        if receipt.outside:
            await self._outside.clear(receipt.outside)
