"""Builds the shared parts and the background work: the engine, recall and its index, the sweeps."""

import os
import socket
from dataclasses import dataclass

from opentelemetry.trace import Tracer
from prometheus_client import CollectorRegistry

from app.artifacts.objects import Objects
from app.artifacts.store import ArtifactStore
from app.artifacts.sweeping import SweepConfig, Sweeping
from app.configs import caps, index_config, recall_config, vector_config
from app.facts.model import FactConfig
from app.facts.store import FactStore
from app.kit.clock import SystemClock
from app.kit.db import Database
from app.locating import build_objects, database_config
from app.memory.activating import Activating
from app.memory.changing.rebuilding import Rebuilding
from app.memory.changing.retaining import Retaining, RetainingConfig
from app.memory.changing.retaining_store import RetainingStore
from app.memory.charging import Charging
from app.memory.engine import Engine, EngineConfig
from app.memory.executing import Executing
from app.memory.facts.noting import Noting
from app.memory.means import Means
from app.memory.metrics import MemoryMetrics
from app.memory.observing import Observing
from app.memory.queue_store import QueueStore
from app.memory.reflecting import Reflecting
from app.memory.service import MemoryService
from app.memory.spending_store import SpendingStore
from app.memory.stepping import Stepping
from app.memory.store import MemoryStore
from app.recall import index_store
from app.recall.index_store import IndexStore
from app.recall.indexer import Indexer
from app.recall.metrics import VectorMetrics
from app.recall.service import RecallService
from app.recall.store import RecallStore
from app.recall.vector_search import VectorSearch
from app.recall.vector_store import VectorStore
from app.recall.vectorizing import Vectorizing
from app.redaction.build import build_redaction
from app.redaction.model import Redaction
from app.roles import Roles, build_roles
from app.sessions.deleting import Deleting
from app.sessions.metrics import SessionMetrics
from app.settings import Settings, configured


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """The objects that several domains share.

    ``name`` identifies this process in leases and in the overview. ``objects`` is None if the bytes of artifacts are in
    the database.
    """

    settings: Settings
    database: Database
    name: str
    registry: CollectorRegistry
    tracer: Tracer
    roles: Roles
    redaction: Redaction
    charging: Charging
    session_metrics: SessionMetrics
    objects: Objects | None


def build_base(settings: Settings, url: str, *, registry: CollectorRegistry, tracer: Tracer) -> Base:
    """Build the shared objects. Raises StartError."""
    database = Database(database_config(settings, url))
    return Base(
        settings=settings,
        database=database,
        name=f"{socket.gethostname()}:{os.getpid()}",
        registry=registry,
        tracer=tracer,
        roles=build_roles(settings, tracer),
        redaction=build_redaction(settings.redaction.tenants or "", settings.redaction.hook),
        charging=Charging(database=database, store=SpendingStore(database), caps=caps(settings)),
        session_metrics=SessionMetrics(registry),
        objects=build_objects(settings),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryParts:
    """The memory's service, for the rest of the app, its engine and its store."""

    service: MemoryService
    engine: Engine
    store: MemoryStore


def build_memory(base: Base) -> MemoryParts:
    metrics = MemoryMetrics(base.registry)
    limits = base.settings.engine
    store = MemoryStore(base.database, metrics, pending_messages_max=limits.pending_messages_max)
    queue, config = QueueStore(base.database, metrics), configured(EngineConfig, limits)
    stepping = _stepping(base, store, queue, metrics, config)
    engine = Engine(queue=queue, stepping=stepping, config=config, owner=base.name, tracer=base.tracer)
    service = MemoryService(
        queue=queue,
        engine=engine,
        service_rules=base.settings.memory.values(),
        attempts_max=config.attempts_max,
        instruction_characters_max=base.settings.sessions.instruction_characters_max,
        guards=base.roles.guards.values(),
    )
    return MemoryParts(service=service, engine=engine, store=store)


def _stepping(
    base: Base, store: MemoryStore, queue: QueueStore, metrics: MemoryMetrics, config: EngineConfig
) -> Stepping:
    means = Means(
        database=base.database, store=store, charging=base.charging, redaction=base.redaction, tracer=base.tracer
    )
    observing = Observing(means, base.roles.observer)
    facts, fact_config = FactStore(base.database), configured(FactConfig, base.settings.facts)
    executing = Executing(
        activating=Activating(means),
        observing=observing,
        reflecting=Reflecting(means, base.roles.reflector),
        rebuilding=Rebuilding(means, observing),
        noting=Noting(means, base.roles.extractor, facts=facts, config=fact_config),
    )
    return Stepping(
        means,
        queue=queue,
        executing=executing,
        service_rules=base.settings.memory.values(),
        lease_seconds=config.lease_seconds,
        attempts_max=config.attempts_max,
        metrics=metrics,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallParts:
    """Recall, and the background writers of its index and its vectors.

    ``vectorizing`` is None if recall is by words alone.
    """

    service: RecallService
    indexer: Indexer
    vectorizing: Vectorizing | None


def build_recall(base: Base) -> RecallParts:
    database, redaction = base.database, base.redaction
    embedder, config = base.roles.embedder, vector_config(base.settings)
    vectorizing = vectors = None
    if embedder is not None:
        store, metrics = VectorStore(database, embedder.label), VectorMetrics(base.registry)
        vectorizing = Vectorizing(store=store, embedder=embedder, config=config, redaction=redaction, metrics=metrics)
        vectors = VectorSearch(store=store, embedder=embedder, config=config, redaction=redaction, metrics=metrics)
    indexer = Indexer(
        store=IndexStore(database),
        config=index_config(base.settings),
        on_index=None if vectorizing is None else vectorizing.ask,
    )
    service = RecallService(
        store=RecallStore(database),
        facts=FactStore(database),
        indexer=indexer,
        clock=SystemClock(),
        config=recall_config(base.settings),
        vectors=vectors,
    )
    return RecallParts(service=service, indexer=indexer, vectorizing=vectorizing)


def build_retaining(base: Base, deleting: Deleting) -> Retaining:
    return Retaining(
        database=base.database,
        store=RetainingStore(base.database),
        index=index_store,
        deleting=deleting,
        service_rules=base.settings.memory.values(),
        now=base.database.now,
        config=configured(RetainingConfig, base.settings.retention),
        metrics=base.session_metrics,
    )


def build_sweeping(base: Base, objects: Objects) -> Sweeping:
    config = configured(SweepConfig, base.settings.artifacts)
    return Sweeping(objects=objects, store=ArtifactStore(base.database), now=base.database.now, config=config)
