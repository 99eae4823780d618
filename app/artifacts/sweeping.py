"""Sweeps the object store: deletes objects that belong to no artifact, left by a put that died or a failed deletion.

A row is written after its object and deleted before it, so an old object without a row is never needed. Its age goes by
the database's clock: a process whose own is ahead would delete the object of a put that is about to write its row.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from app.artifacts.objects import Objects, Stored
from app.artifacts.store import ArtifactStore
from app.kit.repeating import Repeated

log = structlog.get_logger("daybook.artifacts")


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepConfig:
    """How often to look, and how old an object without a row must be: the put may still be on its way to its row."""

    sweep_seconds: float = 3_600.0
    orphan_seconds: float = 3_600.0


class Sweeping:
    def __init__(
        self,
        *,
        objects: Objects,
        store: ArtifactStore,
        now: Callable[[], Awaitable[datetime]],
        config: SweepConfig,
    ) -> None:
        self._objects = objects
        self._store = store
        self._now = now
        self._config = config
        self._repeated = Repeated(
            self._swept, seconds=config.sweep_seconds, name="daybook-artifacts-sweep", waits_first=True
        )

    def start(self) -> None:
        self._repeated.start()

    async def stop(self) -> None:
        await self._repeated.stop()

    async def sweep(self) -> int:
        """Delete the orphans; answers how many. Raises Unavailable."""
        oldest = await self._now() - timedelta(seconds=self._config.orphan_seconds)
        deleted = await self._objects.clear_torn(oldest)
        async for batch in self._objects.batches():
            orphans = await self._orphans(stored for stored in batch if stored.written_at <= oldest)
            if orphans:
                await self._objects.delete(orphans)
                deleted += len(orphans)
        return deleted

    async def _swept(self) -> None:
        log.info("objects_swept", deleted=await self.sweep())

    async def _orphans(self, found: Iterable[Stored]) -> list[str]:
        old = list(found)
        known = await self._store.known_objects([(stored.session, stored.key) for stored in old])
        return [stored.key for stored in old if stored.key not in known]
