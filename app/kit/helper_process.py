"""A helper process for pure, CPU-bound work that no request waits for, as the GIL would hold up every request.

It is started for the first work, runs at a lower priority, and ends after a while without work, or when this process
ends in any way, because that closes its pipe. Why it is not a library's pool:
docs/decisions/0042-helper-process.md.
"""

import asyncio
import os
import pickle
import subprocess
import sys
from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable
from concurrent.futures import Future
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from threading import Lock, Thread, Timer
from typing import Any, Final, TypeVar

T = TypeVar("T")

PROGRAM: Final = "app.kit.helper_main"
IDLE_SECONDS: Final = 60.0
ANSWER_SECONDS: Final = 120.0  # after which the process counts as hung: the largest span takes a fifth of a second
SMALL_BYTES: Final = 4 * 1024  # work up to this size is done in the thread: ten messages are observed in 4 ms
TRIES: Final = 2  # of work whose process was killed, or hung: it has no side effects, so it can be repeated


class ProcessLost(Exception):
    """Each helper process that was given this work died, or was killed, before it answered."""


class HelperProcess:
    """Does one piece of work after the other in a process, which is ended after ``idle_seconds`` without work.

    A thread with an event loop of its own waits for the process, and passes on whatever the work raises.
    """

    def __init__(self, *, idle_seconds: float = IDLE_SECONDS, answer_seconds: float = ANSWER_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._answer_seconds = answer_seconds
        self._starting = Lock()
        self._loop: AbstractEventLoop | None = None
        self._ending: TimerHandle | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None

    @property
    def pid(self) -> int | None:
        """The pid of the process; None while there is none."""
        return None if self._process is None else self._process.pid

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """A future of what ``work`` returns or raises, or ProcessLost."""
        return asyncio.run_coroutine_threadsafe(self._answer(work), self._running())

    def _running(self) -> AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                Thread(target=self._loop.run_forever, name="daybook-helper", daemon=True).start()
            return self._loop

    async def _answer(self, work: Callable[[], T]) -> T:
        """Do the work. Awaits nothing, so that one piece of work is done after the other."""
        if self._ending is not None:
            self._ending.cancel()
        try:
            return self._done(work)
        finally:
            self._ending = asyncio.get_running_loop().call_later(self._idle_seconds, self._end)

    def _done(self, work: Callable[[], T]) -> T:
        asked = pickle.dumps(work, pickle.HIGHEST_PROTOCOL)
        if len(asked) <= SMALL_BYTES:
            return work()
        for _ in range(TRIES):
            try:
                well, answer = self._exchanged(asked)
            except (EOFError, OSError):  # the process was killed, perhaps because it hung
                self._end()
                continue
            if not well:
                raise answer
            done: T = answer
            return done
        raise ProcessLost(f"the process beside the service was lost {TRIES} times at the same work")

    def _exchanged(self, asked: bytes) -> tuple[bool, Any]:
        """Whether the work succeeded, and its result or error. A process that does not answer in time is killed."""
        pipe = self._pipe or self._start()
        assert self._process is not None  # noqa: S101 - it has the other end of the pipe
        overdue = Timer(self._answer_seconds, self._process.kill)
        overdue.start()
        try:
            pipe.send_bytes(asked)
            found: tuple[bool, Any] = pickle.loads(pipe.recv_bytes())  # noqa: S301 - our own process wrote it
        finally:
            overdue.cancel()
        return found

    def _start(self) -> Connection:
        """Start the process. It imports from the same path as this one, and not from its working folder."""
        self._pipe, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-P", "-m", PROGRAM],
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
