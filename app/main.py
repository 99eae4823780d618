"""Builds every part by its constructor."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig
from prometheus_client import CollectorRegistry, ProcessCollector, disable_created_metrics

from app import VERSION
from app.artifacts.branch_store import ArtifactBranchStore
from app.artifacts.branching import ArtifactBranching
from app.artifacts.service import ArtifactConfig, ArtifactService
from app.artifacts.store import ArtifactStore
from app.configs import auth_config, caps, configured, database_config, ending_config
from app.context.answers import Answers, AnswersConfig
from app.context.diff_store import DiffStore
from app.context.previous import PreviousCalls, PreviousConfig
from app.context.profile import facts_max
from app.context.reading import SnapshotReader
from app.context.service import ContextService
from app.context.store import ContextStore
from app.diagnostics.backlog_store import BacklogStore
from app.diagnostics.metrics import Metrics
from app.diagnostics.overview import Overview
from app.diagnostics.service import DiagnosticsService, EventsConfig
from app.diagnostics.store import DiagnosticsStore
from app.facts.model import FactConfig
from app.facts.service import FactService
from app.facts.store import FactStore
from app.keys.auth import Auth
from app.keys.store import KeyStore
from app.kit.clock import SystemClock
from app.kit.db import Database
from app.kit.rates import RateConfig, Rates
from app.kit.tracing import Tracing, build_tracing
from app.memory.branching import BranchConfig, Branching
from app.memory.charging import Charging
from app.memory.compacting import Compacting
from app.memory.controls import Controls
from app.memory.erasing import Erasing
from app.memory.erasing_store import ErasingStore
from app.memory.metrics import MemoryMetrics
from app.memory.parting import Parting
from app.memory.queue_store import QueueStore
from app.memory.service import MemoryService
from app.memory.spending_store import SpendingStore
from app.memory.store import MemoryStore
from app.redaction.build import build_redaction
from app.roles import build_roles
from app.routing import route
from app.sessions.append_store import AppendStore
from app.sessions.deleting import Deleting
from app.sessions.ending import Ending
from app.sessions.message_store import MessageStore
from app.sessions.metrics import SessionMetrics
from app.sessions.replacing import Replacing
from app.sessions.resources import Resources, ResourceStore
from app.sessions.service import SessionConfig, SessionService
from app.sessions.store import SessionStore
from app.settings import Settings
from app.state.model import StateConfig
from app.state.service import StateService
from app.state.store import StateStore
from app.transfer.exporting import ExportConfig, Exporting
from app.working import build_engine, build_objects, build_recall, build_retaining, build_sweeping, process_name

# The framework's own spans contain the query string, which is the caller's text.
NO_TELEMETRY: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A database: its DSN, and its name in logs and answers."""

    url: str
    name: str


class Background(Protocol):
    """A part that works in the background while the service runs."""

    def start(self) -> None: ...

    async def stop(self) -> None: ...


class Closing(Protocol):
    """A part that has connections to a provider."""

    async def close(self) -> None: ...


