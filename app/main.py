"""The composition root: builds the app and all its parts by their constructors."""

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
from app.artifacts import store as artifact_store
from app.artifacts.branching import ArtifactBranching
from app.artifacts.service import ArtifactConfig, ArtifactService
from app.artifacts.store import ArtifactStore
from app.configs import auth_config, context_limits, ending_config
from app.context.answers import Answers
from app.context.diff_store import DiffStore
from app.context.previous import PreviousCalls
from app.context.reading import SnapshotReader
from app.context.service import ContextService
from app.context.stages.profile import facts_max
from app.context.store import ContextStore
from app.diagnostics.backlog_store import BacklogStore
from app.diagnostics.metrics import Metrics
from app.diagnostics.overview import Overview
from app.diagnostics.service import DiagnosticsService, EventsConfig
from app.diagnostics.store import DiagnosticsStore
from app.facts import forgetting_store
from app.facts.model import FactConfig
from app.facts.service import FactService
from app.facts.store import FactStore
from app.keys.auth import Auth
from app.keys.store import KeyStore
from app.kit.clock import SystemClock
from app.kit.errors import StartError
from app.kit.rates import RateConfig, Rates
from app.kit.tracing import Tracing, build_tracing
from app.locating import Location
from app.memory.changing import erasing_store
from app.memory.changing.branching import BranchConfig, Branching
from app.memory.changing.compacting import Compacting
from app.memory.changing.controls import Controls
from app.memory.changing.erasing import Erasing
from app.memory.changing.parting import Parting
from app.recall import index_store
from app.routing import route
from app.sessions import resource_store
from app.sessions.append_store import AppendStore
from app.sessions.deleting import Deleting
from app.sessions.ending import Ending
from app.sessions.message_store import MessageStore
from app.sessions.replacing import Replacing
from app.sessions.resources import Resources
from app.sessions.service import SessionConfig, SessionService
from app.sessions.store import SessionStore
from app.settings import Settings, configured
from app.state import store as state_store
from app.state.model import StateConfig
from app.state.service import StateService
from app.state.store import StateStore
from app.transfer.exporting import ExportConfig, Exporting
from app.working import (
    Base,
    MemoryParts,
    RecallParts,
    build_base,
    build_memory,
    build_recall,
    build_retaining,
    build_sweeping,
)

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


def provide_services(state: State, base: Base, memory: MemoryParts, recall: RecallParts) -> None:
    """Put the services that the routes use into ``state``, by their names there."""
    state.recall = recall.service
    _provide_kept(state, base)
    _provide_sessions(state, base, memory, recall)
    _provide_ends(state, base, memory)
    _provide_memory(state, base, memory)
    _provide_context(state, base, memory, recall)
    _provide_diagnostics(state, base, memory, recall)


def _provide_kept(state: State, base: Base) -> None:
    """Artifacts, state and facts, and the export."""
    settings, database = base.settings, base.database
    state.artifacts = ArtifactService(
        ArtifactStore(database), configured(ArtifactConfig, settings.artifacts), base.objects, base.redaction
    )
    state.values = StateService(
        database=database,
        store=StateStore(database),
        config=configured(StateConfig, settings.state),
        held_artifacts=state.artifacts.held,
        redaction=base.redaction,
    )
    state.facts = FactService(
        database=database,
        store=FactStore(database),
        clock=SystemClock(),
        config=configured(FactConfig, settings.facts),
        redaction=base.redaction,
    )
    state.exporting = Exporting(
        database=database, objects=base.objects, config=configured(ExportConfig, settings.export)
    )


def _provide_sessions(state: State, base: Base, memory: MemoryParts, recall: RecallParts) -> None:
    database, redaction, limits = base.database, base.redaction, configured(SessionConfig, base.settings.sessions)
    state.sessions = SessionService(
        store=SessionStore(database),
        messages=MessageStore(database),
        appends=AppendStore(database),
        memory=memory.service,
        config=limits,
        metrics=base.session_metrics,
        on_append=recall.indexer.appended,
        redaction=redaction,
        tracer=base.tracer,
    )
    state.replacing = Replacing(
        database=database,
        memory=memory.service,
        derived=(index_store, forgetting_store, erasing_store),
        bytes_max=limits.message_bytes_max,
        redaction=redaction,
    )


def _provide_ends(state: State, base: Base, memory: MemoryParts) -> None:
    """The end of sessions, resources, and deletion."""
    database, limits = base.database, base.settings.sessions
    state.ending = Ending(database=database, memory=memory.service, config=ending_config(base.settings))
    state.resources = Resources(
        database=database,
        memory=memory.service,
        metadata_bytes_max=limits.metadata_bytes_max,
        redaction=base.redaction,
    )
    state.deleting = Deleting(
        database=database,
        keepers=(
            Parting(memory.store),
            artifact_store,
            state_store,
            forgetting_store,
            index_store,
            resource_store,
        ),
        memory=memory.service,
        outside=state.artifacts,
        metrics=base.session_metrics,
    )


def _provide_memory(state: State, base: Base, memory: MemoryParts) -> None:
    """The services that change a memory."""
    database, limits = base.database, base.settings.sessions
    state.controls = Controls(database=database, store=memory.store, memory=memory.service, redaction=base.redaction)
    state.compacting = Compacting(
        database=database, store=memory.store, memory=memory.service, redaction=base.redaction
    )
    state.erasing = Erasing(
        database=database,
        store=memory.store,
        index=index_store,
        memory=memory.service,
        metrics=base.session_metrics,
    )
    state.branching = Branching(
        database=database,
        memory=memory.store,
        artifacts=ArtifactBranching(database, base.objects, bytes_max=limits.branch_artifact_bytes_max),
        config=BranchConfig(messages_max=limits.branch_messages_max, timezone=memory.service.defaults.timezone),
    )


def _provide_context(state: State, base: Base, memory: MemoryParts, recall: RecallParts) -> None:
    settings = base.settings
    store = ContextStore(base.database, facts_max=facts_max(settings.facts.profile_tokens))
    state.context = ContextService(
        reader=SnapshotReader(
            store=store,
            memory=memory.service,
            state=StateStore(base.database),
            artifacts=state.artifacts,
            clock=SystemClock(),
            elsewhere_tokens=settings.context.elsewhere_tokens,
        ),
        store=store,
        diffs=DiffStore(base.database),
        memory=memory.service,
        clock=SystemClock(),
        answers=Answers(
            PreviousCalls(pieces_max=settings.context.previous_pieces_max),
            bytes_max=settings.context.answers_bytes_max,
        ),
        recall=recall.service,
        limits=context_limits(settings),
        tracer=base.tracer,
    )


def _provide_diagnostics(state: State, base: Base, memory: MemoryParts, recall: RecallParts) -> None:
    database, roles = base.database, base.roles
    backlog = BacklogStore(database, attempts_max=memory.service.attempts_max)
    state.metrics = Metrics(base.registry, database=database, store=backlog, guards=roles.guards)
    state.diagnostics = DiagnosticsService(
        store=DiagnosticsStore(database),
        memory=memory.service,
        charging=base.charging,
        observer=roles.observer.name,
        reflector=roles.reflector.name,
        events=configured(EventsConfig, base.settings.events),
    )
    state.overview = Overview(
        database=database,
        store=backlog,
        charging=base.charging,
        roles=roles.told,
        indexer=recall.indexer,
        vectorizing=recall.vectorizing,
        name=base.name,
        clock=SystemClock(),
    )


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
