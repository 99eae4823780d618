"""What a transaction sees, and what it may do."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from app.kit.db import Database, DatabaseConfig, is_away
from app.kit.errors import StartError
from tests.databases import dsn_of

SESSIONS = "SELECT count(*) FROM sessions"
CREATED = "INSERT INTO sessions (id, tenant, key, memory_id) SELECT u, 'default', 'new', u FROM gen_random_uuid() u"


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    database = Database(DatabaseConfig(url=database_url))
    await database.open()
    yield database
    await database.close()


async def test_a_snapshot_sees_one_moment(database: Database) -> None:
    async with database.snapshot() as tx:
        before = await tx.fetchval(SESSIONS)
        async with database.tx() as other:
            await other.execute(CREATED)
        assert await tx.fetchval(SESSIONS) == before
    async with database.snapshot() as tx:
        assert await tx.fetchval(SESSIONS) == before + 1


@pytest.mark.usefixtures("prepared_statements")
async def test_a_statement_of_before_a_change_of_its_table_is_told_as_one_to_ask_again(database_url: str) -> None:
    """Within a transaction the driver cannot prepare it anew; it does for the next one."""
    database = Database(DatabaseConfig(url=database_url, pool_min=1, pool_max=1))
    await database.open()
    owner = await asyncpg.connect(database_url)
    await owner.execute("CREATE TABLE of_today (one int)")
    try:
        async with database.tx() as tx:
            await tx.fetch("SELECT * FROM of_today")
        await owner.execute("ALTER TABLE of_today ADD COLUMN other int")
        with pytest.raises(asyncpg.InvalidCachedStatementError) as stale:
            async with database.tx() as tx:
                await tx.fetch("SELECT * FROM of_today")
        assert is_away(stale.value)
        async with database.tx() as tx:
            assert await tx.fetch("SELECT * FROM of_today") == []
    finally:
        await owner.execute("DROP TABLE of_today")
        await owner.close()
        await database.close()


async def test_times_are_told_in_utc_whatever_the_servers_zone(database_url: str) -> None:
    """An export writes the rows' times as Postgres tells them."""
    database = Database(DatabaseConfig(url=f"{database_url}&timezone=Asia/Kolkata"))
    await database.open()
    try:
        assert await database.fetchval("SELECT row_to_json(t)->>'at' FROM (SELECT 'epoch'::timestamptz AS at) t") == (
            "1970-01-01T00:00:00+00:00"
        )
    finally:
        await database.close()


async def test_a_server_that_has_not_as_many_connections_as_the_pool_wants_is_told_in_one_line(
    database_url: str,
) -> None:
    owner = await asyncpg.connect(database_url)
    await owner.execute("DROP ROLE IF EXISTS daybook_narrow; CREATE ROLE daybook_narrow LOGIN CONNECTION LIMIT 1")
    narrow = database_url.replace("postgres@", "daybook_narrow@", 1)
    try:
        with pytest.raises(StartError, match="cannot use the database of DAYBOOK_DATABASE_URL: too many connections"):
            await Database(DatabaseConfig(url=narrow)).open()
    finally:
        await owner.close()


async def test_a_server_that_grants_fewer_connections_than_the_pool_may_have_makes_a_task_wait_for_one(
    database_url: str,
) -> None:
    owner = await asyncpg.connect(database_url)
    await owner.execute("DROP ROLE IF EXISTS daybook_narrow; CREATE ROLE daybook_narrow LOGIN CONNECTION LIMIT 2")
    url = database_url.replace("postgres@", "daybook_narrow@", 1)
    database = Database(DatabaseConfig(url=url, pool_min=1, pool_max=4, connect_seconds=1))
    try:
        await database.open()
        async with database.connection():
            async with database.connection():
                waiting = asyncio.create_task(database.fetchval("SELECT 1"))
                assert (await asyncio.wait({waiting}, timeout=0.2))[0] == set()
            assert await waiting == 1
            async with database.connection():
                with pytest.raises(TimeoutError):
                    await database.fetchval("SELECT 1")
    finally:
        await database.close()
        await owner.execute("DROP ROLE daybook_narrow")
        await owner.close()


async def test_a_host_that_is_not_found_may_be_the_end_of_a_password() -> None:
    with pytest.raises(StartError, match=r"write @ .* in passwords as %40") as raised:
        await Database(DatabaseConfig(url="postgres://daybook:open@sesame.invalid:5432/daybook")).open()
    assert "sesame" not in str(raised.value)


async def test_a_parameter_that_neither_the_driver_nor_the_server_knows_is_told(database_url: str) -> None:
    with pytest.raises(StartError, match='"channel_binding": remove it from the URL'):
        await Database(DatabaseConfig(url=f"{database_url}&channel_binding=require")).open()


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
async def test_a_database_whose_transactions_are_not_read_committed_is_refused(
    database_url: str, isolation: str
) -> None:
    url = f"{database_url}&default_transaction_isolation={isolation}"
    with pytest.raises(StartError, match=f"is '{isolation}'; Daybook needs 'read committed'"):
        await Database(DatabaseConfig(url=url)).open()


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
async def test_a_database_that_cannot_store_every_character_is_refused(postgres: str, encoding: str) -> None:
    owner, name = await asyncpg.connect(postgres), f"daybook_in_{encoding.lower()}"
    await owner.execute(f"DROP DATABASE IF EXISTS {name}")
    await owner.execute(f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
    try:
        with pytest.raises(StartError, match=f"server_encoding of the database is '{encoding}'; Daybook needs 'UTF8'"):
            await Database(DatabaseConfig(url=dsn_of(postgres, name))).open()
    finally:
        await owner.execute(f"DROP DATABASE {name}")
        await owner.close()


@pytest.mark.parametrize("password", ["open/sesame", "open?sesame", "open#sesame", "open[sesame"])
async def test_of_a_url_that_its_password_breaks_nothing_is_shown(password: str) -> None:
    with pytest.raises(StartError, match="not a URL") as raised:
        await Database(DatabaseConfig(url=f"postgres://daybook:{password}@127.0.0.1/daybook")).open()
    assert "open" not in str(raised.value)
    assert "sesame" not in str(raised.value)


async def test_a_snapshot_only_reads(database: Database) -> None:
    with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
        async with database.snapshot() as tx:
            await tx.execute(CREATED)
