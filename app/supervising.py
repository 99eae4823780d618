"""Several processes on one socket: one that ends or hangs is replaced, whatever the others are at.

Uvicorn's own supervisor waits for the answer of one process after the other, up to a minute each. Meanwhile it replaces
no other and hears no signal. And it ends the service with the first process that cannot start, as while the database is
away none can that takes the place of a killed one.
"""

import signal
import time

import structlog
import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import Multiprocess, Process

log = structlog.get_logger("daybook")

AGAIN_SECONDS = 5.0  # from the start of a process that could not start to the next one's


class Supervisor(Multiprocess):
    """Processes that serve. SIGHUP replaces one after the other."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config, sockets=[config.bind_socket()])
        self._has_served = False  # whether any process is known to have: then what keeps one from it may pass
        self._has_given_up = False
        self._began: dict[Process, float] = {}  # of those that took another's place
        self._asked: dict[Process, float] = {}  # since when an answer is waited for
        for ending in (signal.SIGINT, signal.SIGTERM):
            signal.signal(ending, lambda *_: self.should_exit.set())  # at once, also while processes are replaced

    def serve(self) -> bool:
        """Until told to end. Answers whether it did so, and not because no process could start."""
        self.run()
        for listening in self.sockets:
            listening.close()
        return not self._has_given_up

    def keep_subprocess_alive(self) -> None:
        """Look at each once, and wait for none."""
        now = time.monotonic()
        for place, process in enumerate(self.processes):
            if self.should_exit.is_set() or self._is_well(process, now):
                continue
            could_start = process.exitcode != STARTUP_FAILURE
            if not could_start and not self._has_served and process not in self._began:
                self._has_given_up = True
                self.should_exit.set()
            elif could_start or now >= self._began.get(process, 0.0) + AGAIN_SECONDS:
                self._replace(place, process, now)

    def _is_well(self, process: Process, now: float) -> bool:
        if not process.process.is_alive():
            return False
        try:
            if process not in self._asked:
                process.parent_conn.send(b"ping")
                self._asked[process] = now
            elif process.parent_conn.poll(0):
                self._has_served = process.parent_conn.recv() or self._has_served
                del self._asked[process]
        except (OSError, EOFError):  # it has just ended
            return False
        return now - self._asked.get(process, now) < self.config.timeout_worker_healthcheck

    def _replace(self, place: int, process: Process, now: float) -> None:
        process.kill()  # it may hang
        process.join()
        log.warning("worker_replaced", pid=process.pid, exit_code=process.exitcode)
        self._asked.pop(process, None)
        self._began.pop(process, None)
        self.processes[place] = Process(self.config, self.sockets)
        self.processes[place].start()
        self._began[self.processes[place]] = now
