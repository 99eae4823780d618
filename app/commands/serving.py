"""Runs the service: the database and its schema first, then one process or several, in reverse at the end."""

import asyncio
import gc
import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from types import FrameType

import structlog
import uvicorn
from fastapi import FastAPI
from uvicorn.config import STARTUP_FAILURE

from app import VERSION
from app.choosing import chosen_models, unused_models
from app.commands.migrating import prepare
from app.commands.supervising import Supervisor
from app.diagnostics.service import DiagnosticsService
from app.keys.store import KeyStore
from app.kit.auth import LOOPBACK_HOSTS
from app.kit.connection import ConnectionConfig, connection_options
from app.kit.errors import StartError
from app.kit.signals import hang_up_as_told, held, let_through
from app.llm.port import Provider
from app.locating import Location, located, log_to_stderr, opened
from app.main import create_app
from app.settings import Settings, configured

log = structlog.get_logger("daybook")

# How long a thread may keep the interpreter from the event loop, which asks for it anew after each wait: the built-in
# memory observes in threads. With Python's own 5 ms the p95 of an append beside such work is twice as long.
SWITCH_SECONDS = 0.0005
# The garbage collector runs once in so many objects that were made and kept. At Python's own 700 it runs many times in
# one step of the memory, each hundredth time over all that was made since the start (docs/benchmarks/profile.md).
GARBAGE_EVERY = 10_000
ENDINGS = (signal.SIGINT, signal.SIGTERM)
WORKER_SECONDS = 60  # for one of several processes to start, or to answer, on a machine that is busy
WORKER_SPARE_SECONDS = 4  # for one to end, beyond what its requests and then its steps get: 26 of an orchestrator's 30


class Keys(StrEnum):
    """Whether callers need a key; the value is what the log says."""

    NONE = "local mode, no key needed"
    UNUSABLE = "key needed, and none is valid: run 'daybook keys create'"
    VALID = "key needed"


def serve(settings: Settings) -> None:
    """Serve until SIGINT or SIGTERM. Raises StartError: one clear line."""
    log_to_stderr(settings)
    settings = settings.model_copy(update={"port": _free_port(settings)})
    for ending in ENDINGS:
        signal.signal(ending, _leave)
    hang_up_as_told()
    with located(settings, exclusive=True, begins=True) as database:
        asyncio.run(prepare(settings, database))
        keys = asyncio.run(_keys(settings, database))
        _refuse_open_host(settings, keys)
        create_app(settings, database)  # what keeps it from being built is told here, and not by each worker
        _tell(settings, database, keys)
        if settings.workers == 1:
            with held(*ENDINGS):  # until uvicorn's handlers are in place, and what it began can end
                _run(_served(settings, database))
        else:
            _supervise(settings, _served(settings, database))


def _run(config: uvicorn.Config) -> None:
    """Serve by this process."""
    try:
        uvicorn.Server(config).run()
    except SystemExit as ended:
        if ended.code == STARTUP_FAILURE:
            raise StartError("the service could not start; its log says why") from ended
        raise


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
    if unused := unused_models(settings):
        log.warning(
            "model_not_used", settings=unused, hint="no provider has a key, so the model they name is not asked"
        )


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
    for ending in ENDINGS:
        _call_first(ending, diagnostics.leave)
    hang_up_as_told()
    let_through(*ENDINGS)
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


def _free_port(settings: Settings) -> int:
    """The port; of 0 one that the system chooses.

    It is looked at before a database is started for nothing. Uvicorn binds it later, and tells in no line that it is
    taken, or which one was chosen.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        with socket.create_server((settings.host, settings.port), family=family) as listening:
            port: int = listening.getsockname()[1]
            return port
    except OSError as error:
        raise StartError(
            f"cannot listen on {settings.host} port {settings.port}: {error.strerror}:"
            " set DAYBOOK_PORT, or DAYBOOK_HOST, to one that is free"
        ) from error
