"""``daybook serve``: starts the database, migrates it, runs one or several processes, and stops all in reverse."""

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

# The GIL's switch interval: how long a thread may keep the event loop from the GIL. The built-in memory observes in
# threads. With Python's default of 5 ms the p95 of an append beside such work is twice as long.
SWITCH_SECONDS = 0.0005
# The garbage collector's threshold: net allocations per run. At Python's default of 700 it runs many times in one step
# of the memory, each hundredth time over all objects made since the start (docs/benchmarks/profile.md).
GARBAGE_EVERY = 10_000
ENDINGS = (signal.SIGINT, signal.SIGTERM)
WORKER_SECONDS = 60  # for a worker process to start, or to answer a ping, on a busy machine
WORKER_SPARE_SECONDS = 4  # for a worker to end, beyond the time of its requests and steps: 26 of an orchestrator's 30


class Keys(StrEnum):
    """Whether callers need a key; the value is the text in the log."""

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
        create_app(settings, database)  # so that an error of building it is reported here, and not by each worker
        _tell(settings, database, keys)
        if settings.workers == 1:
            with held(*ENDINGS):  # until uvicorn's handlers are in place, so that what it began is stopped
                _run(_served(settings, database))
        else:
            _supervise(settings, _served(settings, database))


def _run(config: uvicorn.Config) -> None:
    """Serve in this process."""
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
    """Seconds to finish running requests at shutdown; the steps of the memory then get as many again."""
    return round(settings.engine.grace_seconds) + 1


def _supervise(settings: Settings, config: uvicorn.Config) -> None:
    """Serve with several processes on one socket."""
    if not Supervisor(config, end_seconds=2 * _grace(settings) + WORKER_SPARE_SECONDS).serve():
        raise StartError("a worker process could not start; its log says why")


def worker_app(settings: Settings, database: Location) -> FastAPI:
    """The app of one process, built in that process after uvicorn's signal handlers are in place.

    At shutdown uvicorn waits for running requests. Event streams, which never end by themselves, are ended before that.
    """
    log_to_stderr(settings)
    sys.setswitchinterval(SWITCH_SECONDS)
    _end_with_parent()
    app = create_app(settings, database)
    gc.set_threshold(GARBAGE_EVERY)
    gc.freeze()  # objects made until now stay; scanning them again and again would delay all requests (profile.md)
    diagnostics: DiagnosticsService = app.state.diagnostics
    for ending in ENDINGS:
        _call_first(ending, diagnostics.leave)
    hang_up_as_told()
    let_through(*ENDINGS)
    return app


def _call_first(ending: signal.Signals, called: Callable[[], None]) -> None:
    """At this signal, call ``called`` before the present handler."""
    handler = signal.getsignal(ending)

    def first(number: int, frame: FrameType | None) -> None:
        called()
        if callable(handler):
            handler(number, frame)

    signal.signal(ending, first)


def _end_with_parent() -> None:
    """End this process when its supervisor was killed, because it would hold the socket for ever."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="daybook-end-with-parent", daemon=True).start()


def _leave(_signal: int, _frame: object) -> None:
    """The handler before and after uvicorn's: exit through every ``finally``, so that the database is stopped."""
    raise SystemExit(0)


async def _keys(settings: Settings, database: Location) -> Keys:
    """Whether the database or the settings have keys, and a valid one."""
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
            " more), or create one by 'daybook keys create', or set DAYBOOK_HOST=127.0.0.1"
        )


def _free_port(settings: Settings) -> int:
    """The port to bind; for 0 a free one. Raises StartError if it is taken.

    Checked before a database is started in vain. Uvicorn binds it later, and reports neither a taken port in one line
    nor the chosen one.
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
