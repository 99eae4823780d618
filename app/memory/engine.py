"""The engine: claims due memories, and renews their leases while ``stepping.py`` executes their steps.

An append wakes it at once (architecture.md 1.3). A periodic sweep finds what a crash, a restart, a back-off or another
replica left due, and what found all workers busy. Tenants take turns. Leases are short, so that another process can
claim the memories of a killed one within ``lease_seconds``.
"""

import asyncio
import time
from collections import deque
from collections.abc import Coroutine
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import structlog
from opentelemetry.trace import Tracer
from opentelemetry.util.types import AttributeValue

from app.kit.db import AWAY
from app.kit.tracing import UNTRACED, traced_work
from app.memory.queue_store import QueueStore
from app.memory.records import Lease
from app.memory.stepping import Stepping

log = structlog.get_logger("daybook.engine")

FOUND_MAX, FOUND_OF_TENANT_MAX = 1_000, 50  # memories that are due, at one look


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """``concurrency``: memories worked on at once by this process. ``grace_seconds``: for running steps at shutdown.

    ``attempts_max``: failures in a row at which a memory has stalled.
    """

    lease_seconds: float = 30.0
    sweep_seconds: float = 1.0
    concurrency: int = 4
    grace_seconds: float = 10.0
    attempts_max: int = 8


class Engine:
    def __init__(
        self, *, queue: QueueStore, stepping: Stepping, config: EngineConfig, owner: str, tracer: Tracer = UNTRACED
    ) -> None:
        self._queue = queue
        self._stepping = stepping
        self._config = config
        self._owner = owner
        self._tracer = tracer
        self._tasks: dict[UUID, asyncio.Task[None]] = {}
        self._again: set[UUID] = set()
        self._turns: deque[UUID] = deque()  # found due by the last sweep, waiting for a free place
        self._more = False  # whether more may be due than the last sweep found
        self._look = asyncio.Event()
        self._sweeper: asyncio.Task[None] | None = None
        self._stopping = False

    def start(self) -> None:
        self._sweeper = asyncio.create_task(self._sweep(), name="daybook-sweep")

    async def stop(self) -> None:
        """Claim nothing more. Running steps may finish within the grace time; then they are cancelled."""
        self._stopping = True
        self._stepping.stop()
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.gather(self._sweeper, return_exceptions=True)
        tasks = list(self._tasks.values())
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=self._config.grace_seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def wake(self, memory_id: UUID) -> None:
        """Try to claim the memory, at once if a place is free. If it is being worked on, it is tried after that."""
        if self._stopping:
            return
        if memory_id in self._tasks:
            self._again.add(memory_id)
        elif self._has_place():
            self._begin(memory_id)
        else:
            self._more = True

    def _has_place(self) -> bool:
        return len(self._tasks) < self._config.concurrency

    def _others_wait(self) -> bool:
        """Whether more is due than there are places for, as far as is known."""
        return bool(self._turns) or self._more

    def _begin(self, memory_id: UUID) -> None:
        task = asyncio.create_task(self._work(memory_id), name=f"daybook-memory-{memory_id}")
        self._tasks[memory_id] = task
        # In an empty context: what begins then belongs to another request, or to none.
        task.add_done_callback(lambda _: self._ended(memory_id), context=Context())

    def _ended(self, memory_id: UUID) -> None:
        """Free the place: for those whose turn it is, then for this memory if it was woken meanwhile."""
        del self._tasks[memory_id]
        self._fill()
        if memory_id in self._again:
            self._again.discard(memory_id)
            self.wake(memory_id)
        if self._more and self._has_place():
            self._look.set()

    def _fill(self) -> None:
        while self._turns and self._has_place() and not self._stopping:
            memory_id = self._turns.popleft()
            if memory_id not in self._tasks:
                self._begin(memory_id)

    async def _sweep(self) -> None:
        """Look for due memories every ``sweep_seconds``, or sooner if a place is free and more may be due.

        Before the first look paused memories are made due: the caps may have been raised before the restart.
        """
        resumed = False
        while not self._stopping:  # a database that hangs may answer the cancelling with a time-out
            self._look.clear()
            self._more = False
            try:
                if not resumed:
                    await self._queue.resume()
                    resumed = True
                await self._find()
            except Exception as error:  # noqa: BLE001 - nothing ends the sweep: a database may yet have to be migrated
                log.warning("sweep_failed", error=type(error).__name__)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._config.sweep_seconds):
                    await self._look.wait()

    async def _find(self) -> None:
        found = await self._queue.due(FOUND_MAX, of_tenant=FOUND_OF_TENANT_MAX)
        self._turns = deque(memory_id for memory_id in found if memory_id not in self._tasks)
        self._more = self._more or len(found) >= FOUND_OF_TENANT_MAX
        self._fill()

    async def _work(self, memory_id: UUID) -> None:
        """Claim the memory and work on it until it is not due, or others wait.

        After a failure that the step did not record, the memory is due again when its lease ends.
        """
        try:
            while not self._stopping:
                begun = time.time_ns()
                lease = await self._queue.claim(memory_id, owner=self._owner, seconds=self._config.lease_seconds)
                if lease is None or not await self._traced(lease, begun):
                    return
                if self._others_wait():
                    self._more = True  # this one is still due; the sweep finds it when its turn comes
                    return
        except AWAY as error:
            log.warning("memory_left", memory=str(memory_id), error=type(error).__name__)
        except Exception:  # nothing ends the engine: the lease ends by itself, and the memory is claimed anew
            log.exception("memory_left", memory=str(memory_id))

    async def _traced(self, lease: Lease, begun: int) -> bool:
        """Do the work of one lease, in a trace that begins with the claim. Answers as ``Stepping.run``."""
        of: dict[str, AttributeValue] = {"daybook.memory": str(lease.memory_id), "daybook.epoch": lease.epoch}
        with traced_work(self._tracer, "memory", start_time=begun, attributes=of):
            self._tracer.start_span("claim", start_time=begun).end()
            return await self._held(lease, self._stepping.run(lease, others_wait=self._others_wait))

    async def _held(self, lease: Lease, work: Coroutine[Any, Any, bool]) -> bool:
        """Do the work while renewing the lease. Cancels it if the lease is lost or this task is cancelled."""
        task = asyncio.create_task(work)
        try:
            while True:
                done, _ = await asyncio.wait({task}, timeout=self._config.lease_seconds / 3)
                if done:
                    return task.result()
                if not await self._renewed(lease) and not task.done():
                    log.warning("lease_lost", memory=str(lease.memory_id), epoch=lease.epoch)
                    return False
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                await asyncio.shield(self._queue.give_back(lease))

    async def _renewed(self, lease: Lease) -> bool:
        try:
            return await self._queue.renew(lease, seconds=self._config.lease_seconds)
        except AWAY:
            return True  # it may still be held; if not, fencing prevents every write
