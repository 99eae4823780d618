"""Simulates several processes of the service in one, each with an engine, model and death of its own, on one pool."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

import httpx2 as httpx
from prometheus_client import CollectorRegistry
from starlette.datastructures import Headers

from app.keys.auth import LOCAL
from app.kit.auth import Caller
from app.kit.db import Database
from app.kit.tracing import UNTRACED
from app.main import create_app
from app.memory.changing.retaining import Retaining, RetainingConfig
from app.memory.changing.retaining_store import RetainingStore
from app.memory.charging import Charging
from app.memory.extractive.roles import ExtractiveExtractor
from app.memory.queue_store import QueueStore
from app.memory.records import Lease
from app.memory.spending import Amount, Caps
from app.memory.spending_store import SpendingStore
from app.parts import Base, build_memory, build_recall
from app.recall import index_store
from app.redaction.model import OFF
from app.roles import Roles
from app.services import provide_services
from app.sessions.metrics import SessionMetrics
from app.setting_groups import ContextSettings, EngineSettings, HttpSettings
from app.settings import Settings
from tests.conftest import Service
from tests.fuzz.model import FatedObserver, FatedReflector, Script
from tests.fuzz.statements import Cut, WatchedDatabase

SETTINGS = Settings(http=HttpSettings(access_log=False), context=ContextSettings(elsewhere_tokens=0))
LONG_LEASE, SHORT_LEASE = 3_600.0, 0.03  # ends only when the test ends it; is renewed, or lapses, within a step
QUIET_SECONDS = 120.0


class Later:
    """A clock 31 days ahead, so that all messages are old."""

    @staticmethod
    async def now() -> datetime:
        return datetime.now(UTC) + timedelta(days=31)


class Anyone:
    """An authority that asks for no key, and no database."""

    @staticmethod
    async def caller(_headers: Headers) -> Caller:
        return LOCAL


class Life:
    """The number of statements that a process may still execute; then its connections are cut."""

    def __init__(self) -> None:
        self.left: int | None = None
        self.ended = False
        self._inside = False

    def ends_in(self, statements: int, *, inside: bool) -> None:
        """``inside``: one more statement is executed, but its answer is lost."""
        self.left, self._inside = statements, inside

    @property
    def is_bounded(self) -> bool:
        return self.ended or self.left is not None

    def end(self) -> None:
        self.ended = True

    def before(self, _name: str) -> None:
        if self.left == 0 and not self._inside:
            self.ended = True
        self._cut()

    def after(self, _name: str) -> None:
        if self.left is not None:
            self.left -= 1
        if self.left is not None and self.left < 0:
            self.ended = True
        self._cut()

    def _cut(self) -> None:
        if self.ended:
            raise Cut


class Counting(SpendingStore):
    """Counts the calls that are charged when their reservation no longer counts.

    That is so if the lease has lapsed or another process has it, or if another day has begun.
    """

    RESERVED: Final = """
        SELECT EXISTS (
          SELECT FROM memories m JOIN spending s ON s.memory_id = m.id AND s.reserved_epoch = m.lease_epoch
          WHERE m.id = $1 AND m.lease_epoch = $2 AND m.lease_owner IS NOT NULL AND m.due_at > now()
            AND s.day = (now() AT TIME ZONE 'UTC')::date)
    """
    LEASED: Final = """
        SELECT EXISTS (SELECT FROM memories WHERE id = $1 AND lease_epoch = $2 AND lease_owner IS NOT NULL
          AND due_at > now())
    """

    def __init__(self, database: Database, process: "Process") -> None:
        super().__init__(database)
        self._process = process

    async def charge(
        self, lease: Lease, tenant: str, spent: Amount, *, unpriced_tokens: int, reserved_at: datetime
    ) -> None:
        counted = await self._is(self.RESERVED, lease)
        try:
            await super().charge(lease, tenant, spent, unpriced_tokens=unpriced_tokens, reserved_at=reserved_at)
        finally:
            counted = counted and await self._is(self.LEASED, lease)
            self._process.uncounted += not counted

    async def _is(self, question: str, lease: Lease) -> bool:
        async with self._process.database.connection() as connection:  # not watched, so never cut
            return bool(await connection.fetchval(question, lease.memory_id, lease.epoch))


class Process:
    """One process of the service as ``app.main`` builds it, except for its model, its sweep and its connections."""

    def __init__(self, database: Database, *, number: int) -> None:
        self.database = database
        self._number = number
        self.lease_seconds = LONG_LEASE
        self.caps = Caps()
        self.uncounted = 0  # calls whose reservation no longer counted when they were charged
        self._app = create_app(SETTINGS)
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app=self._app), base_url="http://fuzz")
        self.service = Service("http://fuzz", client, self._app)
        self.start()

    def start(self) -> None:
        """Begin a new life, without in-memory state of the one before."""
        self.life, self.script = Life(), Script()
        database = WatchedDatabase(self.database, self.life)
        self.queue = QueueStore(database)
        # Not validated: a lease that lapses within a step is shorter than the settings allow.
        engine = EngineSettings.model_construct(lease_seconds=self.lease_seconds, grace_seconds=0)
        base = Base(
            settings=SETTINGS.model_copy(update={"engine": engine}),
            database=database,
            name=f"process-{self._number}",
            registry=CollectorRegistry(),
            tracer=UNTRACED,
            roles=Roles(
                observer=FatedObserver(self.script),
                extractor=ExtractiveExtractor(),
                reflector=FatedReflector(self.script),
                models=(),
                embedder=None,
                guards={},
                named=(),
            ),
            redaction=OFF,
            charging=Charging(database=database, store=Counting(database, self), caps=self.caps),
            session_metrics=SessionMetrics(),
            objects=None,
        )
        memory = build_memory(base)
        self.engine = memory.engine
        state = self._app.state
        state.database = database
        state.auth = Anyone()
        provide_services(state, base, memory, build_recall(base))
        self.retaining = Retaining(
            database=database,
            store=RetainingStore(database),
            index=index_store,
            deleting=state.deleting,
            service_rules={"retention": {"days": 30, "keep": "memory"}},
            now=Later.now,
            config=RetainingConfig(batch_messages=3),
            metrics=base.session_metrics,
        )

    async def kill(self) -> None:
        """End this life between two statements, without releasing leases, and begin the next."""
        self.life.end()
        await self.engine.stop()
        self.start()

    async def stop(self) -> None:
        """Stop gracefully, giving back unfinished work, and begin the next life."""
        await self.engine.stop()
        self.start()

    async def work(self, memory: UUID) -> None:
        self.engine.wake(memory)
        await self.quiet()

    async def quiet(self) -> None:
        """Wait until the engine has nothing to do, or a model call is held. Raises TimeoutError."""
        async with asyncio.timeout(QUIET_SECONDS), self._holding() as holding:
            while self.engine._tasks and not self.script.held:
                await asyncio.wait({*self.engine._tasks.values(), holding}, return_when=asyncio.FIRST_COMPLETED)
                await asyncio.sleep(0)  # a callback removes a finished task from the engine

    @asynccontextmanager
    async def _holding(self) -> AsyncIterator["asyncio.Task[bool]"]:
        task = asyncio.create_task(self.script.holding.wait())
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def close(self) -> None:
        await self.kill()
        await self.service.client.aclose()
