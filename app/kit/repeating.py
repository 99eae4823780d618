"""Background work that repeats until its owner stops it, and polling."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import structlog

from app.kit.db import AWAY
from app.kit.errors import Unavailable

PAUSE_SECONDS: Final = 0.02
PAUSE_SECONDS_MAX: Final = 0.25
PAUSE_GROWTH: Final = 1.5

log = structlog.get_logger("daybook.background")

T = TypeVar("T")


async def polled(look: Callable[[], Awaitable[T]], *, seconds: float) -> T:
    """Poll ``look``, with growing pauses, until it answers true or ``seconds`` have passed; returns its last answer."""
    end = time.monotonic() + seconds
    pause = PAUSE_SECONDS
    while not (found := await look()) and (left := end - time.monotonic()) > 0:
        await asyncio.sleep(min(pause, left))
        pause = min(pause * PAUSE_GROWTH, PAUSE_SECONDS_MAX)
    return found


class Repeated:
    """Repeats ``work`` in a task of its own, with a pause of ``seconds`` after each run; first if it ``waits_first``.

    An error is logged, and the next run tries again.
    """

    def __init__(
        self, work: Callable[[], Awaitable[object]], *, seconds: float, name: str, waits_first: bool = False
    ) -> None:
        self._work = work
        self._seconds = seconds
        self._name = name
        self._waits_first = waits_first
        self._task: asyncio.Task[None] | None = None
        self._is_stopped = False

    def start(self) -> None:
        self._is_stopped = False
        self._task = asyncio.create_task(self._for_ever(), name=self._name)

    async def stop(self) -> None:
        self._is_stopped = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _for_ever(self) -> None:
        if self._waits_first:
            await asyncio.sleep(self._seconds)
        while True:
            try:
                await self._work()
            except (Unavailable, *AWAY) as error:
                log.warning("background_work_left", task=self._name, error=type(error).__name__)
            except Exception:  # no error may end the task
                log.exception("background_work_left", task=self._name)
            if self._is_stopped:  # with a database that hangs, a time-out may replace the cancellation
                return
            await asyncio.sleep(self._seconds)
