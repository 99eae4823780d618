"""Locates and opens the data: the configured or the embedded database, and the object store."""

import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import asyncpg
import structlog

from app.artifacts.objects import Objects, open_objects
from app.kit.db import Database, DatabaseConfig, one_line
from app.kit.errors import StartError
from app.kit.logging import configure
from app.kit.postgres_folder import EmbeddedError
from app.settings import Settings, configured, without_password

if TYPE_CHECKING:
    from app.kit.embedded import EmbeddedPostgres

log = structlog.get_logger("daybook")

KEEP_UP_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A database: its DSN, and its name in logs and answers."""

    url: str
    name: str


class NoDatabase(StartError):
    """The folder has no embedded database, and this command does not create one."""


def log_to_stderr(settings: Settings) -> None:
    """Send all log lines to stderr, so that stdout has only the command's output."""
    json = not sys.stderr.isatty() if settings.log_json is None else settings.log_json
    configure(json=json, level=settings.log_level, waiting_bytes_max=settings.log_waiting_bytes_max)


@contextmanager
def located(settings: Settings, *, exclusive: bool, begins: bool = False) -> Iterator[Location]:
    """The database to use: the configured one, or the embedded one, which runs during the block.

    Raises NoDatabase if there is no embedded one yet, unless ``begins``, which creates it.
    """
    if settings.database_url is not None:
        yield Location(url=settings.database_url, name=without_password(settings.database_url))
        return
    if settings.env == "production" and not settings.allow_embedded:
        raise StartError(
            "DAYBOOK_ENV is production and DAYBOOK_DATABASE_URL is not set:"
            " set it, or DAYBOOK_ALLOW_EMBEDDED=1 to keep the data in the embedded database"
        )
    from app.kit.embedded import EmbeddedConfig, EmbeddedPostgres
    from app.kit.postgres_folder import default_data_dir, newest_cluster

    folder = settings.data_dir or default_data_dir(Path.cwd())
    if not begins and newest_cluster(folder) is None:
        raise NoDatabase(
            f"there is no database in {folder}: set its folder by --data-dir or DAYBOOK_DATA_DIR;"
            " 'daybook serve' or 'daybook migrate' creates one"
        )
    embedded = EmbeddedPostgres(
        EmbeddedConfig(data_dir=folder, binaries=settings.postgres_binaries, exclusive=exclusive)
    )
    embedded.start()
    try:
        with _kept_up(embedded):
            yield Location(url=embedded.dsn, name=embedded.description)
    finally:
        embedded.stop()


@asynccontextmanager
async def opened(settings: Settings, database: Location) -> AsyncIterator[Database]:
    """A pool for a command. Raises StartError: the database cannot be reached, refuses a statement, or went away."""
    pool = Database(database_config(settings, database.url))
    await pool.open()
    try:
        yield pool
    except (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, TimeoutError) as error:
        raise StartError(f"the database of DAYBOOK_DATABASE_URL: {one_line(error)}") from error
    finally:
        await pool.close()


@contextmanager
def _kept_up(embedded: "EmbeddedPostgres") -> Iterator[None]:
    """During the block, check every second that the server runs, and start it again if not."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(KEEP_UP_SECONDS):
            try:
                if embedded.keep_up():
                    log.warning("database_started_again")
            except EmbeddedError as error:
                log.error("database_gone", error=str(error))  # noqa: TRY400 - the line says what to do; try again

    watcher = threading.Thread(target=watch, name="daybook-keep-up", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def database_config(settings: Settings, url: str) -> DatabaseConfig:
    pool = settings.pool
    sizes = {"pool_min": min(pool.min, pool.max), "pool_max": pool.max}
    return configured(DatabaseConfig, pool, url=url, **sizes, row_level_security=settings.row_level_security)


def build_objects(settings: Settings, *, begins: bool = True) -> Objects | None:
    """The object store; None if the bytes are in the database. Raises StartError.

    ``begins``: whether an empty or missing folder is a new store (True) or a store that is not mounted (False).
    """
    chosen = settings.artifacts
    if chosen.url is None:
        return None
    return open_objects(chosen.url, concurrency=chosen.store_concurrency, begins=begins)
