"""Pure work on much text, off the event loop, so that requests go on."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final, ParamSpec, TypeVar

from app.kit.beside import Beside

P = ParamSpec("P")
T = TypeVar("T")

OFFLOAD_BYTES: Final = 64 * 1024
UNKNOWN: Final = 2 * OFFLOAD_BYTES  # the size of work that may take long however little text there is

_BESIDE: Final = Beside()


async def offloaded(work: Callable[[], T], *, size: int) -> T:
    """What ``work`` answers or raises; ``size``, in bytes or characters, tells whether it is worth a thread."""
    return await asyncio.to_thread(work) if size > OFFLOAD_BYTES else work()


async def aside(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What ``work`` answers or raises, if no request waits for it: one after the other, large work in another process.

    ``work`` has no side effects; it is pickled with its arguments, and so is its answer.
    """
    return await asyncio.wrap_future(_BESIDE.submit(partial(work, *args, **kwargs)))
