"""Signals that end a process: it leaves through every ``finally``, so that what it started is stopped."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


def leave_when_told() -> None:
    """SIGTERM, or a terminal that is closed, ends this process as Ctrl-C does. For the main thread."""
    signal.signal(signal.SIGTERM, _leave)
    hang_up_as_told()


def hang_up_as_told() -> None:
    """SIGHUP, of a terminal that is closed, is SIGTERM; it stays nothing where it is ignored (``nohup``)."""
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda _number, _frame: signal.raise_signal(signal.SIGTERM))


@contextmanager
def held(*signals: signal.Signals) -> Iterator[None]:
    """These wait until ``let_through``, or the end of this; a process that is started meanwhile begins so too."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        let_through(*signals)


def let_through(*signals: signal.Signals) -> None:
    """What was held comes now."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)


def _leave(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)  # as a shell tells it
