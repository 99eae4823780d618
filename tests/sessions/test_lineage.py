"""Who holds a session with its branches holds them in the order of all who lock several."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from app.kit.db import Database, DatabaseConfig
from app.sessions.lineage import LOOKS_MAX, family, hold
from app.sessions.store import session_id
from tests.conftest import Service
from tests.fuzz.statements import WatchedDatabase
from tests.journeys.looks import until
from tests.sessions.test_routes import said

PARENT, CHILD = "s1", next(f"b{n}" for n in range(99) if session_id("default", f"b{n}") < session_id("default", "s1"))
LOCKING = "SELECT id FROM sessions WHERE id = $1 FOR UPDATE NOWAIT"
EARLY = next(f"c{n}" for n in range(99) if session_id("default", f"c{n}") < session_id("default", PARENT))
BLOCKED = "SELECT true FROM pg_stat_activity WHERE pg_backend_pid() <> pid AND $1 = ANY(pg_blocking_pids(pid))"
# Whoever waits for a lock but the engine, which looks at a memory by itself after each change of a config.
WAITING = (
    "SELECT true FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    " AND query !~ '^/\\* (claim|renew|settle) '"
)


async def _erase(service: Service) -> Any:
    return await service.client.delete(f"/sessions/{PARENT}/messages/m-1")


async def _delete(service: Service) -> Any:
    return await service.client.delete(f"/sessions/{PARENT}")


async def _delete_resource(service: Service) -> Any:
    return await service.client.delete("/resources/ana")


@pytest.mark.parametrize("act", [_erase, _delete, _delete_resource])
async def test_a_branch_that_comes_first_by_its_id_is_held_before_its_parent(
    service: Service, database_url: str, act: Callable[[Service], Coroutine[Any, Any, Any]]
) -> None:
    """Else an erasure, and one that deletes the resource of both, are in a deadlock."""
    body = {"messages": [said("Hello", id="m-1")], "resource_id": "ana"}
    assert (await service.client.post("/sessions/s0/messages", json=body)).status_code == 201
    for parent, key in (("s0", PARENT), (PARENT, CHILD)):
        assert (await service.client.post(f"/sessions/{parent}/branch", json={"key": key})).status_code == 201
    holding, looking = await asyncpg.connect(database_url), await asyncpg.connect(database_url)
    try:
        async with holding.transaction():
            await holding.execute(LOCKING, session_id("default", CHILD))
            acting = asyncio.create_task(act(service))
            await until(partial(looking.fetchval, WAITING), bool)
            await holding.execute(LOCKING, session_id("default", PARENT))
        assert (await acting).status_code == 200
    finally:
        await holding.close()
        await looking.close()


@pytest.mark.parametrize("act", [_erase, _delete, _delete_resource])
async def test_a_branch_that_is_made_before_its_parent_is_held_is_held_in_its_turn(
    service: Service, database_url: str, act: Callable[[Service], Coroutine[Any, Any, Any]]
) -> None:
    body = {"messages": [said("Hello", id="m-1")], "resource_id": "ana"}
    assert (await service.client.post(f"/sessions/{PARENT}/messages", json=body)).status_code == 201
    assert (await service.client.post(f"/sessions/{PARENT}/branch", json={"key": CHILD})).status_code == 201
    first, second, looking = [await asyncpg.connect(database_url) for _ in range(3)]
    try:
        async with second.transaction():
            async with first.transaction():
                await first.execute(LOCKING, session_id("default", CHILD))
                acting = asyncio.create_task(act(service))
                await until(partial(looking.fetchval, BLOCKED, first.get_server_pid()), bool)
                branched = await service.client.post(f"/sessions/{PARENT}/branch", json={"key": EARLY})
                assert branched.status_code == 201
                await second.execute(LOCKING, session_id("default", EARLY))
            await until(partial(looking.fetchval, BLOCKED, second.get_server_pid()), bool)
            await second.execute(LOCKING, session_id("default", PARENT))
        assert (await acting).status_code == 200
    finally:
        for connection in (first, second, looking):
            await connection.close()


class Order:
    """Of locks and looks, which are named here by their statement or by the test."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def before(self, name: str) -> None:
        """What counts is what was done."""

    def after(self, name: str) -> None:
        self.told.append(name)


async def test_all_that_come_while_others_are_held_are_held_too(service: Service, service_url: str) -> None:
    """Else who erases waits, out of the order, for one that another holds: a deadlock, 503 after a second."""
    await service.append(PARENT, said())
    for n in range(LOOKS_MAX + 2):
        assert (await service.client.post(f"/sessions/{PARENT}/branch", json={"key": f"d{n}"})).status_code == 201
    family = [session_id("default", key) for key in (PARENT, *(f"d{n}" for n in range(LOOKS_MAX + 2)))]
    order = Order()

    async def find() -> set[UUID]:
        order.after("look")
        return set(family[: order.told.count("look")])

    database = WatchedDatabase(Database(DatabaseConfig(url=service_url)), order)
    await database.open()
    try:
        async with database.tx() as tx:
            assert await hold(tx, find) == set(family)
            looks = [name for name in order.told if name in {"look", "hold_sessions", "hold_free"}]
            assert looks[-1] == "look"  # else one that went meanwhile is held for a memory that it left
    finally:
        await database.close()


async def _share(service: Service) -> list[int]:
    said_of_it = await service.client.put("/resources/ana", json={"metadata": {"plan": "pro"}})
    body = {"resource_id": "ana", "config": {"scope": "resource"}}
    return [said_of_it.status_code, (await service.client.put(f"/sessions/{PARENT}", json=body)).status_code]


async def test_a_resource_of_which_nothing_was_said_is_held_before_its_sessions(
    service: Service, database_url: str
) -> None:
    """Else its deletion, and one that makes it to share its memory, are in a deadlock."""
    assert (await service.client.put(f"/sessions/{PARENT}", json={"resource_id": "ana"})).status_code == 201
    holding, looking = await asyncpg.connect(database_url), await asyncpg.connect(database_url)
    try:
        async with holding.transaction():
            await holding.execute(LOCKING, session_id("default", PARENT))
            deleting = asyncio.create_task(_delete_resource(service))
            await until(partial(looking.fetchval, WAITING), bool)
            sharing = asyncio.create_task(_share(service))
            await until(partial(looking.fetch, WAITING), lambda waiting: len(waiting) == 2)
        deleted = await deleting
        assert (deleted.status_code, deleted.json()["rows"]["resources"]) == (200, 0)
        assert await sharing == [201, 201]
    finally:
        await holding.close()
        await looking.close()


async def test_a_session_that_went_and_came_again_while_it_was_waited_for_is_held(
    service: Service, database_url: str
) -> None:
    await service.append(PARENT, said())
    session = session_id("default", PARENT)
    remaking, holding, looking = [await asyncpg.connect(database_url) for _ in range(3)]
    try:
        async with holding.transaction():
            async with remaking.transaction():
                await remaking.execute("DELETE FROM sessions WHERE id = $1", session)
                held = asyncio.create_task(hold(holding, partial(family, holding, [session])))
                await until(partial(looking.fetchval, BLOCKED, remaking.get_server_pid()), bool)
                again = "INSERT INTO sessions (id, tenant, key, memory_id) VALUES ($1, 'default', $2, $1)"
                await remaking.execute(again, session, PARENT)
            await held
            with pytest.raises(asyncpg.LockNotAvailableError):
                await looking.execute(LOCKING, session)
    finally:
        for connection in (remaking, holding, looking):
            await connection.close()
