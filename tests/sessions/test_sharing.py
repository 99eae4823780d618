"""Sessions that come to a shared memory and leave it while others are at it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import asyncpg
import pytest

from app.kit.db import Database, DatabaseConfig
from app.sessions.deleting_store import lock_resource
from app.sessions.errors import SessionMoved, SessionNotFound
from app.sessions.sharing import Sharer
from app.sessions.sharing_store import LOCK_OWNER, hold_related, leave
from app.sessions.sharing_store import share as share_memory
from app.sessions.store import SESSION, SessionStore, session_id, session_of
from tests.conftest import Service
from tests.fuzz import laws
from tests.fuzz.statements import WatchedDatabase
from tests.journeys.looks import until
from tests.memory.test_sharing import SMALL, say, share
from tests.sessions.test_lineage import LOCKING, WAITING
from tests.sessions.test_routes import said

SHARED = {"scope": "resource"}
ONE = Sharer(tenant="default", session=session_id("default", "one"), key="one", resource_id="ana")


@asynccontextmanager
async def opened(database_url: str) -> AsyncIterator[tuple[Database, asyncpg.Connection]]:
    database, looking = Database(DatabaseConfig(url=database_url)), await asyncpg.connect(database_url)
    await database.open()
    try:
        yield database, looking
    finally:
        await looking.close()
        await database.close()


async def waiting(looking: asyncpg.Connection, number: int) -> None:
    await until(partial(looking.fetch, WAITING), lambda found: len(found) == number)


def move(service: Service, key: str, resource: str) -> Any:
    return service.client.put(f"/sessions/{key}", json={"resource_id": resource, "config": SHARED})


async def test_a_session_that_joins_a_memory_while_it_is_deleted_takes_nothing_of_it(
    service: Service, database_url: str
) -> None:
    await share(service, "two")
    hello = said("Hello", id="m-1")
    await service.append("two", hello)
    await service.configure("one", scope="session")
    async with opened(database_url) as (database, looking):
        async with database.tx() as tx:
            found = await SessionStore(database).get("default", "one")
            assert not await share_memory(tx, ONE, {}, found=found, timezone="UTC")
            deleting = asyncio.create_task(service.client.delete("/sessions/one"))
            await waiting(looking, 1)
        assert (await deleting).status_code == 200
        again = await service.client.post("/sessions/two/messages", json={"messages": [hello]})
        assert (again.status_code, again.json()["replayed"]) == (200, 1)
        assert (await service.memory("two"))["pending"]["messages"] == 1


class AtSecondLook:
    """Does something, in a thread of its own, once a transaction has looked twice for a session and its branches."""

    def __init__(self, act: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._act = act
        self._looks = 0

    def before(self, name: str) -> None:
        """Nothing is done before a statement."""

    def after(self, name: str) -> None:
        self._looks += name == "family"
        if name == "family" and self._looks == 2:
            with ThreadPoolExecutor(max_workers=1) as pool:
                pool.submit(asyncio.run, self._act()).result()


async def test_who_deletes_a_session_that_came_after_the_look_for_it_takes_no_memory_of_others(
    service: Service, database_url: str
) -> None:
    await share(service, "two")
    await service.append("two", said("Hello"))

    async def come() -> None:
        async with opened(database_url) as (database, _), database.tx() as tx:
            assert await share_memory(tx, ONE, {}, timezone="UTC")

    async with opened(database_url) as (database, _):
        deleting = copy(service.app.state.deleting)
        deleting._database = WatchedDatabase(database, AtSecondLook(come))
        with suppress(SessionNotFound):
            await deleting.session("default", "one")
        await laws.every_memory_has_a_session(database)
    assert (await service.get("/sessions/one"))["resource_id"] == "ana"
    assert (await service.memory("two"))["pending"]["messages"] == 1


async def test_a_session_that_leaves_a_memory_while_it_is_deleted_leaves_none_of_its_own(
    service: Service, database_url: str
) -> None:
    await share(service, "one", "two")
    await service.append("two", said("Hello"))
    async with opened(database_url) as (database, looking):
        async with database.tx() as tx:
            await tx.execute("SELECT FROM resources FOR UPDATE")
            leaving = asyncio.create_task(service.configure("one", scope="session"))
            await waiting(looking, 1)
            deleting = asyncio.create_task(service.client.delete("/sessions/one"))
            await waiting(looking, 2)
        await leaving
        assert (await deleting).status_code == 200
        assert await looking.fetchval("SELECT count(*) FROM memories") == 1
    branched = await service.client.post("/sessions/two/branch", json={"key": "one"})
    assert branched.status_code == 201


async def test_two_sessions_that_change_their_resources_are_in_no_deadlock(service: Service, database_url: str) -> None:
    await share(service, "one")
    assert (await move(service, "two", "bob")).status_code == 201
    async with opened(database_url) as (database, looking):
        async with database.tx() as tx:
            await tx.execute(LOCKING, session_id("default", "one"))
            moving = [asyncio.create_task(move(service, "one", "bob"))]
            await waiting(looking, 1)
            moving.append(asyncio.create_task(move(service, "two", "ana")))
            await waiting(looking, 2)
        assert [(await moved).status_code for moved in moving] == [200, 200]
        memories = await looking.fetchval("SELECT count(*) FROM memories WHERE id IN (SELECT memory_id FROM sessions)")
        assert memories == await looking.fetchval("SELECT count(*) FROM memories") == 2


async def test_a_session_that_moved_meanwhile_is_moved_from_where_it_is(service: Service, database_url: str) -> None:
    """Else nobody holds the memory that it leaves, which stays without a session."""
    await service.configure("one", scope="session")
    async with opened(database_url) as (database, looking):
        async with database.tx() as tx:
            found = await SessionStore(database).get("default", "one")
            await share_memory(tx, ONE, {}, found=found, timezone="UTC")
            moving = asyncio.create_task(move(service, "one", "bob"))
            await waiting(looking, 1)
        assert (await moving).status_code == 200
        assert (await service.get("/sessions/one"))["resource_id"] == "bob"
        assert await looking.fetchval("SELECT count(*) FROM memories") == 1


async def test_a_config_given_while_the_session_joins_a_memory_is_that_of_all_who_share_it(
    service: Service, database_url: str
) -> None:
    await share(service, "two")
    await service.configure("one", scope="session")
    async with opened(database_url) as (database, looking):
        async with database.tx() as tx:
            found = await SessionStore(database).get("default", "one")
            await share_memory(tx, ONE, {}, found=found, timezone="UTC")
            given = asyncio.create_task(service.configure("one", keep_last=3))
            await waiting(looking, 1)
        await given
    configs = [(await service.get(f"/sessions/{key}"))["config"] for key in ("one", "two")]
    assert configs == [SHARED | {"keep_last": 3}] * 2


async def test_who_deletes_a_session_that_moved_holds_where_it_was_no_more(service: Service, database_url: str) -> None:
    """Else it is in a deadlock with another one that moves from there."""
    await share(service, "one")
    assert (await service.client.put("/resources/aaron", json={})).status_code == 201
    async with opened(database_url) as (database, looking), database.tx() as other:
        found = await SessionStore(database).get("default", "one")
        async with database.tx() as tx:
            aaron = replace(ONE, resource_id="aaron")
            await share_memory(tx, aaron, {}, found=found, timezone="UTC")
            deleting = asyncio.create_task(service.client.delete("/sessions/one"))
            await waiting(looking, 1)
            holding = asyncio.create_task(other.execute(LOCK_OWNER, "default", "aaron"))
            await waiting(looking, 2)
        await holding
        await waiting(looking, 1)
        await other.execute(LOCK_OWNER, "default", "ana")
    assert (await deleting).status_code == 200


async def test_a_resource_that_went_and_came_again_while_it_was_waited_for_is_held(
    service: Service, database_url: str
) -> None:
    """Else another session joins the memory that goes with the one that is deleted."""
    await share(service, "one")
    async with opened(database_url) as (database, looking), database.tx() as tx:
        async with database.tx() as remaking:
            await remaking.execute("DELETE FROM resources")
            held = asyncio.create_task(hold_related(tx, ONE.session))
            await waiting(looking, 1)
            await remaking.execute("INSERT INTO resources (tenant, id) VALUES ('default', 'ana')")
        await held
        with pytest.raises(asyncpg.LockNotAvailableError):
            await looking.execute("SELECT FROM resources FOR UPDATE NOWAIT")


async def test_who_deletes_a_resource_holds_it(service: Service, database_url: str) -> None:
    """Else a session joins it that is neither deleted nor made after the deletion."""
    await share(service, "one")
    async with opened(database_url) as (database, looking), database.tx() as tx:
        await lock_resource(tx, "default", "ana")
        with pytest.raises(asyncpg.LockNotAvailableError):
            await looking.execute("SELECT FROM resources FOR UPDATE NOWAIT")


@pytest.mark.parametrize("resource", [None, "aaron", "bob"])
async def test_who_leaves_a_resource_that_went_and_came_again_begins_anew(
    service: Service, database_url: str, resource: str | None
) -> None:
    await share(service, "one")
    async with opened(database_url) as (database, looking), database.tx() as tx:
        found = await SessionStore(database).get("default", "one")
        assert found is not None
        to = replace(ONE, resource_id=resource or "")
        left = (
            leave(tx, "default", found) if resource is None else share_memory(tx, to, {}, found=found, timezone="UTC")
        )
        async with database.tx() as remaking:
            await remaking.execute("DELETE FROM resources")
            leaving = asyncio.create_task(left)
            await waiting(looking, 1)
            await remaking.execute("INSERT INTO resources (tenant, id) VALUES ('default', 'ana')")
        with pytest.raises(SessionMoved):
            await leaving


async def test_what_is_said_while_a_session_leaves_its_memory_and_comes_back_is_counted(
    service: Service, database_url: str
) -> None:
    """The memory it has then is another row of the same id, which a statement that waited does not see."""
    await service.configure("one", scope="session")
    async with opened(database_url) as (database, looking):
        async with database.tx() as tx:
            store = SessionStore(database)
            await share_memory(tx, ONE, {}, found=await store.get("default", "one"), timezone="UTC")
            shared = session_of(await tx.fetchrow(SESSION, ONE.session))
            await leave(tx, "default", shared)
            await tx.execute("INSERT INTO memories (id, tenant, wake_tokens) VALUES ($1, 'default', 0)", ONE.session)
            saying = asyncio.create_task(service.append("one", said("Hello")))
            await waiting(looking, 1)
        assert [message["seq"] for message in (await saying)["messages"]] == [1]
        found = await laws.read_facts(database, ONE.session)
        assert found is not None
        laws.counters_are_sums(found)
        laws.log_is_whole(found)


async def test_a_config_given_while_the_session_is_deleted_does_not_bring_its_resource_back(
    service: Service, database_url: str
) -> None:
    await share(service, "one")
    deleting = service.app.state.deleting
    async with opened(database_url) as (database, looking):
        async with database.tx() as tx:
            await deleting.forget(tx, await lock_resource(tx, "default", "ana"))
            giving = asyncio.create_task(service.client.put("/sessions/one", json={"config": {"keep_last": 3}}))
            await waiting(looking, 1)
        answer = await giving
    assert (answer.status_code, answer.json()["resource_id"], answer.json()["config"]) == (201, None, {"keep_last": 3})
    assert (await service.client.get("/resources/ana")).status_code == 404


OF_A_MEMORY = ("memory_versions", "session_cursors", "observations", "reflections", "runs", "spending")


async def test_nothing_is_left_of_a_memory_that_its_last_session_leaves(service: Service, database_url: str) -> None:
    async def rows() -> dict[str, int]:
        connection = await asyncpg.connect(database_url)
        counts = [await connection.fetchval(f"SELECT count(*) FROM {table}") for table in OF_A_MEMORY]  # noqa: S608 - ours
        await connection.close()
        return dict(zip(OF_A_MEMORY, counts, strict=True))

    await share(service, "one", "two", **SMALL)
    for first in range(1, 24, 3):
        await say(service, "two", first, first + 1, first + 2)
        await service.reflect("two")
    assert (await service.client.delete("/sessions/two")).status_code == 200
    left = await rows()
    assert left["memory_versions"] > 0
    assert left["reflections"] > 0
    assert left["runs"] > 0
    await service.configure("one", scope="session")
    assert set((await rows()).values()) == {0}
    await share(service, "three", **SMALL)
    await say(service, "three", 4, 5, 6)
    memory = await service.memory("three")
    assert (memory["status"], memory["log"]["version"], memory["cursor"]["observed_seq"]) == ("idle", 1, 3)
