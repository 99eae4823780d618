"""Non-blocking writes of lines to a pipe or a socket, even if its reader stops, such as a log collector that hangs.

A write to a full pipe blocks the event loop, all requests and the end of the process. So a line is written at once only
if the system says that there is room. Otherwise it waits in memory for a thread that writes it; over a bound, lines are
dropped and counted. A process that ends waits a moment for that thread, because the last lines say why it ends.
"""

import atexit
import os
import select
import stat
import threading
from collections import deque
from functools import cache
from typing import Final

import structlog

log = structlog.get_logger("daybook")

WAITING_BYTES_MAX: Final = 1024 * 1024
END_SECONDS: Final = 1.0


def may_hang(descriptor: int) -> bool:
    """Whether the descriptor is a pipe or a socket, so that another process reads it."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


@cache
def nonblocking_stream(descriptor: int, *, waiting_bytes_max: int) -> "NonBlockingStream":
    """The stream of this descriptor and bound, one per process: two would write into each other's lines.

    At the exit of the process waiting lines are written for END_SECONDS at most, because the reader may have stopped.
    """
    stream = NonBlockingStream(descriptor, waiting_bytes_max=waiting_bytes_max)
    atexit.register(stream.end, END_SECONDS)
    return stream


class NonBlockingStream:
    """A text stream, as far as logging needs one. Lines keep their order."""

    def __init__(self, descriptor: int, *, waiting_bytes_max: int = WAITING_BYTES_MAX) -> None:
        self._descriptor = descriptor
        self._waiting_bytes_max = waiting_bytes_max
        self._room = select.poll()
        self._room.register(descriptor, select.POLLOUT)
        self._lock = threading.RLock()  # a signal handler may log while its own thread does
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._lost = 0
        self._is_behind = False  # whether the thread is writing waiting lines
        self._thread: threading.Thread | None = None

    def write(self, text: str) -> int:
        """Write the text, now or later. Raises OSError if the reader is gone."""
        line = text.encode(errors="backslashreplace")
        with self._lock:
            if not self._is_behind and self._has_room(len(line)):
                line = _unwritten(self._descriptor, line)
            if not line:
                return len(text)
            if self._bytes + len(line) > self._waiting_bytes_max:
                self._lost += 1
            else:
                self._waiting.append(line)
                self._bytes += len(line)
                self._begin()
        return len(text)

    def flush(self) -> None:
        """Nothing to do: a line waits only while it cannot be written."""

    def end(self, seconds: float) -> None:
        """Wait at most so long until the waiting lines are written."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _has_room(self, size: int) -> bool:
        """A ready descriptor takes so many bytes without waiting (``select.PIPE_BUF``)."""
        return size <= select.PIPE_BUF and bool(self._room.poll(0))

    def _begin(self) -> None:
        if not self._is_behind:
            self._is_behind = True
            self._thread = threading.Thread(target=self._catch_up, name="daybook-log", daemon=True)
            self._thread.start()

    def _catch_up(self) -> None:
        while (line := self._next()) is not None:
            try:
                while line := _unwritten(self._descriptor, line):
                    self._room.poll()
            except OSError:  # the reader is gone
                self._forget()

    def _next(self) -> bytes | None:
        """The next line to write; None if none is left, and new lines are written at once again."""
        with self._lock:
            lost, self._lost = (self._lost, 0) if not self._waiting else (0, self._lost)
            if lost:
                log.warning("log_lines_lost", lines=lost)  # this line then waits too
            if not self._waiting:
                self._is_behind = False
                return None
            line = self._waiting.popleft()
            self._bytes -= len(line)
            return line

    def _forget(self) -> None:
        with self._lock:
            self._waiting.clear()
            self._bytes = 0


def _unwritten(descriptor: int, line: bytes) -> bytes:
    """The rest of the line after one write. Another process with the pipe may have made it non-blocking."""
    try:
        return line[os.write(descriptor, line) :]
    except BlockingIOError:
        return line
