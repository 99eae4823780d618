"""Pure work on much text, off the event loop: beside it requests go on."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

OFFLOAD_BYTES = 64 * 1024


async def offloaded(work: Callable[[], T], *, size: int) -> T:
    """What ``work`` answers or raises; ``size``, in bytes or characters, tells whether it is worth a thread."""
    return await asyncio.to_thread(work) if size > OFFLOAD_BYTES else work()
