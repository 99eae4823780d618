"""Runs the service as a process of its own, started as an operator starts it, and ended by its pid."""

import asyncio
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import httpx2 as httpx

from tests.conftest import Service
from tests.journeys.looks import until

PROJECT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "app.cli")
START_SECONDS, END_SECONDS = 180.0, 30.0


class Running(Service):
    """A service in a process of its own; its log goes to ``log_file``."""

    def __init__(self, url: str, client: httpx.AsyncClient, child: Process, log_file: Path) -> None:
        super().__init__(url, client, None)
        self.child = child
        self._log_file = log_file

    @property
    def log(self) -> str:
        return self._log_file.read_text(encoding="utf-8")

    def send(self, what: signal.Signals) -> None:
        self.child.send_signal(what)

    async def ended(self) -> int:
        """Wait for the end; returns the exit code."""
        return await asyncio.wait_for(self.child.wait(), END_SECONDS)

    async def kill(self) -> None:
        self.send(signal.SIGKILL)
        await self.ended()

    async def ready(self) -> bool:
        """Whether it answers requests. Fails if the process has ended."""
        assert self.child.returncode is None, self.log
        try:
            return (await self.client.get("/healthz")).status_code == httpx.codes.OK
        except httpx.TransportError:
            return False


@asynccontextmanager
async def process(
    environment: Mapping[str, str], *, port: int | None = None, log_to: int | None = None, by: Sequence[str] = ()
) -> AsyncIterator[Running]:
    """``daybook serve`` with these variables, once it answers; killed at the end if it still runs.

    ``log_to``: a descriptor for its log instead of the file; ``by``: a command prefix that executes it.
    """
    port = port or free_port()
    url = f"http://127.0.0.1:{port}"
    with tempfile.NamedTemporaryFile(suffix=".log") as log_file:
        child = await asyncio.create_subprocess_exec(
            *(*by, *COMMAND, "serve", "--port", str(port)),
            cwd=PROJECT,
            env=surroundings(environment),
            stdout=subprocess.DEVNULL,
            stderr=log_file if log_to is None else log_to,
        )
        try:
            async with httpx.AsyncClient(base_url=url, timeout=60) as client:
                running = Running(url, client, child, Path(log_file.name))
                await until(running.ready, bool, seconds=START_SECONDS)
                yield running
        finally:
            if child.returncode is None:
                child.kill()
            await child.wait()


def command(*arguments: str, environment: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    """Run a ``daybook`` command to its end."""
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=PROJECT,
        env=surroundings(environment),
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
        check=False,
    )


def surroundings(environment: Mapping[str, str]) -> dict[str, str]:
    """The tests' environment without Daybook's variables, plus these."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("DAYBOOK_")}
    return {**inherited, **environment}


def free_port() -> int:
    """A free port, below the system's ephemeral ports, so that none takes it before the service does."""
    while True:
        port = random.randint(15_000, 30_000)  # noqa: S311 - a choice, no secret
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


@contextmanager
def reachable_folder() -> Iterator[Path]:
    """A folder that the embedded database's user may enter, unlike pytest's own when root runs the tests."""
    with tempfile.TemporaryDirectory(prefix="daybook-journey-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        folder.chmod(0o755)
        yield folder
