"""Postgres itself keeps tenants apart: what a role sees, by the tenant that is named; the service as that role."""

import asyncio
import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from itertools import product
from pathlib import Path

import asyncpg
import httpx2 as httpx
import pytest
from sqlmodel import SQLModel

from app.commands.securing import LOCK_SECONDS, secure
from app.keys.model import hashed, id_of, new_secret
from app.keys.store import KeyStore
from app.kit.auth import DEFAULT_TENANT, Access
from app.kit.db import EVERY_TENANT, TENANT_SETTING, Database, DatabaseConfig, acting_for
from app.kit.errors import StartError
from app.recall.preparing import GUARDED_SIGNATURE, check_search
from app.recall.store import GUARDED
from tests.conftest import Service, running_service
from tests.databases import clone
from tests.journeys.looks import until
from tests.keys.conftest import bearer
from tests.pooler import pooled
from tests.secured import ROLE, as_role, secured
from tests.sessions.test_deleting import fill

for declared in (Path(__file__).parents[2] / "app").glob("*/tables.py"):
    importlib.import_module(f"app.{declared.parent.name}.tables")
TABLES = sorted(SQLModel.metadata.tables)
OWN, OTHER = "acme", "globex"
EVERYTHING = f"SELECT count(*) FROM {GUARDED}($1, $$' s':*$$::tsquery)"  # noqa: S608 - our own name
SEARCHED = {"index_quiet_seconds": 0, "index_look_seconds": 0.05, "index_share": 1}


async def new_key(url: str, tenant: str) -> dict[str, str]:
    database = Database(DatabaseConfig(url=url, pool_min=1, pool_max=1))
    await database.open()
    secret = new_secret()
    key_id = id_of(secret)
    assert key_id is not None
    await KeyStore(database).insert(
        key_id=key_id, tenant=tenant, name="", scopes=[Access.ADMIN], digest=hashed(secret), expires_at=None
    )
    await database.close()
    return bearer(secret)


@pytest.fixture(scope="module")
async def url(postgres: str, worker_id: str) -> str:
    """The owner's DSN of a database that is secured for the role, twice as after an upgrade."""
    owner = await clone(postgres, f"daybook_secured_{worker_id}")
    for _ in range(2):
        await secured(owner)
    return owner


EMBEDDED = {"provider": "scripted", "look_seconds": 0.05, "share": 1.0}


@pytest.fixture(scope="module")
async def filled(url: str) -> AsyncIterator[tuple[Service, dict[str, str]]]:
    """The service as the role, with rows of one tenant in every table, and that tenant's key."""
    headers = await new_key(url, OWN)
    async with running_service(as_role(url), recall=SEARCHED, embeddings=EMBEDDED) as service:
        service.client.headers |= headers
        await fill(service, "s1", resource_id="ana")
        await service.client.put("/resources/ana", json={"metadata": {"plan": "pro"}})
        noted = await service.client.post(
            "/resources/ana/facts", json={"text": "User likes tea.", "category": "profile"}
        )
        assert noted.status_code == 201, noted.text
        await share(service)
        await until(partial(_unindexed, url), (0).__eq__)
        connection = await asyncpg.connect(url)
        await connection.execute(
            f"INSERT INTO spending (memory_id, day, tenant) SELECT id, current_date, '{OWN}' FROM memories"  # noqa: S608 - our own
        )
        await connection.execute(f"INSERT INTO tenant_spending (tenant, day) VALUES ('{OWN}', current_date)")  # noqa: S608 - our own
        await connection.close()
        yield service, headers


@pytest.fixture
async def stranger(url: str) -> AsyncIterator[dict[str, str]]:
    """A key of another tenant, for one test: the other tests are about a tenant that has nothing."""
    yield await new_key(url, OTHER)
    connection = await asyncpg.connect(url)
    await connection.execute("DELETE FROM api_keys WHERE tenant = $1", OTHER)
    await connection.close()


@asynccontextmanager
async def unkeyed(url: str) -> AsyncIterator[None]:
    """Meanwhile there is no key but those made within."""
    connection = await asyncpg.connect(url)
    kept = await connection.fetch("DELETE FROM api_keys RETURNING *")
    try:
        yield
    finally:
        await connection.execute("DELETE FROM api_keys")
        await connection.copy_records_to_table("api_keys", records=[tuple(row) for row in kept])
        await connection.close()


async def share(service: Service) -> None:
    """A session that has its memory with its resource, with a note."""
    await service.client.put("/sessions/shared", json={"resource_id": "bea", "config": {"scope": "resource"}})
    await service.append("shared", {"role": "user", "content": "I moved to Lisbon."})
    await service.observe("shared")


async def _unindexed(url: str) -> int:
    connection = await asyncpg.connect(url)
    counts = "SELECT (SELECT count(*) FROM messages) - (SELECT count(*) FROM message_vectors)"  # which come last
    left: int = await connection.fetchval(counts)
    await connection.close()
    return left


