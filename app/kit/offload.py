"""Pure work on much text, off the event loop: beside it requests go on."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

OFFLOAD_BYTES: Final = 64 * 1024
REST_FACTOR: Final = 3.0  # under a full load a fifth of the process's time goes into what nobody waits for
REST_SECONDS_MAX: Final = 1.0


async def offloaded(work: Callable[[], T], *, size: int) -> T:
    """What ``work`` answers or raises; ``size``, in bytes or characters, tells whether it is worth a thread."""
    return await asyncio.to_thread(work) if size > OFFLOAD_BYTES else work()


async def aside(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What ``work`` answers or raises, where no request waits for it: one after the other, and giving way to requests.

    Two threads would only take the interpreter from each other, and both of them from the event loop.
    """
    turn = partial(_LANE.run, partial(work, *args, **kwargs))
    return await asyncio.get_running_loop().run_in_executor(_THREAD, turn)


def others_seconds() -> float:
    """CPU time that all other threads of this process have taken."""
    return time.process_time() - time.thread_time()


class Lane:
    """Work behind each other. Where others computed beside it, it rests REST_FACTOR times as long before the next."""

    def __init__(
        self,
        *,
        others: Callable[[], float] = others_seconds,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._others = others
        self._monotonic = monotonic
        self._sleep = sleep
        self._rests_until = monotonic()

    def run(self, work: Callable[[], T]) -> T:
        self._sleep(max(0.0, self._rests_until - self._monotonic()))
        before = self._others()
        try:
            return work()
        finally:
            rest = REST_FACTOR * (self._others() - before)
            self._rests_until = self._monotonic() + min(REST_SECONDS_MAX, rest)


_THREAD: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="daybook-aside")
_LANE: Final = Lane()
