"""Starts the Postgres server of a run, and makes and empties the database of each worker.

The server is the embedded one with fsync off. A database is a clone of a migrated template.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg

from app.kit.db import DatabaseConfig
from app.kit.embedded import EmbeddedConfig, EmbeddedPostgres
from app.kit.migrate import upgrade
from app.kit.signals import leave_when_told
from app.recall.preparing import prepare_vectors

RUN = "PYTEST_XDIST_TESTRUNUID"
TEMPLATE = "daybook_template"
TABLES = (
    "api_keys",
    "artifacts",
    "facts",
    "resources",
    "messages",
    "message_terms",
    "message_vectors",
    "sessions",
    "session_configs",
    "memories",
    "memory_versions",
    "session_cursors",
    "observations",
    "reflections",
    "runs",
    "spending",
    "tenant_spending",
    "state_entries",
)


def run_folder() -> Path:
    """The folder of this run's server, which the server's user can enter, unlike pytest's own folders."""
    return Path(tempfile.gettempdir()) / f"daybook-tests-{os.getuid()}-{os.environ[RUN]}"


@contextmanager
def run_server() -> Iterator[str]:
    """DSN of the run's server; the first process starts it, and the last to leave stops it."""
    folder = run_folder()
    folder.mkdir(mode=0o755, exist_ok=True)
    folder.chmod(0o755)
    server = EmbeddedPostgres(EmbeddedConfig(data_dir=folder / "data", fsync=False))
    server.start()
    try:
        yield server.dsn
    finally:
        server.stop()


@contextmanager
def own_server(name: str) -> Iterator[str]:
    """DSN of a server for a run outside pytest; removed at the end, also if a signal ends the run."""
    leave_when_told()
    os.environ[RUN] = f"{name}-{os.getpid()}"
    compile_once()
    try:
        with run_server() as dsn:
            yield dsn
    finally:
        shutil.rmtree(run_folder(), ignore_errors=True)


def compile_once() -> None:
    """If Python is told to write no bytecode, share a bytecode cache among the processes that tests start.

    A service then starts in less than half of the time.
    """
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        os.environ["PYTHONPYCACHEPREFIX"] = str(run_folder() / "compiled")


def dsn_of(server: str, name: str) -> str:
    """DSN of a database on the server."""
    return server.replace("/postgres?", f"/{name}?", 1)


async def clone(server: str, name: str) -> str:
    """DSN of a new database, cloned from the migrated template; one worker at a time."""
    with (run_folder() / "template.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        connection = await asyncpg.connect(server)
        try:
            if not await connection.fetchval("SELECT true FROM pg_database WHERE datname = $1", TEMPLATE):
                await connection.execute(f"CREATE DATABASE {TEMPLATE}_making")
                making = dsn_of(server, f"{TEMPLATE}_making")
                await upgrade(making)
                await prepare_vectors(DatabaseConfig(url=making), make=True)
                await connection.execute(f"ALTER DATABASE {TEMPLATE}_making RENAME TO {TEMPLATE}")
            await connection.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE} STRATEGY FILE_COPY")
        finally:
            await connection.close()
    return dsn_of(server, name)


EMPTY = "; ".join(f"DELETE FROM {table}" for table in TABLES)  # noqa: S608 - our own table names


EMPTYING = "daybook-tests-emptying"


class Emptying:
    """Deletes every row of a database, over a connection that it keeps: a new one would take five times as long."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: Any = None

    async def __call__(self) -> None:
        if self._connection is None or self._connection.is_closed():
            self._connection = await asyncpg.connect(self._url, server_settings={"application_name": EMPTYING})
        await self._connection.execute(EMPTY)

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()
