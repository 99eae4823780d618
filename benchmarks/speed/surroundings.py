"""Starts what a run needs: Postgres with fsync on, the floor, and the service."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import asyncpg
import httpx2
import psutil

from app.kit.embedded import EmbeddedConfig, EmbeddedPostgres
from app.kit.signals import leave_when_told
from app.settings import PREFIX
from benchmarks.service import STOP_SECONDS_MAX, wait_until_ready
from benchmarks.speed.targets import KEY
from tests.journeys.processes import free_port

LOOK_SECONDS = 0.005
UNCOMPILED = ("PYTHONDONTWRITEBYTECODE",)  # it would have each start compile the service anew, unlike an operator's
MODEL_KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")  # a key in the environment would choose the provider


@dataclass(frozen=True, slots=True, kw_only=True)
class Postgres:
    """``dsn`` of the maintenance database, ``pid`` of the postmaster, whose children all others are."""

    dsn: str
    pid: int
    version: str
    server: EmbeddedPostgres

    async def database(self, name: str) -> str:
        """DSN of a new, empty database."""
        connection = await asyncpg.connect(self.dsn)
        try:
            await connection.execute(f"CREATE DATABASE {name}")
        finally:
            await connection.close()
        return self.dsn.replace("/postgres?", f"/{name}?", 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A started process: the seconds until its first answer, and its resident bytes then."""

    port: int
    pid: int
    start_seconds: float
    idle_rss: int


@asynccontextmanager
async def postgres() -> AsyncIterator[Postgres]:
    """The embedded Postgres, as the service starts it, in a folder that is removed at the end, also after a signal."""
    leave_when_told()
    folder = _folder()
    embedded = EmbeddedPostgres(EmbeddedConfig(data_dir=folder / "data"))
    embedded.start()
    try:
        pid, version = await postmaster(embedded.dsn)
        yield Postgres(dsn=embedded.dsn, pid=pid, version=version, server=embedded)
    finally:
        embedded.stop()
        shutil.rmtree(folder, ignore_errors=True)


async def postmaster(dsn: str) -> tuple[int, str]:
    """The postmaster's pid, and the server's version."""
    connection = await asyncpg.connect(dsn)
    try:
        backend, version = await connection.fetchrow("SELECT pg_backend_pid(), current_setting('server_version')")
        parent = psutil.Process(backend).parent()
    finally:
        await connection.close()
    assert parent is not None  # noqa: S101 - a backend has one
    return parent.pid, version


def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="daybook-speed-"))
    folder.chmod(0o755)  # the server may run as another user
    return folder


@contextmanager
def daybook(
    dsn: str, *, down: bool = False, workers: int = 1, settings: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Server]:
    """``daybook serve`` with a key and its access log, into a file. ``down``: its model cannot be reached."""
    gone = {"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{free_port()}"} if down else {}
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.upper().startswith(PREFIX) and name not in {*MODEL_KEYS, *UNCOMPILED}
    }
    ours = {f"{PREFIX}DATABASE_URL": dsn, f"{PREFIX}BOOTSTRAP_KEY": KEY}
    port = free_port()
    command = [sys.executable, "-m", "app.cli", "serve", "--port", str(port), "--workers", str(workers)]
    with server(command, port, {**inherited, **ours, **settings, **gone}) as served:
        yield served


@contextmanager
def floor(dsn: str) -> Iterator[Server]:
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.speed.floor", str(port)]
    with server(command, port, os.environ | {"FLOOR_DSN": dsn}) as served:
        yield served


@contextmanager
def server(command: list[str], port: int, environment: Mapping[str, str]) -> Iterator[Server]:
    """The command's process once it answers; terminated after the block. Raises as ``wait_until_ready``."""
    started = time.perf_counter()
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)  # noqa: S603 - our own modules
        try:
            with httpx2.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
                wait_until_ready(process, client, look_seconds=LOOK_SECONDS)
            seconds = time.perf_counter() - started
            idle = psutil.Process(process.pid).memory_info().rss
            yield Server(port=port, pid=process.pid, start_seconds=seconds, idle_rss=idle)
        finally:
            process.terminate()
            process.wait(STOP_SECONDS_MAX)
