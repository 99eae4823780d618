"""Handlers of signals that end a process through every ``finally``, so that what it started is stopped."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


def leave_when_told() -> None:
    """Let SIGTERM, or SIGHUP of a closed terminal, end this process by SystemExit. Call it from the main thread."""
    signal.signal(signal.SIGTERM, _leave)
    hang_up_as_told()


def hang_up_as_told() -> None:
    """Treat SIGHUP, sent when the terminal is closed, as SIGTERM, unless it is ignored (``nohup``)."""
    if sys.platform != "win32" and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda _number, _frame: signal.raise_signal(signal.SIGTERM))


@contextmanager
def held(*signals: signal.Signals) -> Iterator[None]:
    """Block these signals until ``let_through`` or the end of the block; a process started meanwhile inherits that."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        let_through(*signals)


def let_through(*signals: signal.Signals) -> None:
    """Unblock these signals; pending ones are delivered now."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)


def _leave(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)  # the exit status that a shell reports for a signal
