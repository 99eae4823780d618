"""Runs the service on its database, and ends and restarts both, as an orchestrator would."""

import asyncio
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import assert_never

import psutil

from benchmarks.soak.schedule import Incident
from benchmarks.speed.surroundings import Postgres, postmaster
from tests.journeys.processes import Running, free_port, process

WORKERS = 2
READY_SECONDS = 60.0


class Ground:
    """The service and its database. ``service`` is the one that runs now; each uses the same port."""

    def __init__(self, database: Postgres, environment: Mapping[str, str], stack: AsyncExitStack) -> None:
        self.port = free_port()
        self.database = database
        self.service: Running
        self._environment = environment
        self._stack = stack

    async def start(self) -> None:
        self.service = await self._stack.enter_async_context(process(self._environment, port=self.port))

    def workers(self) -> list[psutil.Process]:
        """The worker processes, without their supervisor."""
        children = psutil.Process(self.service.child.pid).children()
        return [child for child in children if child.is_running() and "spawn_main" in " ".join(child.cmdline())]

    async def befall(self, incident: Incident) -> None:
        """Cause an incident. Returns when the ended process is back, or its supervisor is restarting it."""
        match incident:
            case Incident.WORKER_KILLED:
                self.workers()[0].kill()
            case Incident.ROLLING_RESTART:
                self.service.send(signal.SIGHUP)
            case Incident.DATABASE_RESTARTED:
                await self._end_database(signal.SIGINT)
            case Incident.DATABASE_CRASHED:
                await self._end_database(signal.SIGQUIT)
            case Incident.SERVICE_KILLED:
                await self._kill_all()
                await self.start()
            case _ as never:
                assert_never(never)

    async def _kill_all(self) -> None:
        """Kill all processes, as the end of a container does: workers that outlive their supervisor hold the port."""
        workers = psutil.Process(self.service.child.pid).children(recursive=True)
        await self.service.kill()
        for worker in workers:
            with suppress(psutil.NoSuchProcess):
                worker.kill()
        await asyncio.to_thread(psutil.wait_procs, workers, READY_SECONDS)

    async def _end_database(self, how: signal.Signals) -> None:
        """Restart Postgres. SIGINT: a fast shutdown with its data written; SIGQUIT: as a crash, with WAL recovery."""
        pid, _ = await postmaster(self.database.dsn)
        server = psutil.Process(pid)
        server.send_signal(how)
        await asyncio.to_thread(server.wait, READY_SECONDS)
        await asyncio.to_thread(self.database.server.keep_up)


@asynccontextmanager
async def ground(database: Postgres, environment: Mapping[str, str]) -> AsyncIterator[Ground]:
    async with AsyncExitStack() as stack:
        found = Ground(database, {**environment, "DAYBOOK_WORKERS": str(WORKERS)}, stack)
        await found.start()
        yield found
