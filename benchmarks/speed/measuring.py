"""Measures one load on one target: throughput, latency, and CPU time from /proc."""

import asyncio
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from statistics import median, quantiles

import psutil

from benchmarks.speed.load import Load, Plan, run
from benchmarks.speed.targets import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The figures of one load. CPU is in ms per request: of the service, of Postgres, and of the sender itself."""

    per_second: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    service_cpu_ms: float
    database_cpu_ms: float
    sender_cpu_ms: float
    requests: int
    failed: int
    answer_bytes: int
    rss_bytes: int


async def measured(sender: ProcessPoolExecutor, target: Target, postgres: int, plan: Plan) -> Measured:
    """Measure a load. ``postgres`` is the postmaster's pid; all that Postgres does meanwhile counts."""
    before = _cpu_seconds(target.pids), _cpu_seconds([postgres])
    load = await asyncio.get_running_loop().run_in_executor(sender, run, plan)
    after = _cpu_seconds(target.pids), _cpu_seconds([postgres])
    rss = sum(process.memory_info().rss for process in _with_children(target.pids))
    return _told(load, service=after[0] - before[0], database=after[1] - before[1], rss=rss)


def _told(load: Load, *, service: float, database: float, rss: int) -> Measured:
    found = sorted(load.latencies)
    if len(found) < 2:  # noqa: PLR2004 - no quantiles of less
        raise RuntimeError(f"{len(found)} requests were answered and {load.failed} failed: nothing to measure")
    cuts = quantiles(found, n=100)
    each = 1000 / len(found)
    return Measured(
        per_second=len(found) / load.seconds,
        p50_ms=median(found),
        p95_ms=cuts[94],
        p99_ms=cuts[98],
        service_cpu_ms=service * each,
        database_cpu_ms=database * each,
        sender_cpu_ms=load.cpu_seconds * each,
        requests=len(found),
        failed=load.failed,
        answer_bytes=load.answer_bytes,
        rss_bytes=rss,
    )


def _cpu_seconds(pids: Iterable[int]) -> float:
    """User and system time of these processes and their descendants that still run."""
    total = 0.0
    for process in _with_children(pids):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue  # a worker of the database that has ended meanwhile
        total += times.user + times.system
    return total


def _with_children(pids: Iterable[int]) -> list[psutil.Process]:
    roots = [psutil.Process(pid) for pid in pids]
    return [*roots, *(child for root in roots for child in root.children(recursive=True))]


def medians(rounds: Sequence[Measured]) -> Measured:
    """The median of each figure over the rounds; requests and failures are summed, memory is the maximum."""
    return Measured(
        per_second=median(one.per_second for one in rounds),
        p50_ms=median(one.p50_ms for one in rounds),
        p95_ms=median(one.p95_ms for one in rounds),
        p99_ms=median(one.p99_ms for one in rounds),
        service_cpu_ms=median(one.service_cpu_ms for one in rounds),
        database_cpu_ms=median(one.database_cpu_ms for one in rounds),
        sender_cpu_ms=median(one.sender_cpu_ms for one in rounds),
        requests=sum(one.requests for one in rounds),
        failed=sum(one.failed for one in rounds),
        answer_bytes=rounds[-1].answer_bytes,
        rss_bytes=max(one.rss_bytes for one in rounds),
    )
