"""Builds what works in the background: the memory's engine, recall with its index, and the sweeps."""

import os
import socket
from dataclasses import dataclass

from opentelemetry.trace import Tracer
from prometheus_client import CollectorRegistry

from app.artifacts.objects import Objects, open_objects
from app.artifacts.store import ArtifactStore
from app.artifacts.sweeping import SweepConfig, Sweeping
from app.configs import configured, index_config, recall_config, vector_config
from app.facts.model import FactConfig
from app.facts.store import FactStore
from app.kit.clock import SystemClock
from app.kit.db import Database
from app.llm.embedding_build import GuardedEmbedder
from app.memory.activating import Activating
from app.memory.charging import Charging
from app.memory.engine import Engine, EngineConfig
from app.memory.erasing_store import ErasingStore
from app.memory.metrics import MemoryMetrics
from app.memory.noting import Noting
from app.memory.observing import Observing
from app.memory.queue_store import QueueStore
from app.memory.rebuilding import Rebuilding
from app.memory.reflecting import Reflecting
from app.memory.retaining import Retaining, RetainingConfig
from app.memory.retaining_store import RetainingStore
from app.memory.stepping import Stepping
from app.memory.store import MemoryStore
from app.recall.index_store import IndexStore
from app.recall.indexer import Indexer
from app.recall.metrics import VectorMetrics
from app.recall.service import RecallService
from app.recall.store import RecallStore
from app.recall.vector_search import VectorSearch
from app.recall.vector_store import VectorStore
from app.recall.vectorizing import Vectorizing
from app.redaction.model import Redaction
from app.roles import Roles
from app.sessions.deleting import Deleting
from app.sessions.metrics import SessionMetrics
from app.settings import Settings


def build_engine(  # noqa: PLR0913 - every part by its constructor
    settings: Settings,
    pool: Database,
    *,
    queue: QueueStore,
    store: MemoryStore,
    metrics: MemoryMetrics,
    charging: Charging,
    roles: Roles,
    redaction: Redaction,
    tracer: Tracer,
) -> Engine:
    observing = Observing(
        database=pool,
        store=store,
        charging=charging,
        observer=roles.observer,
        redaction=redaction,
        tracer=tracer,
    )
    config = configured(EngineConfig, settings.engine)
    stepping = Stepping(
        database=pool,
        queue=queue,
        store=store,
        activating=Activating(database=pool, store=store),
        observing=observing,
        reflecting=Reflecting(
            database=pool,
            store=store,
            charging=charging,
            reflector=roles.reflector,
            redaction=redaction,
            tracer=tracer,
        ),
        rebuilding=Rebuilding(database=pool, store=store, erasing=ErasingStore(), observing=observing, tracer=tracer),
        noting=Noting(
            database=pool,
            store=store,
            facts=FactStore(pool),
            charging=charging,
            extractor=roles.extractor,
            config=configured(FactConfig, settings.facts),
            redaction=redaction,
            tracer=tracer,
        ),
        charging=charging,
        service_rules=settings.memory.values(),
        lease_seconds=config.lease_seconds,
        metrics=metrics,
        redaction=redaction,
        tracer=tracer,
    )
    return Engine(queue=queue, stepping=stepping, config=config, owner=process_name(), tracer=tracer)


def process_name() -> str:
    """The name by which leases and the overview tell this process from others."""
    return f"{socket.gethostname()}:{os.getpid()}"


def build_retaining(
    settings: Settings, pool: Database, index: IndexStore, deleting: Deleting, metrics: SessionMetrics
) -> Retaining:
    return Retaining(
        database=pool,
        store=RetainingStore(pool),
        index=index,
        deleting=deleting,
        service_rules=settings.memory.values(),
        now=pool.now,
        config=configured(RetainingConfig, settings.retention),
        metrics=metrics,
    )


def build_objects(settings: Settings, *, begins: bool = True) -> Objects | None:
    """The object store; None where the bytes are in the database. Raises StartError.

    ``begins``: True takes an empty folder for one that is new, False for one that is not mounted.
    """
    chosen = settings.artifacts
    if chosen.url is None:
        return None
    return open_objects(chosen.url, concurrency=chosen.store_concurrency, begins=begins)


def build_sweeping(settings: Settings, pool: Database, objects: Objects) -> Sweeping:
    config = configured(SweepConfig, settings.artifacts)
    return Sweeping(objects=objects, store=ArtifactStore(pool), now=pool.now, config=config)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallParts:
    """Recall, what writes its index and its vectors in the background, and the store that deletes from both.

    ``vectorizing`` is None if recall is by words alone.
    """

    recall: RecallService
    indexer: Indexer
    vectorizing: Vectorizing | None
    index_store: IndexStore


def build_recall(
    settings: Settings,
    pool: Database,
    embedder: GuardedEmbedder | None,
    *,
    redaction: Redaction,
    registry: CollectorRegistry,
) -> RecallParts:
    index_store, config = IndexStore(pool), vector_config(settings)
    vectorizing = vectors = None
    if embedder is not None:
        store, metrics = VectorStore(pool, embedder.label), VectorMetrics(registry)
        vectorizing = Vectorizing(store=store, embedder=embedder, config=config, redaction=redaction, metrics=metrics)
        vectors = VectorSearch(store=store, embedder=embedder, config=config, redaction=redaction, metrics=metrics)
    indexer = Indexer(
        store=index_store, config=index_config(settings), on_index=None if vectorizing is None else vectorizing.ask
    )
    recall = RecallService(
        store=RecallStore(pool),
        facts=FactStore(pool),
        indexer=indexer,
        clock=SystemClock(),
        config=recall_config(settings),
        vectors=vectors,
    )
    return RecallParts(recall=recall, indexer=indexer, vectorizing=vectorizing, index_store=index_store)
