"""Runs the service: the database first, then one process or several, in reverse at the end."""

import asyncio
import gc
import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import asyncpg
import structlog
import uvicorn
from fastapi import FastAPI

from app import VERSION
from app.choosing import chosen_models
from app.configs import configured, database_config
from app.diagnostics.service import DiagnosticsService
from app.keys.store import KeyStore
from app.kit import migrate as schema
from app.kit.auth import LOOPBACK_HOSTS
from app.kit.connection import ConnectionConfig, connection_options
from app.kit.db import Database, check_server
from app.kit.errors import StartError, first_line
from app.kit.logging import configure
from app.kit.postgres_folder import EmbeddedError
from app.kit.signals import hang_up_as_told
from app.llm.port import Provider
from app.main import Location, create_app
from app.recall.store import check_search
from app.recall.vector_store import prepare_vectors
from app.securing import secure
from app.settings import Settings, without_password
from app.supervising import Supervisor

if TYPE_CHECKING:
    from app.kit.embedded import EmbeddedPostgres

log = structlog.get_logger("daybook")

KEEP_UP_SECONDS = 1.0
# How long a thread may keep the interpreter from the event loop, which asks for it anew after each wait: the built-in
# memory observes in threads. With Python's own 5 ms the p95 of an append beside such work is twice as long.
SWITCH_SECONDS = 0.0005
# The garbage collector runs once in so many objects that were made and kept. At Python's own 700 it runs many times in
# one step of the memory, each hundredth time over all that was made since the start (docs/benchmarks/profile.md).
GARBAGE_EVERY = 10_000
WORKER_SECONDS = 60  # for one of several processes to start, or to answer, on a machine that is busy
WORKER_SPARE_SECONDS = 4  # for one to end, beyond what its requests and then its steps get: 26 of an orchestrator's 30


class NoDatabase(StartError):
    """The folder has no embedded database, which a command that only looks at one does not make."""


class Keys(StrEnum):
    """Whether callers need a key; the value is what the log says."""

    NONE = "local mode, no key needed"
    UNUSABLE = "key needed, and none is valid: run 'daybook keys create'"
    VALID = "key needed"


def serve(settings: Settings) -> None:
    """Serve until SIGINT or SIGTERM. Raises StartError: one clear line."""
    log_to_stderr(settings)
    _refuse_taken_port(settings)
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, _leave)
    hang_up_as_told()
    with located(settings, exclusive=True, begins=True) as database:
        asyncio.run(_prepare(settings, database))
        keys = asyncio.run(_keys(settings, database))
        _refuse_open_host(settings, keys)
        create_app(settings, database)  # what keeps it from being built is told here, and not by each worker
        _tell(settings, database, keys)
        if settings.workers == 1:
            uvicorn.Server(_served(settings, database)).run()
        else:
            _supervise(settings, _served(settings, database))


def migrate(settings: Settings, *, secured_for: str | None = None) -> None:
    """Bring the database up to this version's schema; then secure it for a role, where asked to.

    Raises StartError.
    """
    log_to_stderr(settings)
    with located(settings, exclusive=False, begins=True) as database:
        asyncio.run(_upgrade(settings, database))
        if secured_for is not None:
            done = asyncio.run(secure(database_config(settings, database.url), secured_for))
            log.info("secured", role=secured_for, statements=len(done))


def log_to_stderr(settings: Settings) -> None:
    """Have every line of the log go there: what a command answers is alone on stdout."""
    json = not sys.stderr.isatty() if settings.log_json is None else settings.log_json
    configure(json=json, level=settings.log_level, waiting_bytes_max=settings.log_waiting_bytes_max)


