"""Supervises several processes on one socket: replaces one that ends or hangs, whatever the others do.

Signals, pings and the start of processes are uvicorn's. Where its supervisor blocks, this one polls twice a second
(docs/decisions/0057-*).
"""

import signal
import time
from multiprocessing.resource_tracker import ensure_running
from socket import socket

import structlog
import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from app.kit.errors import StartError
from app.kit.signals import held

log = structlog.get_logger("daybook")

AGAIN_SECONDS = 5.0
LOOK_SECONDS = 0.05  # between polls of processes that are to end, when nothing else is left to do


class Worker(Process):
    """A worker process and its health."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket]) -> None:
        super().__init__(config, sockets)
        self.began = time.monotonic()
        self.has_served = False
        self.ends_until = 0.0  # when it is killed, if it was told to end
        self.ended_at = 0.0  # when it was first seen dead
        self.known_at = 0.0  # when the last answered ping was sent
        self._asked: float | None = None  # when the unanswered ping was sent

    def is_well(self, now: float) -> bool:
        """Whether it lives and has answered its pings in time. Sends one if none is open, and does not wait."""
        if not self.process.is_alive():
            self.ended_at = self.ended_at or now
            return False
        try:
            if self._asked is None:
                self.parent_conn.send(b"ping")
                self._asked = now
            elif self.parent_conn.poll(0):
                self.has_served = self.parent_conn.recv() or self.has_served
                self.known_at, self._asked = self._asked, None
        except (OSError, EOFError):  # the process has just ended
            return False
        return self._asked is None or now - self._asked < self.config.timeout_worker_healthcheck


class Supervisor(Multiprocess):
    """The worker processes. SIGHUP replaces one after the other, SIGTTIN adds one, SIGTTOU removes one.

    A process that is told to end has ``end_seconds``, then it is killed. A process that never served, or could not be
    started, is replaced ``again_seconds`` after that attempt.
    """

    def __init__(self, config: uvicorn.Config, *, end_seconds: float, again_seconds: float = AGAIN_SECONDS) -> None:
        super().__init__(config, sockets=[config.bind_socket()])
        self._end_seconds = end_seconds
        self._again_seconds = again_seconds
        self._workers: list[Worker] = []
        self._old: list[Worker] = []  # well, but to be replaced by a rolling restart
        self._next: Worker | None = None  # replaces the first of them once it serves
        self._leaving: list[Worker] = []
        self._has_served = False  # any process, ever: a later failure to start may then be temporary
        self._has_given_up = False

    def serve(self) -> bool:
        """Serve until told to end. False if it gave up before that, because no process could serve.

        Raises StartError: the system could not start a process.
        """
        try:
            self.run()
        finally:
            self.terminate_all()
            self.join_all()
            for listening in self.sockets:
                listening.close()
        return not self._has_given_up

    def init_processes(self) -> None:
        for _ in range(self.processes_num):
            self.handle_ttin()
        if len(self._workers) < self.processes_num:
            raise StartError("a worker process could not be started; the log says why")

    def keep_subprocess_alive(self) -> None:
        """Poll each process once, without waiting, and replace those that are not well."""
        now = time.monotonic()
        self._see_off(now)
        ill = [worker for worker in self._workers if not worker.is_well(now)]
        self._has_served = self._has_served or any(worker.has_served for worker in self._workers)
        for worker in ill:
            if worker.exitcode == STARTUP_FAILURE and not self._has_served:
                if all(other in ill or other.known_at >= worker.ended_at for other in self._workers):
                    self._has_given_up = True
                    self.should_exit.set()
            elif worker.has_served or now >= worker.began + self._again_seconds:
                self._replace(worker, now)
        self._roll(now)

    def restart_all(self) -> None:
        """Begin a rolling restart of every process, also those that have just been started."""
        self._old = list(self._workers)
        self._drop_next()

    def handle_ttin(self) -> None:
        worker = self._started()
        if worker is not None:
            self._workers.append(worker)

    def handle_ttou(self) -> None:
        if len(self._workers) > 1:
            self._let_go(self._workers.pop())

    def terminate_all(self) -> None:
        self._drop_next()
        while self._workers:
            self._let_go(self._workers.pop())

    def join_all(self) -> None:
        while self._leaving:
            self._see_off(time.monotonic())
            time.sleep(LOOK_SECONDS)

    def _started(self) -> Worker | None:
        try:
            worker = Worker(self.config, self.sockets)
            ensure_running()  # before ``held``, because starting the tracker unblocks SIGINT
            with held(signal.SIGINT):  # a terminal sends it to every process; a worker unblocks it when it is ready
                worker.start()
        except OSError as error:  # too many processes or open files
            log.error("worker_not_started", error=str(error))  # noqa: TRY400 - the line says enough
            return None
        return worker

    def _replace(self, worker: Worker, now: float) -> None:
        fresh = self._started()
        if fresh is None:
            worker.began, worker.has_served = now, False
            return
        log.warning("worker_replaced", pid=worker.pid, exit_code=worker.exitcode)
        self._workers[self._workers.index(worker)] = fresh
        self._kill(worker)  # it may still run, and hang

    def _roll(self, now: float) -> None:
        """Take the next step of a rolling restart. A replacement starts once the last old process has ended."""
        self._old = [worker for worker in self._old if worker in self._workers]
        if not self._old:
            self._drop_next()
        elif self._next is None and not self._leaving:
            self._next = self._started()
            self._old = [] if self._next is None else self._old
        elif self._next is not None and self._next.has_served:
            self._workers[self._workers.index(self._old[0])] = self._next
            self._let_go(self._old[0])
            self._next = None
        elif self._next is not None and not self._may_yet_serve(self._next, now):
            log.error("worker_not_started", pid=self._next.pid, exit_code=self._next.exitcode)
            self._old = []
            self._drop_next()

    def _may_yet_serve(self, worker: Worker, now: float) -> bool:
        return worker.is_well(now) and now < worker.began + self.config.timeout_worker_healthcheck

    def _drop_next(self) -> None:
        if self._next is not None:
            self._kill(self._next)
            self._next = None

    def _let_go(self, worker: Worker) -> None:
        worker.terminate()
        worker.ends_until = time.monotonic() + self._end_seconds
        self._leaving.append(worker)

    def _kill(self, worker: Worker) -> None:
        worker.kill()
        worker.ends_until = float("inf")
        self._leaving.append(worker)

    def _see_off(self, now: float) -> None:
        for worker in self._leaving:
            if worker.process.is_alive() and now >= worker.ends_until:
                log.warning("worker_killed", pid=worker.pid)
                worker.ends_until = float("inf")
                worker.kill()
        self._leaving = [worker for worker in self._leaving if worker.process.is_alive()]
