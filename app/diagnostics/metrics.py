"""The Prometheus exposition: the counters of this process, and gauges read from the database per scrape.

Counters are each process's own; the gauges are about all processes, and the same from each.
"""

from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, Gauge, Metric, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from app import VERSION
from app.diagnostics.backlog_store import Backlog, BacklogStore
from app.kit.db import AWAY, EVERY_TENANT, Database, acting_for
from app.llm.guard import Guard
from app.memory.status import MemoryStatus

# Upper bounds, in seconds, of the age of the oldest message not yet observed, with their labels.
AGES: Mapping[float, str] = {60: "1m", 600: "10m", 3_600: "1h", 86_400: "1d"}
OLDER = "older"
BACKLOG_MAX = 5_000  # memories that one scrape reads, those longest due


class OptionalGauge(Collector):
    """A gauge without labels that can have no value, which the library's cannot."""

    def __init__(self, name: str, about: str) -> None:
        self._name, self._about = name, about
        self.value: float | None = None

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(self._name, self._about, value=self.value)


class Metrics:
    def __init__(
        self,
        registry: CollectorRegistry,
        *,
        database: Database,
        store: BacklogStore,
        guards: Mapping[str, Guard],
    ) -> None:
        self._registry = registry
        self._database = database
        self._store = store
        self._guards = guards

        def gauge(name: str, about: str, *labels: str) -> Gauge:
            return Gauge(f"daybook_{name}", about, labels, registry=registry)

        gauge("build_info", "1, of this version", "version").labels(VERSION).set(1)
        self._up = gauge("database_up", "1 if the database answered when this was asked for")
        self._memories = gauge("memories", "Memories that have something to do or to wait for, by status", "status")
        self._pending = gauge(
            "pending_tokens", "Tokens they have not observed, by the age of their oldest such message", "age"
        )
        self._oldest = OptionalGauge("daybook_pending_seconds_max", "Age of the oldest of these messages")
        registry.register(self._oldest)
        self._pool = gauge("pool_connections", "Connections to the database: size, in_use, waiting, max", "state")
        self._open = gauge("provider_circuit_open", "1 while no call is made to this provider", "provider")

    async def text(self) -> bytes:
        """The exposition format. While the database is away its gauges are left out."""
        self._set(await self._backlog())
        pool = self._database.pool_state()
        for state, connections in pool.items():
            self._pool.labels(state).set(connections)
        for provider, guard in self._guards.items():
            self._open.labels(provider).set(guard.is_open())
        return generate_latest(self._registry)

    async def _backlog(self) -> Backlog | None:
        try:
            with acting_for(EVERY_TENANT):
                return await self._store.backlog(ages=list(AGES), limit=BACKLOG_MAX)
        except AWAY:
            return None

    def _set(self, backlog: Backlog | None) -> None:
        self._up.set(backlog is not None)
        self._memories.clear()
        self._pending.clear()
        self._oldest.value = None if backlog is None else backlog.oldest_seconds
        if backlog is None:
            return
        for status in MemoryStatus:
            if status is not MemoryStatus.DISABLED:  # disabled memories have nothing to do
                self._memories.labels(status.value).set(backlog.memories.get(status, 0))
        for age, tokens in zip((*AGES.values(), OLDER), backlog.pending_tokens, strict=True):
            self._pending.labels(age).set(tokens)
