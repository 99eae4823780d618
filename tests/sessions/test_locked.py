"""Sessions that somebody keeps locked, a client outside of the service or a long deletion, stop no other."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import asyncpg
import pytest

from tests.conftest import Service
from tests.journeys.looks import until
from tests.pooler import is_pooled
from tests.sessions.test_lineage import WAITING
from tests.sessions.test_routes import said

MANY = 40  # several times the connections of the pool


def say(service: Service, number: int) -> Awaitable[Any]:
    return service.client.post("/sessions/s1/messages", json={"messages": [said(id=f"n-{number}")]})


def put(service: Service, _number: int) -> Awaitable[Any]:
    return service.configure("s1", keep_last=3)


def replace(service: Service, _number: int) -> Awaitable[Any]:
    return service.client.put("/sessions/s1/messages/m-1", json=said("Other"))


def erase(service: Service, _number: int) -> Awaitable[Any]:
    return service.client.delete("/sessions/s1/messages/m-1")


def end(service: Service, _number: int) -> Awaitable[Any]:
    return service.client.post("/sessions/s1/end")


def delete(service: Service, _number: int) -> Awaitable[Any]:
    return service.client.delete("/sessions/s1")


def compact(service: Service, _number: int) -> Awaitable[Any]:
    return service.client.post("/sessions/s1/compact", json={"up_to_seq": 1})


def forget(service: Service, _number: int) -> Awaitable[Any]:
    return service.client.delete("/sessions/s1/memory/observations")


def branch(service: Service, number: int) -> Awaitable[Any]:
    return service.client.post("/sessions/s1/branch", json={"key": f"b-{number}"})


def state(service: Service, number: int) -> Awaitable[Any]:
    return service.client.put(f"/sessions/s1/state/x{number}", json=number)


def artifact(service: Service, number: int) -> Awaitable[Any]:
    return service.client.put(f"/sessions/s1/artifacts/a-{number}", content=b"a")


ACTS = (say, put, replace, erase, end, delete, compact, forget, branch, state, artifact)


@pytest.mark.parametrize("act", ACTS)
async def test_others_are_answered_while_one_session_is_kept_locked(
    service: Service, service_url: str, database_url: str, act: Callable[[Service, int], Awaitable[Any]]
) -> None:
    if is_pooled(service_url):
        pytest.skip("the pooler has fewer connections than half of the service's pool: those who wait take them all")
    await service.append("s1", said(id="m-1"))
    holding, looking = await asyncpg.connect(database_url), await asyncpg.connect(database_url)
    acting: list[asyncio.Future[Any]] = []
    try:
        async with holding.transaction():
            await holding.execute("SELECT FROM sessions FOR UPDATE")
            acting = [asyncio.ensure_future(act(service, number)) for number in range(MANY)]
            await until(partial(looking.fetchval, WAITING), bool)
            for number in range(MANY):  # as long as any of them is on its way to its connection
                await service.append("other", said(id=f"o-{number}"))
        await asyncio.gather(*acting)
    finally:
        await asyncio.gather(*acting, return_exceptions=True)
        await holding.close()
        await looking.close()


SEVERAL = tuple(f"locked-{number}" for number in range(6))  # more than have a connection: of ten they have 5, 2, 1, 1
OF_EACH = 12  # of all more than connections of the pool, and fewer than of the client
ALL_BUT_ONE = 9  # of the pool
ROUNDS = 10
HELD_UP = WAITING.replace("true", "count(*)")


async def test_others_are_answered_while_several_sessions_are_kept_locked(
    service: Service, service_url: str, database_url: str
) -> None:
    if is_pooled(service_url):
        pytest.skip("the pooler has fewer connections than half of the service's pool: those who wait take them all")
    for key in (*SEVERAL, "other"):
        await service.append(key, said(id="m-1"))
    holding, looking = await asyncpg.connect(database_url), await asyncpg.connect(database_url)
    appending: list[asyncio.Future[Any]] = []
    try:
        async with holding.transaction():
            await holding.execute("SELECT FROM sessions WHERE key = ANY($1) FOR UPDATE", SEVERAL)
            for number in range(OF_EACH):
                appending += [asyncio.ensure_future(service.append(key, said(id=f"n-{number}"))) for key in SEVERAL]
            await until(partial(looking.fetchval, HELD_UP), lambda number: number >= ALL_BUT_ONE)
            for number in range(ROUNDS):
                await service.append("other", said(id=f"o-{number}"))
                await service.context("other")
        await asyncio.gather(*appending)
    finally:
        await asyncio.gather(*appending, return_exceptions=True)
        await holding.close()
        await looking.close()
    for key in SEVERAL:
        assert len((await service.context(key, format="neutral"))["payload"]["messages"]) == 1 + OF_EACH
