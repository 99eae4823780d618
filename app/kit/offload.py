"""Runs pure work on long texts outside the event loop, so that requests go on."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final, ParamSpec, TypeVar

from app.kit.helper_process import HelperProcess

P = ParamSpec("P")
T = TypeVar("T")

OFFLOAD_BYTES: Final = 64 * 1024
UNKNOWN: Final = 2 * OFFLOAD_BYTES  # for work that may take long however short the text

_HELPER: Final = HelperProcess()


async def offloaded(work: Callable[[], T], *, size: int) -> T:
    """What ``work`` returns or raises; runs in a thread if ``size`` (bytes or characters) is over OFFLOAD_BYTES."""
    return await asyncio.to_thread(work) if size > OFFLOAD_BYTES else work()


async def aside(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What ``work`` returns or raises, run in the helper process if it is large: for work that no request waits for.

    ``work`` has no side effects; it is pickled with its arguments, and so is its result.
    """
    return await asyncio.wrap_future(_HELPER.submit(partial(work, *args, **kwargs)))
