"""Builds every part by its constructor, and runs them: the database first, then the service, in reverse at the end."""

import asyncio
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import structlog
import uvicorn
import uvloop
from fastapi import FastAPI
from prometheus_client import CollectorRegistry, ProcessCollector, disable_created_metrics

from app.artifacts import routes as artifacts_routes
from app.artifacts.examples import EXAMPLES as ARTIFACTS_EXAMPLES
from app.artifacts.objects import open_objects
from app.artifacts.service import ArtifactConfig, ArtifactService
from app.artifacts.store import ArtifactStore
from app.artifacts.sweeping import SweepConfig, Sweeping
from app.console.routes import install as install_console
from app.context import routes as context_routes
from app.context.examples import EXAMPLES as CONTEXT_EXAMPLES
from app.context.previous import PreviousCalls, PreviousConfig
from app.context.service import ContextService
from app.context.store import ContextStore
from app.diagnostics import routes as diagnostics_routes
from app.diagnostics.examples import EXAMPLES as DIAGNOSTICS_EXAMPLES
from app.diagnostics.metrics import Metrics
from app.diagnostics.service import DiagnosticsService, EventsConfig
from app.diagnostics.store import DiagnosticsStore
from app.kit import migrate as schema
from app.kit.auth import LOOPBACK_HOSTS, Auth, AuthConfig
from app.kit.clock import SystemClock
from app.kit.db import Database, DatabaseConfig, check_server
from app.kit.embedded import EmbeddedConfig, EmbeddedError, EmbeddedPostgres, default_data_dir
from app.kit.errors import StartError
from app.kit.http import Gate, HttpConfig
from app.kit.logging import configure
from app.kit.metrics import HttpMetrics
from app.kit.openapi import documented
from app.kit.problems import install as install_problems
from app.kit.tokens import text_tokens
from app.llm.build import LlmConfig, build_model
from app.llm.guard import Guard, GuardConfig, GuardedModel
from app.llm.port import Model, Provider
from app.memory import routes as memory_routes
from app.memory.activating import Activating
from app.memory.branch_store import BranchStore
from app.memory.branching import BranchConfig, Branching
from app.memory.charging import Charging
from app.memory.compacting import Compacting
from app.memory.controls import Controls
from app.memory.engine import Engine, EngineConfig
from app.memory.examples import EXAMPLES as MEMORY_EXAMPLES
from app.memory.extractive import ExtractiveObserver, ExtractiveReflector
from app.memory.metrics import MemoryMetrics
from app.memory.model import Observer, Reflector
from app.memory.observer import ModelObserver
from app.memory.observing import Observing
from app.memory.reflecting import Reflecting
from app.memory.reflector import ModelReflector
from app.memory.service import MemoryService
from app.memory.spending import Cap, Caps
from app.memory.spending_store import SpendingStore
from app.memory.store import MemoryStore
from app.sessions import routes as sessions_routes
from app.sessions.deleting import Deleting
from app.sessions.examples import EXAMPLES as SESSIONS_EXAMPLES
from app.sessions.metrics import SessionMetrics
from app.sessions.replacing import Replacing
from app.sessions.service import SessionConfig, SessionService
from app.sessions.store import SessionStore
from app.settings import Chosen, Settings, chosen_models, without_password
from app.state import routes as state_routes
from app.state.examples import EXAMPLES as STATE_EXAMPLES
from app.state.model import StateConfig
from app.state.service import StateService
from app.state.store import StateStore

log = structlog.get_logger("daybook")

KEEP_UP_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A database: its DSN, and how it is called where people read."""

    url: str
    name: str


def serve(settings: Settings) -> None:
    """Serve until SIGINT or SIGTERM. Raises StartError: one clear line."""
    configure(json=_json_logs(settings), level=settings.log_level)
    _refuse_open_host(settings)
    _refuse_taken_port(settings)
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, _leave)
    with located(settings, exclusive=True) as database, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_prepare(settings, database))
        runner.run(_serve(settings, database))


def migrate(settings: Settings) -> None:
    """Bring the database up to this version's schema. Raises StartError."""
    configure(json=_json_logs(settings), level=settings.log_level)
    with located(settings, exclusive=False) as database:
        asyncio.run(_upgrade(settings, database))


