"""Waiting for what another process does, never for ever."""

import time
from collections.abc import Callable


def wait_until(holds: Callable[[], bool], *, seconds: float, look_seconds: float = 0.1) -> None:
    """Looks again and again. Raises TimeoutError once so many seconds have passed without it."""
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() >= until:
            raise TimeoutError(f"waited for {seconds:g} s in vain")
        time.sleep(look_seconds)
