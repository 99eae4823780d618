"""Queues that form for one thing, so that who waits for it leaves room for all others (docs/decisions/0058)."""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class _Queue:
    places: asyncio.Semaphore
    length: int = 0  # those who are at it, and those who wait


class Queues:
    """So many at once are at one thing (``at_once_max``); the others wait in the order in which they came."""

    def __init__(self, *, at_once_max: int, seconds: float) -> None:
        self._at_once_max = at_once_max
        self._seconds = seconds
        self._queues: dict[Hashable, _Queue] = {}

    @asynccontextmanager
    async def turn(self, thing: Hashable) -> AsyncIterator[None]:
        """Be at it. Raises TimeoutError after ``seconds``. Who is at it already must not ask for it once more."""
        queue = self._queues.get(thing) or self._queues.setdefault(thing, _Queue(asyncio.Semaphore(self._at_once_max)))
        queue.length += 1
        try:
            await self._wait(queue.places)
            try:
                yield
            finally:
                queue.places.release()
        finally:
            queue.length -= 1
            if not queue.length:
                del self._queues[thing]

    async def _wait(self, places: asyncio.Semaphore) -> None:
        if not places.locked():
            await places.acquire()  # at once: a timeout would cost more than all of this
            return
        async with asyncio.timeout(self._seconds):
            await places.acquire()
