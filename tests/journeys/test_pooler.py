"""The hot path behind PgBouncer in transaction mode, whose two connections all transactions of all clients share.

``pytest --pooler`` runs any other test so.
"""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from functools import partial

import asyncpg
import pytest

from app.kit.migrate import current_revision, head_revision, upgrade
from app.recall.preparing import GUARDED_FUNCTION
from tests.conftest import Service, StartService, running_service
from tests.journeys.laws import COMPACT, check_all
from tests.journeys.looks import look, until
from tests.journeys.talk import plain_talk
from tests.pooler import pooled
from tests.test_plans import STATEMENTS

NAMED = "SELECT count(*) FROM pg_prepared_statements WHERE NOT from_sql"
SESSIONS, TURN = 6, 4  # more sessions at once than the pooler has connections; messages of one append


@pytest.fixture
async def behind(database_url: str, pooled_url: str) -> AsyncIterator[Service]:
    assert database_url != pooled_url
    async with running_service(pooled_url, memory={"preset": "compact"}) as running:
        yield running


async def test_sessions_are_appended_to_read_and_observed_at_once(behind: Service) -> None:
    talk = plain_talk(40)

    async def converse(key: str) -> None:
        for number in range(0, len(talk), TURN):
            await behind.append(key, *talk[number : number + TURN])
            await behind.context(key, format="anthropic")
        await behind.append(key, *talk[-TURN:])  # again: stored once

    keys = [f"s{number}" for number in range(SESSIONS)]
    await asyncio.gather(*(converse(key) for key in keys))

    for key in keys:
        await until(partial(behind.memory, key), lambda memory: memory["status"] == "idle")
        now = await look(behind, key)
        check_all(COMPACT, now, None)
        assert [message["id"] for message in now.stored] == [message["id"] for message in talk]
        assert now.observations


async def test_events_are_told_while_others_write(behind: Service) -> None:
    await behind.append("s", *plain_talk(2))
    async with behind.client.stream("GET", "/sessions/s/memory/events") as stream:
        await asyncio.gather(*(behind.append(f"other-{number}", *plain_talk(2)) for number in range(SESSIONS)))
        await behind.append("s", *plain_talk(4)[2:])
        async with asyncio.timeout(30):
            heard = [line async for line in _up_to(stream.aiter_lines(), "event: appended")]

    assert heard[-1] == "event: appended"


async def test_processes_export_one_after_the_other(behind: Service, pooled_url: str) -> None:
    """Each counts the names of its statements from the same number, and meets the connections of the ones before."""
    await behind.append("s", *plain_talk(4))
    environment = os.environ | {"DAYBOOK_DATABASE_URL": pooled_url, "DAYBOOK_POOL__PREPARED_STATEMENTS": "false"}
    command = [sys.executable, "-m", "app.cli", "export", "s"]

    for _ in range(3):
        export = await asyncio.create_subprocess_exec(*command, env=environment, stdout=PIPE, stderr=PIPE)
        lines, told = await export.communicate()
        assert export.returncode == 0, told.decode()
        assert lines.count(b'"messages"') == 4


async def _up_to(lines: AsyncIterator[str], last: str) -> AsyncIterator[str]:
    async for line in lines:
        yield line
        if line == last:
            return


async def test_an_empty_database_is_migrated_through_it(postgres: str) -> None:
    direct = await asyncpg.connect(postgres)
    await direct.execute("DROP DATABASE IF EXISTS daybook_pooled WITH (FORCE)")
    await direct.execute("CREATE DATABASE daybook_pooled")
    await direct.close()
    with pooled(postgres.replace("/postgres?", "/daybook_pooled?", 1)) as url:
        await upgrade(url)
        connection = await asyncpg.connect(url, statement_cache_size=0)
        found = await current_revision(connection), await connection.fetchval(NAMED)
        await connection.close()

    assert found == (head_revision(), 0)


@pytest.mark.usefixtures("prepared_statements")
@pytest.mark.parametrize(("setting", "named"), [(False, False), (True, True)])
async def test_statements_have_names_on_the_server_where_they_may(
    start_service: StartService, setting: bool, named: bool
) -> None:
    async with start_service(pool={"prepared_statements": setting, "min": 1, "max": 1}) as service:
        await service.append("s", *plain_talk(4))
        await service.context("s")
        await service.memory("s")
        async with service.app.state.database.connection() as connection:
            assert (await connection.fetchval(NAMED) > int(setting)) is named


@pytest.mark.usefixtures("prepared_statements")
async def test_no_statement_leaves_anything_behind_on_its_connection(start_service: StartService) -> None:
    """What it keeps would meet the next who is given it: settings, channels, locks, tables.

    The driver sets ``jit`` when it meets a type that it does not know.
    """
    kept = """
        SELECT (SELECT array_agg(name) FROM pg_settings WHERE source = 'session' AND name !~ '^transaction_'),
               (SELECT array_agg(channel) FROM pg_listening_channels() AS l (channel)),
               (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()),
               (SELECT count(*) FROM pg_class WHERE relpersistence = 't')
    """
    async with start_service(pool={"prepared_statements": False, "min": 1, "max": 1}) as service:
        await service.append("s", *plain_talk(24))
        await service.client.patch("/sessions/s/state", json={"mood": "calm"})
        await service.observe("s")
        await service.context("s")
        async with service.app.state.database.connection() as connection:
            meanwhile = connection.transaction()
            await meanwhile.start()
            await connection.execute(GUARDED_FUNCTION.format(schema="public"))  # one of them calls it
            for statement in STATEMENTS.values():
                await connection.prepare(statement, name="")
            await meanwhile.rollback()
            found = tuple(await connection.fetchrow(kept))

    assert found == (None, None, 0, 0)