async def seen(url: str, table: str, tenant: str | None) -> int:
    """How many rows a statement that asks for all of them sees, as the role."""
    connection = await asyncpg.connect(as_role(url))
    try:
        async with connection.transaction():
            if tenant is not None:
                await connection.execute(f"SET LOCAL {TENANT_SETTING} = '{tenant}'")
            found: int = await connection.fetchval(f"SELECT count(*) FROM {table}")  # noqa: S608 - our own table names
        return found
    finally:
        await connection.close()


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("table", TABLES)
async def test_a_statement_that_forgets_the_tenant_sees_none_but_that_of_its_transaction(url: str, table: str) -> None:
    found = {tenant: await seen(url, table, tenant) for tenant in (None, "", OTHER, OWN, EVERY_TENANT)}
    assert [found[tenant] for tenant in (None, "", OTHER)] == [0, 0, 0]
    assert found[OWN] == found[EVERY_TENANT] > 0


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("table", [table for table in TABLES if table != "api_keys"])
async def test_nothing_of_another_tenant_can_be_changed_or_deleted(url: str, table: str) -> None:
    connection = await asyncpg.connect(as_role(url))
    async with connection.transaction():
        await connection.execute(f"SET LOCAL {TENANT_SETTING} = '{OTHER}'")
        deleted = await connection.execute(f"DELETE FROM {table}")  # noqa: S608 - our own table names
    await connection.close()
    assert deleted == "DELETE 0"


@pytest.mark.usefixtures("filled")
async def test_nothing_is_put_into_another_tenants_session(url: str) -> None:
    owner, stranger = await asyncpg.connect(url), await asyncpg.connect(as_role(url))
    session = await owner.fetchval("SELECT id FROM sessions")
    intruding = """
        INSERT INTO session_configs (session_id, number, changed_at, from_seq, version, config)
        VALUES ($1, 99, now(), 1, 0, '{}')
    """
    await stranger.execute(f"SET {TENANT_SETTING} = '{OTHER}'")
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="row-level security"):
        await stranger.execute(intruding, session)
    for connection in (owner, stranger):
        await connection.close()


@pytest.mark.usefixtures("filled")
async def test_whose_a_session_is_can_be_read_and_not_changed(url: str) -> None:
    connection = await asyncpg.connect(as_role(url))
    assert await connection.fetchval("SELECT count(*) FROM sessions_tenants") > 0
    for view, change in product(
        ("sessions_tenants", "memories_tenants"), ("DELETE FROM {}", "UPDATE {} SET tenant = ''")
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError, match=view):
            await connection.execute(change.format(view))
    await connection.close()


@pytest.mark.usefixtures("filled")
async def test_a_search_finds_nothing_of_a_tenant_that_is_not_named(url: str) -> None:
    owner, role = await asyncpg.connect(url), await asyncpg.connect(as_role(url))
    terms = await owner.fetchval("SELECT count(*) FROM message_terms")
    sessions = [row["id"] for row in await owner.fetch("SELECT id FROM sessions")]
    found = {}
    for tenant in ("", OTHER, OWN, EVERY_TENANT):
        await role.execute(f"SET {TENANT_SETTING} = '{tenant}'")
        found[tenant] = await role.fetchval(EVERYTHING, sessions)
    assert found == {"": 0, OTHER: 0, OWN: terms, EVERY_TENANT: terms}
    assert not await owner.fetchval("SELECT has_function_privilege('public', $1, 'EXECUTE')", GUARDED_SIGNATURE)
    for connection in (owner, role):
        await connection.close()


async def test_a_service_that_may_not_search_is_told_when_it_starts(url: str) -> None:
    owner, config = await asyncpg.connect(url), DatabaseConfig(url=as_role(url), row_level_security=True)
    await owner.execute(f"DROP FUNCTION {GUARDED_SIGNATURE}")
    await owner.close()
    with pytest.raises(StartError, match=f"may not call {GUARDED}: .* --row-level-security ROLE` again"):
        await check_search(config)
    await secured(url)
    await check_search(config)


async def test_the_service_works_as_ever_and_its_statements_see_their_callers_rows_alone(
    filled: tuple[Service, dict[str, str]], stranger: dict[str, str]
) -> None:
    service, _ = filled
    memory = await service.memory("s1")
    assert memory["coverage"]["gaps"] == []
    assert memory["log"]["observations"] + memory["log"]["reflections"] > 0
    hits = (await service.client.post("/sessions/s1/recall", json={"query": "invoice Porto"})).json()["hits"]
    assert hits
    async with httpx.AsyncClient(base_url=service.url, headers=stranger) as other:
        assert (await other.get("/sessions/s1")).status_code == 404
        said = {"messages": [{"id": "m-1", "role": "user", "content": "Hello"}]}
        assert (await other.post("/sessions/s1/messages", json=said)).status_code == 201
        assert [one["last_seq"] for one in (await other.get("/sessions")).json()["items"]] == [1]
        assert (await other.delete("/sessions/s1")).json()["rows"]["messages"] == 1
    database = service.app.state.database
    for tenant, count in ((OWN, 2), (OTHER, 0)):
        with acting_for(tenant):
            async with database.connection() as forgetful:
                assert await forgetful.fetchval("SELECT count(*) FROM sessions") == count
    backlog = (await service.client.get("/metrics")).text
    assert "daybook_database_up 1.0" in backlog


