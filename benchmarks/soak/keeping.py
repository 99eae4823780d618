"""Waits until all work is done, then reads every session through the API."""

import asyncio
import time
from collections.abc import Iterable

import asyncpg

from benchmarks.soak.laws import Kept
from benchmarks.soak.watching import DUE
from tests.conftest import Service
from tests.journeys.looks import items

DRAIN_SECONDS, LOOK_SECONDS = 300.0, 1.0
AT_ONCE = 4


async def drained(service: Service, dsn: str, *, left: int = 0) -> tuple[int, float]:
    """Wait until at most ``left`` memories have work to do, or the time is up; returns their number and the seconds.

    Stalled memories are redriven meanwhile, as an operator does (docs/operations.md).
    """
    started = time.monotonic()
    connection = await asyncpg.connect(dsn)
    try:
        while (due := await connection.fetchval(DUE)) > left and time.monotonic() < started + DRAIN_SECONDS:
            await redrive(service)
            await asyncio.sleep(LOOK_SECONDS)
    finally:
        await connection.close()
    return due, time.monotonic() - started


async def redrive(service: Service) -> None:
    for stalled in await items(service, "/sessions", status="stalled"):
        await service.client.post(f"/sessions/{stalled['session']}/memory/redrive")


async def kept(service: Service, sessions: Iterable[str]) -> dict[str, Kept]:
    turns = asyncio.Semaphore(AT_ONCE)

    async def read(session: str) -> Kept:
        async with turns:
            return await _kept(service, session)

    names = [*sessions]
    return dict(zip(names, await asyncio.gather(*map(read, names)), strict=True))


async def _kept(service: Service, session: str) -> Kept:
    stored = await items(service, f"/sessions/{session}/messages")
    memory = await service.memory(session)
    return Kept(
        ids=[message["id"] for message in stored],
        seqs=[message["seq"] for message in stored],
        gaps=len(memory["coverage"]["gaps"]),
        settled=memory["status"] == "idle" and memory["attempts"] == 0 and memory["last_error"] is None,
    )