@contextmanager
def located(settings: Settings, *, exclusive: bool) -> Iterator[Location]:
    """The database to use: the one that is configured, or the embedded one, which runs as long as it is used."""
    if settings.database_url is not None:
        yield Location(url=settings.database_url, name=without_password(settings.database_url))
        return
    if settings.env == "production" and not settings.allow_embedded:
        raise StartError(
            "DAYBOOK_ENV is production and DAYBOOK_DATABASE_URL is not set:"
            " set it, or DAYBOOK_ALLOW_EMBEDDED=1 to keep the data in the embedded database"
        )
    folder = settings.data_dir or default_data_dir(Path.cwd())
    embedded = EmbeddedPostgres(
        EmbeddedConfig(data_dir=folder, binaries=settings.postgres_binaries, exclusive=exclusive)
    )
    embedded.start()
    try:
        with _kept_up(embedded):
            yield Location(url=embedded.dsn, name=embedded.description)
    finally:
        embedded.stop()


@contextmanager
def _kept_up(embedded: EmbeddedPostgres) -> Iterator[None]:
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


def create_app(settings: Settings, database: Location | None = None) -> FastAPI:
    """The service, built but not started: the lifespan opens the pool and starts the engine, and ends both."""
    pool = Database(_database_config(settings, "" if database is None else database.url))
    registry = CollectorRegistry()
    # When a counter began, which would double their number.
    disable_created_metrics()  # type: ignore[no-untyped-call] # the library's own
    ProcessCollector(registry=registry)
    memory_metrics = MemoryMetrics(registry)
    memory_store = MemoryStore(pool, memory_metrics)
    charging = Charging(database=pool, store=SpendingStore(pool), caps=_caps(settings))
    roles = build_roles(settings)
    service_rules = settings.memory.values()
    engine = Engine(
        database=pool,
        store=memory_store,
        activating=Activating(database=pool, store=memory_store),
        observing=Observing(database=pool, store=memory_store, charging=charging, observer=roles.observer),
        reflecting=Reflecting(database=pool, store=memory_store, charging=charging, reflector=roles.reflector),
        charging=charging,
        service_rules=service_rules,
        config=EngineConfig(
            lease_seconds=settings.engine.lease_seconds,
            sweep_seconds=settings.engine.sweep_seconds,
            concurrency=settings.engine.concurrency,
            grace_seconds=settings.engine.grace_seconds,
        ),
        metrics=memory_metrics,
        owner=f"{socket.gethostname()}:{os.getpid()}",
    )
    memory = MemoryService(store=memory_store, engine=engine, service_rules=service_rules)

    artifacts, sweepings = _build_artifacts(settings, pool)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        await pool.open()
        await memory_store.resume()
        engine.start()
        for sweeping in sweepings:
            sweeping.start()
        try:
            yield
        finally:
            await asyncio.gather(*(sweeping.stop() for sweeping in sweepings))
            await engine.stop()
            await asyncio.gather(*(model.close() for model in roles.models))
            await pool.close()

    app = FastAPI(
        title="Daybook", redirect_slashes=False, docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan
    )
    app.state.database = pool
    app.state.database_name = "" if database is None else database.name
    app.state.auth = Auth(AuthConfig(bootstrap_key=_secret(settings)))
    limits = SessionConfig(
        messages_max=settings.sessions.messages_max, message_bytes_max=settings.sessions.message_bytes_max
    )
    session_store = SessionStore(pool)
    app.state.sessions = SessionService(session_store, memory, limits, SessionMetrics(registry))
    app.state.replacing = Replacing(
        database=pool, store=session_store, memory=memory, bytes_max=limits.message_bytes_max
    )
    app.state.artifacts = artifacts
    app.state.values = StateService(database=pool, store=StateStore(pool), config=_state_config(settings))
    app.state.deleting = Deleting(
        database=pool, store=session_store, keepers=(memory_store, ArtifactStore(pool), StateStore(pool))
    )
    app.state.compacting = Compacting(database=pool, store=memory_store, memory=memory)
    app.state.branching = Branching(
        database=pool,
        store=BranchStore(),
        config=BranchConfig(messages_max=settings.sessions.branch_messages_max, timezone=memory.defaults.timezone),
    )
    app.state.controls = Controls(database=pool, store=memory_store, memory=memory)
    app.state.context = ContextService(
        store=ContextStore(pool),
        memory=memory,
        state=app.state.values,
        artifacts=app.state.artifacts,
        clock=SystemClock(),
        previous=PreviousCalls(PreviousConfig(pieces_max=settings.context.previous_pieces_max)),
    )
    diagnostics_store = DiagnosticsStore(pool)
    app.state.metrics = Metrics(registry, database=pool, store=diagnostics_store, guards=roles.guards)
    app.state.diagnostics = DiagnosticsService(
        store=diagnostics_store,
        memory=memory,
        charging=charging,
        observer=roles.observer.name,
        reflector=roles.reflector.name,
        events=EventsConfig(poll_seconds=settings.events.poll_seconds, streams_max=settings.events.streams_max),
    )
    for router in (
        sessions_routes.router,
        artifacts_routes.router,
        context_routes.router,
        state_routes.router,
        memory_routes.router,
        memory_routes.branch_router,
        diagnostics_routes.router,
        diagnostics_routes.health_router,
    ):
        app.include_router(router)
    documented(
        app,
        SESSIONS_EXAMPLES
        | ARTIFACTS_EXAMPLES
        | STATE_EXAMPLES
        | CONTEXT_EXAMPLES
        | MEMORY_EXAMPLES
        | DIAGNOSTICS_EXAMPLES,
    )
    install_console(app)
    install_problems(app)
    http = HttpConfig(request_bytes_max=settings.http.request_bytes_max, access_log=settings.http.access_log)
    app.add_middleware(Gate, config=http, metrics=HttpMetrics(registry))
    return app


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """The observer and the reflector, and what stands behind them (nothing behind the extractive ones)."""

    observer: Observer
    reflector: Reflector
    models: Sequence[Model]
    guards: Mapping[Provider, Guard]


