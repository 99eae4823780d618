"""The composition root: builds the app of all its parts, and starts and stops what works in the background."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, asynccontextmanager
from types import TracebackType
from typing import Protocol

import structlog
from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig
from prometheus_client import CollectorRegistry, ProcessCollector, disable_created_metrics
from starlette.datastructures import State

from app import VERSION
from app.configs import auth_config
from app.keys.auth import Auth
from app.keys.store import KeyStore
from app.kit.clock import SystemClock
from app.kit.errors import StartError
from app.kit.rates import RateConfig, Rates
from app.kit.tracing import Tracing, build_tracing
from app.locating import Location
from app.parts import (
    Base,
    MemoryParts,
    RecallParts,
    build_base,
    build_memory,
    build_recall,
    build_retaining,
    build_sweeping,
)
from app.routing import route
from app.services import provide_services
from app.settings import Settings, configured

log = structlog.get_logger("daybook")

# The framework's own spans contain the query string, which is the caller's text.
NO_TELEMETRY: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}


class Background(Protocol):
    """A part that works in the background while the service runs."""

    def start(self) -> None: ...

    async def stop(self) -> None: ...


def create_app(settings: Settings, database: Location | None = None) -> FastAPI:
    """The app, built but not started: its lifespan opens the pool, starts the background work, and ends both."""
    tracing = build_tracing(os.environ, version=VERSION)
    url, name = ("", "") if database is None else (database.url, database.name)
    base = build_base(settings, url, registry=_registry(), tracer=tracing.tracer)
    memory, recall = build_memory(base), build_recall(base)

    state = State()
    state.database, state.database_name = base.database, name
    state.auth = Auth(auth_config(settings), store=KeyStore(base.database), clock=SystemClock())
    state.rates = Rates(configured(RateConfig, settings.rates))
    provide_services(state, base, memory, recall)

    app = FastAPI(
        title="Daybook",
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        telemetry=NO_TELEMETRY,
        lifespan=_lifespan(state, base, tracing, _background(state, base, memory, recall)),
    )
    app.state = state
    route(app, settings, base.registry, base.tracer)
    return app


def _background(state: State, base: Base, memory: MemoryParts, recall: RecallParts) -> list[Background]:
    """The background parts, in the order in which they are started."""
    parts: list[Background | None] = [
        memory.engine,
        recall.indexer,
        recall.service,
        recall.vectorizing,
        state.ending,
        build_retaining(base, state.deleting),
        None if base.objects is None else build_sweeping(base, base.objects),
    ]
    return [part for part in parts if part is not None]


def _lifespan(
    state: State, base: Base, tracing: Tracing, background: Sequence[Background]
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """A lifespan that opens the pool and starts the background work; ends both in reverse order."""
    auth: Auth = state.auth
    rates: Rates = state.rates

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as ending:  # in reverse order, and each even if another one failed
            ending.push_async_callback(asyncio.to_thread, tracing.close)
            ending.push_async_callback(base.database.close)
            ending.push_async_callback(base.roles.close)
            ending.push_async_callback(rates.close)
            with ExitStack() as starting:
                starting.push(_tell)
                await base.database.open()
                ending.push_async_callback(auth.stop)
                await auth.start()
                for part in background:
                    ending.push_async_callback(part.stop)
                    part.start()
            yield

    return lifespan


def _tell(_kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None) -> None:
    """Log why the service does not start, because of the server's own traceback only the first line is kept."""
    match error:
        case StartError():
            log.error("not_started", error=str(error))
        case Exception():
            log.error("not_started", exc_info=error)


def _registry() -> CollectorRegistry:
    registry = CollectorRegistry()
    # No `_created` series beside every counter.
    disable_created_metrics()  # type: ignore[no-untyped-call] # the library's own
    ProcessCollector(registry=registry)
    return registry
