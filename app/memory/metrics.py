"""Counters of the memory's work in this process: claims, steps, new versions, and model calls with their cost."""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram

from app.memory.records import Run

CALL = ("provider", "model", "kind")
CALL_SECONDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 90.0, 180.0)
LAG_SECONDS = (1.0, 10.0, 60.0, 300.0, 1_800.0, 7_200.0, 28_800.0, 86_400.0, 604_800.0)
WAIT_SECONDS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 60.0, 300.0, 1_800.0)


class MemoryMetrics:
    """Without a registry nothing is exported."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self._waits = Histogram(
            "daybook_claim_wait_seconds",
            "Seconds from when a memory was due until a worker claimed it",
            buckets=WAIT_SECONDS,
            registry=registry,
        )
        self._lags = Histogram(
            "daybook_observed_after_seconds",
            "Seconds from when the oldest message of an observation was stored until it was observed",
            buckets=LAG_SECONDS,
            registry=registry,
        )
        self._steps = Counter("daybook_steps", "Steps of the engine", ["step", "outcome"], registry=registry)
        self._versions = Counter(
            "daybook_memory_versions",
            "New versions of a log, by cause: observed, activated, reflected, consolidated, edited, deleted ...",
            ["cause"],
            registry=registry,
        )
        self._calls = Counter(
            "daybook_model_calls", "Calls of observer, reflector and extractor", [*CALL, "outcome"], registry=registry
        )
        self._tokens = Counter(
            "daybook_model_tokens",
            "Their tokens: input (cached ones included), cached, output",
            [*CALL, "direction"],
            registry=registry,
        )
        self._cost = Counter("daybook_model_cost_usd", "Their cost where a price is known", CALL, registry=registry)
        self._seconds = Histogram(
            "daybook_model_call_seconds",
            "How long they took",
            ["provider", "kind"],
            buckets=CALL_SECONDS,
            registry=registry,
        )

    def claimed(self, waited_seconds: float) -> None:
        self._waits.observe(waited_seconds)

    def observed(self, waited_seconds: float) -> None:
        self._lags.observe(waited_seconds)

    def stepped(self, step: str, outcome: str) -> None:
        self._steps.labels(step, outcome).inc()

    def versioned(self, cause: str) -> None:
        self._versions.labels(cause).inc()

    def called(self, runs: Iterable[Run]) -> None:
        for run in runs:
            call = (run.provider, run.model, run.kind)
            self._calls.labels(*call, run.outcome).inc()
            self._tokens.labels(*call, "input").inc(run.input_tokens)
            self._tokens.labels(*call, "cached").inc(run.cached_input_tokens)
            self._tokens.labels(*call, "output").inc(run.output_tokens)
            self._cost.labels(*call).inc(run.cost_usd or 0.0)
            self._seconds.labels(run.provider, run.kind).observe(run.latency_ms / 1_000)