def build_roles(settings: Settings) -> Roles:
    chosen = chosen_models(settings)
    guards: dict[Provider, Guard] = {}
    models: list[Model] = []

    def build(provider: Provider, name: str) -> Model:
        guard = guards.setdefault(provider, Guard(_guard_config(settings)))
        models.append(GuardedModel(build_model(provider, name, _llm_config(settings)), guard))
        return models[-1]

    def both(role: Chosen) -> tuple[Model, Model | None]:
        """The role's model, and the smaller one where one is configured."""
        return build(role.provider, role.model), build(role.provider, role.small_model) if role.small_model else None

    observer: Observer = ExtractiveObserver(count=text_tokens)
    reflector: Reflector = ExtractiveReflector(count=text_tokens)
    if chosen.observer.provider is not Provider.EXTRACTIVE:
        observer = ModelObserver(*both(chosen.observer))
    if chosen.reflector.provider is not Provider.EXTRACTIVE:
        reflector = ModelReflector(*both(chosen.reflector))
    return Roles(observer=observer, reflector=reflector, models=models, guards=guards)


def _caps(settings: Settings) -> Caps:
    """The caps on cost, with the rungs that there are: no smaller model is one less."""
    caps, chosen = settings.caps, chosen_models(settings)
    roles = (chosen.observer, chosen.reflector)
    return Caps(
        session=Cap(tokens=caps.session_tokens_per_day or None, cost_usd=caps.session_usd_per_day or None),
        tenant=Cap(tokens=caps.tenant_tokens_per_day or None, cost_usd=caps.tenant_usd_per_day or None),
        small_model_at=caps.small_model_at if any(role.small_model for role in roles) else None,
        larger_batches_at=caps.larger_batches_at,
        observing=chosen.observer.provider is not Provider.EXTRACTIVE,
        reflecting=chosen.reflector.provider is not Provider.EXTRACTIVE,
    )


def _llm_config(settings: Settings) -> LlmConfig:
    return LlmConfig(timeout_seconds=settings.llm.timeout_seconds, reasoning_tokens=settings.llm.reasoning_tokens)


