"""Work for the tests of the helper process; the unused ``PADDING`` makes it large enough to be sent there."""

import os
import signal
from threading import Event

from app.kit.helper_process import SMALL_BYTES

PADDING = bytes(SMALL_BYTES)


def place(_padding: bytes = PADDING) -> tuple[int, int]:
    """The pid of the process that works, and its niceness."""
    return os.getpid(), os.nice(0)


def fail(what: str, _padding: bytes = PADDING) -> None:
    raise LookupError(what)


def die(_padding: bytes = PADDING) -> None:
    """Die as a process that ran out of memory."""
    os.kill(os.getpid(), signal.SIGKILL)


def hang(_padding: bytes = PADDING) -> None:
    Event().wait()
