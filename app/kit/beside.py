"""One process beside this one, for pure work that no request waits for: each computes one thing of Python at a time.

It is started for the first work, gives way to requests, and ends when there was nothing to do for a while, or when this
process ends, however that does: then nobody holds the other end of its pipe. Why it is no pool of a library:
docs/decisions/0042-work-beside-requests-has-a-process.md.
"""

import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Final, TypeAlias, TypeVar

T = TypeVar("T")
Wanted: TypeAlias = tuple[Future[Any], Callable[[], Any]]

NICENESS: Final = 10  # a tenth of a processor that others want whole
IDLE_SECONDS: Final = 60.0
ANSWER_SECONDS: Final = 120.0  # then it hangs: of the largest span it thinks for a fifth of one
SMALL_BYTES: Final = 4 * 1024  # ten messages are observed in 4 ms: in the thread, without a process
TRIES: Final = 2  # of work whose process was killed, or hung: it has no effect, so that it can be done again
STANDARD_INPUT: Final = 0


class ProcessLost(Exception):
    """Each process that was given this work ended, or was ended, before it had an answer."""


class Beside:
    """Work behind each other, in a process that is ended after ``idle_seconds`` without any. A thread waits for it."""

    def __init__(self, *, idle_seconds: float = IDLE_SECONDS, answer_seconds: float = ANSWER_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._answer_seconds = answer_seconds
        self._wanted: SimpleQueue[Wanted] = SimpleQueue()
        self._starting = Lock()
        self._thread: Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None

    @property
    def pid(self) -> int | None:
        """Of the process; None while there is none."""
        return None if self._process is None else self._process.pid

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """What ``work`` will answer or raise, or ProcessLost."""
        future: Future[T] = Future()
        self._wanted.put((future, work))
        with self._starting:
            if self._thread is None:
                self._thread = Thread(target=self._serve, name="daybook-beside", daemon=True)
                self._thread.start()
        return future

    def _serve(self) -> None:
        while True:
            try:
                future, work = self._wanted.get(timeout=None if self._process is None else self._idle_seconds)
            except Empty:
                self._end()
                continue
            if future.set_running_or_notify_cancel():
                self._answer(future, work)

    def _answer(self, future: Future[Any], work: Callable[[], Any]) -> None:
        try:
            future.set_result(self._done(work))
        except Exception as error:  # noqa: BLE001 - it is told to who asked
            future.set_exception(error)

    def _done(self, work: Callable[[], Any]) -> Any:
        asked = pickle.dumps(work, pickle.HIGHEST_PROTOCOL)
        if len(asked) <= SMALL_BYTES:
            return work()
        for _ in range(TRIES):
            try:
                well, answer = self._exchanged(asked)
            except (EOFError, OSError):  # it was killed, or hangs
                self._end()
                continue
            if well:
                return answer
            raise answer
        raise ProcessLost(f"the process beside the service was lost {TRIES} times at the same work")

    def _exchanged(self, asked: bytes) -> tuple[bool, Any]:
        pipe = self._pipe or self._start()
        pipe.send_bytes(asked)
        if not pipe.poll(self._answer_seconds):
            raise TimeoutError
        found: tuple[bool, Any] = pickle.loads(pipe.recv_bytes())  # noqa: S301 - our own process wrote it
        return found

    def _start(self) -> Connection:
        """Where this process imports from, and not from whatever folder it is in."""
        self._pipe, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - this module
                [sys.executable, "-P", "-m", __name__],
                stdin=theirs.fileno(),
                env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            )
        return self._pipe

    def _end(self) -> None:
        if self._process is not None and self._pipe is not None:
            self._pipe.close()
            self._process.kill()
            self._process.wait()
        self._process = self._pipe = None


def main() -> None:
    """Do what is asked on standard input, one after the other, until nobody is there to ask."""
    os.nice(NICENESS)
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.SIG_IGN)  # sent to all processes of a service, whose steps are not done yet
    pipe = Connection(STANDARD_INPUT)
    with suppress(EOFError, OSError):
        while True:
            pipe.send_bytes(_told(pipe.recv_bytes()))


def _told(asked: bytes) -> bytes:
    """Whether the work went well, and what it answered or raised."""
    try:
        return pickle.dumps((True, pickle.loads(asked)()), pickle.HIGHEST_PROTOCOL)  # noqa: S301 - our own parent wrote it
    except Exception as error:  # noqa: BLE001 - it is told to who asked
        error.add_note(traceback.format_exc())
        return pickle.dumps((False, error), pickle.HIGHEST_PROTOCOL)


if __name__ == "__main__":
    main()
