"""What the tests of the process beside the service have done there: ``PADDING`` makes it large, and is not used."""

import os
import signal
from threading import Event

from app.kit.helper_process import SMALL_BYTES

PADDING = bytes(SMALL_BYTES)


def place(_padding: bytes = PADDING) -> tuple[int, int]:
    """The process that works, and its niceness."""
    return os.getpid(), os.nice(0)


def fail(what: str, _padding: bytes = PADDING) -> None:
    raise LookupError(what)


def die(_padding: bytes = PADDING) -> None:
    """As a process dies that ran out of memory."""
    os.kill(os.getpid(), signal.SIGKILL)


def hang(_padding: bytes = PADDING) -> None:
    Event().wait()