async def test_the_first_key_ends_local_mode_for_an_open_event_stream_too_whosever_it_is(url: str) -> None:
    """A stream looks on behalf of its tenant, which sees none of the keys of others."""
    async with unkeyed(url):
        events = {"poll_seconds": 0.05}
        async with running_service(as_role(url), keys={"cache_seconds": 0}, events=events) as service:
            await service.append("local", {"role": "user", "content": "Hello"})
            async with service.client.stream("GET", "/sessions/local/memory/events") as stream:
                assert stream.status_code == 200
                await new_key(url, OTHER)
                async with asyncio.timeout(30):
                    assert not [line async for line in stream.aiter_lines() if line.startswith("event:")]
            assert (await service.client.get("/sessions/local")).status_code == 401
            own = await new_key(url, DEFAULT_TENANT)
            assert (await service.client.delete("/sessions/local", headers=own)).status_code == 200


async def test_behind_a_pooler_no_transaction_has_the_tenant_of_another(
    url: str, filled: tuple[Service, dict[str, str]]
) -> None:
    _, headers = filled
    with pooled(as_role(url)) as behind:
        async with running_service(behind) as service:
            service.client.headers |= headers
            said = [service.append(f"pooled-{number}", {"role": "user", "content": "Hello"}) for number in range(8)]
            await asyncio.gather(*said)
            database = service.app.state.database

            async def sessions(tenant: str) -> int:
                with acting_for(tenant):
                    async with database.connection() as connection:
                        return int(await connection.fetchval("SELECT count(*) FROM sessions WHERE key LIKE 'pooled-%'"))

            found = await asyncio.gather(*(sessions(tenant) for tenant in (OWN, OTHER) * 10))
            for number in range(8):
                assert (await service.client.delete(f"/sessions/pooled-{number}")).status_code == 200
    assert found == [8, 0] * 10


async def test_a_user_for_whom_it_is_not_in_force_stops_the_start(url: str) -> None:
    database = Database(DatabaseConfig(url=url, row_level_security=True))
    with pytest.raises(StartError, match=r"DAYBOOK_ROW_LEVEL_SECURITY: .* does not apply to api_keys"):
        await database.open()


async def test_a_role_that_is_none_is_told_and_nothing_changes(url: str) -> None:
    with pytest.raises(StartError, match=r"no table was changed: role .nobody. does not exist"):
        await secure(DatabaseConfig(url=url), "nobody")


async def test_a_user_who_owns_nothing_is_told_what_was_not_done(url: str) -> None:
    with pytest.raises(
        StartError, match=r"^this and all later statements were not run: CREATE OR REPLACE VIEW .*: permission"
    ):
        await secure(DatabaseConfig(url=as_role(url)), ROLE)


async def test_who_waits_for_a_table_holds_no_other(url: str) -> None:
    """Else a statement that has waited for one of those for longer, and has the one that is waited for, is ended."""
    working, looking = await asyncpg.connect(url), await asyncpg.connect(url)
    locks = """
        SELECT array_agg(relation::regclass::text) FILTER (WHERE NOT granted) AS wanted,
          array_agg(relation::regclass::text) FILTER (WHERE granted) AS held
        FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation IS NOT NULL
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    """
    async with working.transaction():
        await working.execute("LOCK TABLE tenant_spending IN ROW EXCLUSIVE MODE")  # the last to be secured
        securing = asyncio.create_task(secure(DatabaseConfig(url=url), ROLE))
        found = await until(partial(looking.fetchrow, locks), lambda row: row["wanted"] == ["tenant_spending"])
    assert found["held"] is None
    assert len(await securing) > len(TABLES)
    for connection in (working, looking):
        await connection.close()


async def test_several_may_secure_at_once(url: str) -> None:
    done = await asyncio.gather(*(secure(DatabaseConfig(url=url), ROLE) for _ in range(4)))
    assert [len(statements) > len(TABLES) for statements in done] == [True] * 4


async def test_an_autovacuum_that_is_waited_for_is_ended(url: str) -> None:
    """By Postgres, once somebody has waited for ``deadlock_timeout``."""
    connection = await asyncpg.connect(url)
    milliseconds = await connection.fetchval("SELECT setting::int FROM pg_settings WHERE name = 'deadlock_timeout'")
    await connection.close()
    assert milliseconds / 1_000 < LOCK_SECONDS
