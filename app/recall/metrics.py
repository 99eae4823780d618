"""Prometheus metrics of vectors: written by this process, missing, and searches with and without them."""

from prometheus_client import CollectorRegistry, Counter, Gauge


class VectorMetrics:
    """Without a registry the metrics are not exported."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self._embedded = Counter("daybook_vectors_written", "Messages that were given a vector", registry=registry)
        self._lacking = Gauge(
            "daybook_vectors_lacking",
            "Indexed messages that had none yet when all sessions were last looked at",
            registry=registry,
        )
        self._searches = Counter(
            "daybook_vector_searches",
            "Searches by vectors: found, or the kind of the failure that left words alone",
            ["outcome"],
            registry=registry,
        )

    def embedded(self, messages: int) -> None:
        self._embedded.inc(messages)

    def lacking(self, messages: int) -> None:
        self._lacking.set(messages)

    def searched(self, outcome: str) -> None:
        self._searches.labels(outcome).inc()