def _build_artifacts(settings: Settings, pool: Database) -> tuple[ArtifactService, list[Sweeping]]:
    """The service of artifacts, and the sweep of its object store (none without one)."""
    chosen, store = settings.artifacts, ArtifactStore(pool)
    if chosen.url is None:
        return ArtifactService(store, _artifact_config(settings)), []
    objects = open_objects(chosen.url)
    config = SweepConfig(sweep_seconds=chosen.sweep_seconds, orphan_seconds=chosen.orphan_seconds)
    sweeping = Sweeping(objects=objects, store=store, clock=SystemClock(), config=config)
    return ArtifactService(store, _artifact_config(settings), objects), [sweeping]


def _artifact_config(settings: Settings) -> ArtifactConfig:
    artifacts = settings.artifacts
    return ArtifactConfig(
        bytes_max=artifacts.bytes_max,
        versions_max=artifacts.versions_max,
        session_max=artifacts.session_max,
        part_bytes_inline_max=artifacts.part_bytes_inline_max,
    )


def _state_config(settings: Settings) -> StateConfig:
    state = settings.state
    return StateConfig(
        value_bytes_max=state.value_bytes_max, entries_max=state.entries_max, scope_bytes_max=state.scope_bytes_max
    )


def _guard_config(settings: Settings) -> GuardConfig:
    llm = settings.llm
    return GuardConfig(concurrency=llm.concurrency, failures_max=llm.failures_max, open_seconds=llm.open_seconds)


async def _prepare(settings: Settings, database: Location) -> None:
    if settings.migrate == "auto":
        await _upgrade(settings, database)
    else:
        await check_server(_database_config(settings, database.url))


async def _upgrade(settings: Settings, database: Location) -> None:
    await check_server(_database_config(settings, database.url))
    await schema.upgrade(database.url)


async def _serve(settings: Settings, database: Location) -> None:
    app = create_app(settings, database)
    chosen = chosen_models(settings)
    log.info(
        "starting",
        url=f"http://{settings.host}:{settings.port}",
        database=database.name,
        observer=chosen.observer.label,
        reflector=chosen.reflector.label,
        keys="local mode, no key needed" if settings.bootstrap_key is None else "key needed",
    )
    if Provider.EXTRACTIVE in {chosen.observer.provider, chosen.reflector.provider}:
        log.info("no_model", hint="the built-in extractive memory is in use; set ANTHROPIC_API_KEY or OPENAI_API_KEY")
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        loop="uvloop",
        http="httptools",
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=round(settings.engine.grace_seconds) + 1,
    )
    await _Server(config, diagnostics=app.state.diagnostics).serve()


class _Server(uvicorn.Server):
    """Uvicorn waits for the answers it still owes: those that never end by themselves are told to."""

    def __init__(self, config: uvicorn.Config, *, diagnostics: DiagnosticsService) -> None:
        super().__init__(config)
        self._diagnostics = diagnostics

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._diagnostics.leave()
        super().handle_exit(sig, frame)


def _leave(_signal: int, _frame: object) -> None:
    """Before and after uvicorn's own handlers: leave through every ``finally``, so that the database is stopped."""
    raise SystemExit(0)


def _refuse_open_host(settings: Settings) -> None:
    if settings.bootstrap_key is None and settings.host not in LOOPBACK_HOSTS:
        raise StartError(
            f"without a key only loopback is served, not {settings.host}:"
            " set DAYBOOK_BOOTSTRAP_KEY (16 characters or more), or DAYBOOK_HOST=127.0.0.1"
        )


def _refuse_taken_port(settings: Settings) -> None:
    """Told before a database is started for nothing, and in one line, which uvicorn, who binds it later, has not."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        socket.create_server((settings.host, settings.port), family=family).close()
    except OSError as error:
        raise StartError(
            f"cannot listen on {settings.host} port {settings.port}: {error.strerror}:"
            " set DAYBOOK_PORT, or DAYBOOK_HOST, to one that is free"
        ) from error


def _database_config(settings: Settings, url: str) -> DatabaseConfig:
    pool = settings.pool
    return DatabaseConfig(
        url=url,
        pool_min=min(pool.min, pool.max),
        pool_max=pool.max,
        connect_seconds=pool.connect_seconds,
        statement_seconds=pool.statement_seconds,
    )


def _secret(settings: Settings) -> str | None:
    return None if settings.bootstrap_key is None else settings.bootstrap_key.get_secret_value()


def _json_logs(settings: Settings) -> bool:
    return settings.log_json if settings.log_json is not None else not sys.stderr.isatty()
