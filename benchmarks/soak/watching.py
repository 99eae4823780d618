"""Samples what must not grow every EVERY_SECONDS: memory, threads, connections, and due work."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import asyncpg
import psutil

from app.kit.db import AWAY
from benchmarks.soak.ground import Ground

EVERY_SECONDS = 2.0
CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
DUE = "SELECT count(*) FROM memories WHERE due_at IS NOT NULL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """``at`` by the monotonic clock. Sums over all workers: resident bytes, threads, open files and sockets.

    Of the database: its connections, and memories that have work to do or wait for a time.
    """

    at: float
    rss_bytes: int
    threads: int
    files: int
    connections: int
    due: int


async def watch(ground: Ground, dsn: str, samples: list[Sample]) -> None:
    """Append samples for ever; while a process or the database is away there is none."""
    while True:
        with suppress(psutil.Error, *AWAY):
            samples.append(await sample(ground.workers(), dsn))
        await asyncio.sleep(EVERY_SECONDS)


async def sample(workers: Sequence[psutil.Process], dsn: str) -> Sample:
    connection = await asyncpg.connect(dsn)
    try:
        connections, due = await connection.fetchval(CONNECTIONS), await connection.fetchval(DUE)
    finally:
        await connection.close()
    return Sample(
        at=time.monotonic(),
        rss_bytes=sum(worker.memory_info().rss for worker in workers),
        threads=sum(worker.num_threads() for worker in workers),
        files=sum(worker.num_fds() for worker in workers),
        connections=connections,
        due=due,
    )