def create_app(settings: Settings, database: Location | None = None) -> FastAPI:
    """The service, built but not started: its lifespan opens the pool and starts the background, and ends both."""
    pool = Database(database_config(settings, "" if database is None else database.url))
    registry = _registry()
    memory_metrics = MemoryMetrics(registry)
    memory_store, queue = MemoryStore(pool, memory_metrics), QueueStore(pool, memory_metrics)
    charging = Charging(database=pool, store=SpendingStore(pool), caps=caps(settings))
    tracing = build_tracing(os.environ, version=VERSION)
    roles = build_roles(settings, tracing.tracer)
    redaction = build_redaction(settings.redaction.tenants or "", settings.redaction.hook)
    engine = build_engine(
        settings,
        pool,
        queue=queue,
        store=memory_store,
        metrics=memory_metrics,
        charging=charging,
        roles=roles,
        redaction=redaction,
        tracer=tracing.tracer,
    )
    memory = MemoryService(
        queue=queue, engine=engine, service_rules=settings.memory.values(), guards=roles.guards.values()
    )

    ending = Ending(database=pool, memory=memory, config=ending_config(settings))
    search = build_recall(settings, pool, roles.embedder, redaction=redaction, registry=registry)
    index_store = search.index_store
    session_metrics, session_store = SessionMetrics(registry), SessionStore(pool)
    facts = FactStore(pool)
    deleting = Deleting(
        database=pool,
        store=session_store,
        keepers=(
            Parting(store=memory_store, erasing=ErasingStore()),
            ArtifactStore(pool),
            StateStore(pool),
            facts,
            index_store,
            ResourceStore(),
        ),
        memory=memory,
        metrics=session_metrics,
    )
    retaining = build_retaining(settings, pool, index_store, deleting, session_metrics)
    objects = build_objects(settings)
    artifacts = ArtifactService(ArtifactStore(pool), configured(ArtifactConfig, settings.artifacts), objects, redaction)
    vectorizings = [] if search.vectorizing is None else [search.vectorizing]
    sweepings = [] if objects is None else [build_sweeping(settings, pool, objects)]
    rates = Rates(configured(RateConfig, settings.rates))
    auth = Auth(auth_config(settings), store=KeyStore(pool), clock=SystemClock())

    app = FastAPI(
        title="Daybook",
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        telemetry=NO_TELEMETRY,
        lifespan=_lifespan(
            pool,
            auth,
            rates,
            tracing,
            background=(engine, search.indexer, search.recall, *vectorizings, ending, retaining, *sweepings),
            models=roles.models if roles.embedder is None else (*roles.models, roles.embedder),
        ),
    )
    app.state.database = pool
    app.state.database_name = "" if database is None else database.name
    app.state.auth, app.state.rates = auth, rates
    messages, limits = MessageStore(pool), configured(SessionConfig, settings.sessions)
    app.state.sessions = SessionService(
        session_store,
        memory,
        limits,
        session_metrics,
        messages=messages,
        appends=AppendStore(pool),
        on_append=search.indexer.appended,
        redaction=redaction,
        tracer=tracing.tracer,
    )
    app.state.replacing = Replacing(
        database=pool,
        store=messages,
        memory=memory,
        readers=(index_store, facts, ErasingStore()),
        bytes_max=limits.message_bytes_max,
        redaction=redaction,
    )
    app.state.ending = ending
    app.state.resources = Resources(
        database=pool, memory=memory, metadata_bytes_max=limits.metadata_bytes_max, redaction=redaction
    )
    app.state.artifacts = artifacts
    app.state.values = StateService(
        database=pool, store=StateStore(pool), config=configured(StateConfig, settings.state), redaction=redaction
    )
    app.state.facts = FactService(
        database=pool,
        store=facts,
        clock=SystemClock(),
        config=configured(FactConfig, settings.facts),
        redaction=redaction,
    )
    app.state.exporting = Exporting(
        database=pool,
        objects=objects,
        config=configured(ExportConfig, settings.export),
    )
    app.state.deleting = deleting
    app.state.erasing = Erasing(
        database=pool,
        store=memory_store,
        erasing=ErasingStore(),
        facts=facts,
        index=index_store,
        memory=memory,
        metrics=session_metrics,
    )
    app.state.compacting = Compacting(database=pool, store=memory_store, memory=memory, redaction=redaction)
    app.state.branching = Branching(
        database=pool,
        memory=memory_store,
        erasing=ErasingStore(),
        state=StateStore(pool),
        artifacts=ArtifactBranching(
            ArtifactBranchStore(pool), objects, bytes_max=settings.sessions.branch_artifact_bytes_max
        ),
        config=BranchConfig(messages_max=settings.sessions.branch_messages_max, timezone=memory.defaults.timezone),
    )
    app.state.controls = Controls(database=pool, store=memory_store, memory=memory, redaction=redaction)
    app.state.recall = search.recall
    contexts = ContextStore(pool, facts_max=facts_max(settings.facts.profile_tokens))
    app.state.context = ContextService(
        reader=SnapshotReader(
            store=contexts,
            memory=memory,
            state=app.state.values,
            artifacts=app.state.artifacts,
            clock=SystemClock(),
            profile_tokens=settings.facts.profile_tokens,
            elsewhere_tokens=settings.context.elsewhere_tokens,
        ),
        store=contexts,
        diffs=DiffStore(pool),
        memory=memory,
        clock=SystemClock(),
        answers=Answers(
            AnswersConfig(bytes_max=settings.context.answers_bytes_max),
            PreviousCalls(PreviousConfig(pieces_max=settings.context.previous_pieces_max)),
        ),
        recall=search.recall,
        recall_tokens=settings.recall.tokens,
        tracer=tracing.tracer,
    )
    backlog = BacklogStore(pool)
    app.state.metrics = Metrics(registry, database=pool, store=backlog, guards=roles.guards)
    app.state.diagnostics = DiagnosticsService(
        store=DiagnosticsStore(pool),
        memory=memory,
        charging=charging,
        observer=roles.observer.name,
        reflector=roles.reflector.name,
        events=configured(EventsConfig, settings.events),
    )
    app.state.overview = Overview(
        database=pool,
        store=backlog,
        charging=charging,
        roles=roles.told,
        indexer=search.indexer,
        vectorizing=search.vectorizing,
        name=process_name(),
        clock=SystemClock(),
    )
    route(app, settings, registry, tracing.tracer)
    return app


def _lifespan(
    pool: Database,
    auth: Auth,
    rates: Rates,
    tracing: Tracing,
    *,
    background: Sequence[Background],
    models: Sequence[Closing],
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """Opens the pool and starts the background; ends both in reverse order."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        await pool.open()
        await auth.start()
        for part in background:
            part.start()
        try:
            yield
        finally:
            for part in reversed(background):
                await part.stop()
            await auth.stop()
            await rates.close()
            await asyncio.gather(*(model.close() for model in models))
            await pool.close()
            await asyncio.to_thread(tracing.close)

    return lifespan


def _registry() -> CollectorRegistry:
    registry = CollectorRegistry()
    # Without a `_created` series beside every counter.
    disable_created_metrics()  # type: ignore[no-untyped-call] # the library's own
    ProcessCollector(registry=registry)
    return registry