@contextmanager
def located(settings: Settings, *, exclusive: bool, begins: bool = False) -> Iterator[Location]:
    """The database to use: the one that is configured, or the embedded one, which runs as long as it is used.

    Raises NoDatabase where there is no embedded one yet, unless ``begins``: it is then made.
    """
    if settings.database_url is not None:
        yield Location(url=settings.database_url, name=without_password(settings.database_url))
        return
    if settings.env == "production" and not settings.allow_embedded:
        raise StartError(
            "DAYBOOK_ENV is production and DAYBOOK_DATABASE_URL is not set:"
            " set it, or DAYBOOK_ALLOW_EMBEDDED=1 to keep the data in the embedded database"
        )
    from app.kit.embedded import EmbeddedConfig, EmbeddedPostgres, default_data_dir
    from app.kit.postgres_folder import newest_cluster

    folder = settings.data_dir or default_data_dir(Path.cwd())
    if not begins and newest_cluster(folder) is None:
        raise NoDatabase(
            f"there is no database in {folder}: name its folder by --data-dir or DAYBOOK_DATA_DIR;"
            " 'daybook serve' or 'daybook migrate' begins one"
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
    """The database for a command. Raises StartError: it is not to be had, refuses what is asked of it, or went away."""
    pool = Database(database_config(settings, database.url))
    await pool.open()
    try:
        yield pool
    except (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, TimeoutError) as error:
        raise StartError(f"the database of DAYBOOK_DATABASE_URL: {first_line(error)}") from error
    finally:
        await pool.close()


@contextmanager
def _kept_up(embedded: "EmbeddedPostgres") -> Iterator[None]:
    """Meanwhile look every second whether the server is still there, and start it again if not."""
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


async def _prepare(settings: Settings, database: Location) -> None:
    config = database_config(settings, database.url)
    if settings.migrate == "auto":
        await _upgrade(settings, database)
    else:
        await check_server(config)
        if settings.embeddings.provider is not None:
            await prepare_vectors(config, make=False)
    if config.row_level_security:
        await check_search(config)


async def _upgrade(settings: Settings, database: Location) -> None:
    config = database_config(settings, database.url)
    await check_server(config)
    await schema.upgrade(database.url)
    if settings.embeddings.provider is not None:
        await prepare_vectors(config, make=True)


def _tell(settings: Settings, database: Location, keys: Keys) -> None:
    chosen = chosen_models(settings)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    log.info(
        "starting",
        version=VERSION,
        url=f"http://{host}:{settings.port}",
        workers=settings.workers,
        database=database.name,
        observer=chosen.observer.label,
        reflector=chosen.reflector.label,
        embeddings=settings.embeddings.provider,
        keys=keys.value,
    )
    if Provider.EXTRACTIVE in {chosen.observer.provider, chosen.reflector.provider}:
        log.info("no_model", hint="the built-in extractive memory is in use; set ANTHROPIC_API_KEY or OPENAI_API_KEY")


def _served(settings: Settings, database: Location) -> uvicorn.Config:
    return uvicorn.Config(
        partial(worker_app, settings, database),
        factory=True,
        workers=settings.workers,
        timeout_worker_healthcheck=WORKER_SECONDS,
        host=settings.host,
        port=settings.port,
        loop="uvloop",
        **connection_options(configured(ConnectionConfig, settings.http)),
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_grace(settings),
    )


def _grace(settings: Settings) -> int:
    """Seconds for the answers that are owed at the end; then again as many for the steps of the memory."""
    return round(settings.engine.grace_seconds) + 1


def _supervise(settings: Settings, config: uvicorn.Config) -> None:
    """Serve by several processes on one socket."""
    if not Supervisor(config, end_seconds=2 * _grace(settings) + WORKER_SPARE_SECONDS).serve():
        raise StartError("a worker process could not start; its log says why")


def worker_app(settings: Settings, database: Location) -> FastAPI:
    """The service as one process runs it, made within that process once uvicorn's signal handlers are in place.

    At the end uvicorn waits for the answers it still owes. Streams of events, which never end by themselves, are told
    to end before that.
    """
    log_to_stderr(settings)
    sys.setswitchinterval(SWITCH_SECONDS)
    _end_with_parent()
    app = create_app(settings, database)
    gc.set_threshold(GARBAGE_EVERY)
    gc.freeze()  # what is there now stays; to look through it again and again holds all requests up (profile.md)
    diagnostics: DiagnosticsService = app.state.diagnostics
    for ending in (signal.SIGINT, signal.SIGTERM):
        _call_first(ending, diagnostics.leave)
    hang_up_as_told()
    return app


def _call_first(ending: signal.Signals, called: Callable[[], None]) -> None:
    """At this signal, before the handler that it has now."""
    handler = signal.getsignal(ending)

    def first(number: int, frame: FrameType | None) -> None:
        called()
        if callable(handler):
            handler(number, frame)

    signal.signal(ending, first)


def _end_with_parent() -> None:
    """End this process when the one that supervises it was killed: it would hold the socket for ever."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="daybook-end-with-parent", daemon=True).start()


def _leave(_signal: int, _frame: object) -> None:
    """Before and after uvicorn's own handlers: leave through every ``finally``, so that the database is stopped."""
    raise SystemExit(0)


async def _keys(settings: Settings, database: Location) -> Keys:
    """Which keys there are."""
    if settings.bootstrap_key is not None:
        return Keys.VALID
    async with opened(settings, database) as pool:
        store = KeyStore(pool)
        if await store.is_empty():
            return Keys.NONE
        return Keys.VALID if await store.has_usable() else Keys.UNUSABLE


def _refuse_open_host(settings: Settings, keys: Keys) -> None:
    if keys is not Keys.VALID and settings.host not in LOOPBACK_HOSTS:
        raise StartError(
            f"without a key only loopback is served, not {settings.host}: set DAYBOOK_BOOTSTRAP_KEY (16 characters or"
            " more), or make one by 'daybook keys create', or set DAYBOOK_HOST=127.0.0.1"
        )


def _refuse_taken_port(settings: Settings) -> None:
    """Before a database is started for nothing. Uvicorn binds the port later, and does not tell of it in one line."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        socket.create_server((settings.host, settings.port), family=family).close()
    except OSError as error:
        raise StartError(
            f"cannot listen on {settings.host} port {settings.port}: {error.strerror}:"
            " set DAYBOOK_PORT, or DAYBOOK_HOST, to one that is free"
        ) from error
