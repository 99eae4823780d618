"""Builds what works in the background: the memory's engine, and the sweeps of what is too old or of no artifact."""

import os
import socket

from opentelemetry.trace import Tracer

from app.artifacts.objects import Objects
from app.artifacts.store import ArtifactStore
from app.artifacts.sweeping import SweepConfig, Sweeping
from app.configs import engine_config, fact_config, retaining_config
from app.facts.store import FactStore
from app.kit.clock import SystemClock
from app.kit.db import Database
from app.memory.activating import Activating
from app.memory.charging import Charging
from app.memory.engine import Engine
from app.memory.erasing_store import ErasingStore
from app.memory.metrics import MemoryMetrics
from app.memory.noting import Noting
from app.memory.observing import Observing
from app.memory.queue_store import QueueStore
from app.memory.rebuilding import Rebuilding
from app.memory.reflecting import Reflecting
from app.memory.retaining import Retaining
from app.memory.retaining_store import RetainingStore
from app.memory.store import MemoryStore
from app.recall.index_store import IndexStore
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
    return Engine(
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
            config=fact_config(settings),
            redaction=redaction,
            tracer=tracer,
        ),
        charging=charging,
        service_rules=settings.memory.values(),
        config=engine_config(settings),
        metrics=metrics,
        owner=f"{socket.gethostname()}:{os.getpid()}",
        redaction=redaction,
        tracer=tracer,
    )


def build_retaining(
    settings: Settings, pool: Database, index: IndexStore, deleting: Deleting, metrics: SessionMetrics
) -> Retaining:
    return Retaining(
        database=pool,
        store=RetainingStore(pool),
        index=index,
        deleting=deleting,
        service_rules=settings.memory.values(),
        clock=SystemClock(),
        config=retaining_config(settings),
        metrics=metrics,
    )


def build_sweeping(settings: Settings, pool: Database, objects: Objects) -> Sweeping:
    chosen = settings.artifacts
    config = SweepConfig(sweep_seconds=chosen.sweep_seconds, orphan_seconds=chosen.orphan_seconds)
    return Sweeping(objects=objects, store=ArtifactStore(pool), clock=SystemClock(), config=config)
