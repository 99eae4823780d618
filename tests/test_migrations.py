"""The migrations make the schema that the tables declare, and can be taken back."""

import asyncio
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
from alembic import command
from alembic.script import ScriptDirectory
from alembic.util import CommandError

from app.facts.model import Category
from app.facts.worth import worth
from app.kit.errors import StartError
from app.kit.migrate import alembic_config, current_revision, head_revision, upgrade
from app.recall.tables import PENDING_KILOBYTES
from tests.journeys.looks import until

ROOT = Path(__file__).parents[1]


@pytest.fixture
async def fresh_url(postgres: str) -> str:
    """DSN of a database without tables, this worker's own: all of them share the server."""
    name = f"daybook_fresh_{os.environ.get('PYTEST_XDIST_WORKER', 'alone')}"
    connection = await asyncpg.connect(postgres)
    await connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    await connection.execute(f"CREATE DATABASE {name}")
    await connection.close()
    return postgres.replace("/postgres?", f"/{name}?", 1)


async def test_the_migrations_make_what_the_tables_declare(database_url: str) -> None:
    await asyncio.to_thread(command.check, alembic_config(database_url))


async def test_of_every_table_by_session_or_memory_the_planner_is_told_that_they_are_long(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    untold = await connection.fetch("""
      SELECT i.indrelid::regclass::text FROM pg_index i
      JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
      WHERE i.indisprimary AND i.indnkeyatts > 1 AND a.attname IN ('session_id', 'memory_id')
        AND coalesce(array_to_string(a.attoptions, ','), '') !~ 'n_distinct='
    """)
    await connection.close()
    assert untold == []


async def test_what_was_indexed_last_is_in_a_list_as_short_as_the_table_declares(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    options = await connection.fetchval("SELECT reloptions FROM pg_class WHERE relname = 'message_terms_by_term'")
    await connection.close()
    assert options == [f"gin_pending_list_limit={PENDING_KILOBYTES}"]


def test_the_last_script_is_the_head() -> None:
    config = alembic_config("postgresql://nowhere")
    assert head_revision() == ScriptDirectory.from_config(config).get_current_head()


def test_a_service_without_a_model_is_built_without_alembic_the_sdks_and_what_is_for_later() -> None:
    """They take seconds to import, and memory; a start on a migrated database needs none of them."""
    libraries = (
        "alembic sqlalchemy anthropic openai genai_prices mcp redis obstore detect_secrets dateparser matplotlib"
    )
    code = (
        "import sys\nfrom app.main import create_app\nfrom app.settings import Settings\n"
        "create_app(Settings(provider='extractive'))\nprint(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert {*libraries.split(), "opentelemetry.sdk"}.isdisjoint(done.stdout.split())


async def test_a_column_that_no_migration_makes_is_noticed(fresh_url: str) -> None:
    await upgrade(fresh_url)
    connection = await asyncpg.connect(fresh_url)
    await connection.execute("ALTER TABLE sessions DROP COLUMN total_tokens")
    await connection.close()
    with pytest.raises(CommandError, match="total_tokens"):
        await asyncio.to_thread(command.check, alembic_config(fresh_url))


@pytest.mark.parametrize("option", ["sslmode=disable", "options=-c%20search_path%3Dpublic", "application_name=d"])
async def test_what_the_driver_reads_of_a_dsn_the_migrations_do_too(fresh_url: str, option: str) -> None:
    await upgrade(f"{fresh_url}&{option}")
    connection = await asyncpg.connect(fresh_url)
    assert await current_revision(connection) == head_revision()
    await connection.close()


async def test_processes_that_start_at_once_migrate_once(fresh_url: str) -> None:
    environment = os.environ | {"DAYBOOK_DATABASE_URL": fresh_url}
    command_line = (sys.executable, "-m", "app.cli", "migrate")
    started = [await asyncio.create_subprocess_exec(*command_line, env=environment, cwd=ROOT) for _ in range(3)]
    assert await asyncio.gather(*(process.wait() for process in started)) == [0, 0, 0]
    connection = await asyncpg.connect(fresh_url)
    assert await current_revision(connection) == head_revision()
    await connection.close()


async def test_the_migrations_can_be_taken_back(fresh_url: str) -> None:
    await upgrade(fresh_url)
    await asyncio.to_thread(command.downgrade, alembic_config(fresh_url), "base")
    connection = await asyncpg.connect(fresh_url)
    tables = await connection.fetchval("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
    assert await current_revision(connection) is None
    assert tables == 1  # alembic's own
    await connection.close()


async def test_a_config_from_before_changes_were_recorded_counts_as_the_first(fresh_url: str) -> None:
    await asyncio.to_thread(command.upgrade, alembic_config(fresh_url), "0001")
    connection = await asyncpg.connect(fresh_url)
    for name, config in (("a", {}), ("b", {"preset": "compact"})):
        session = "INSERT INTO sessions (id, tenant, key, memory_id, config) VALUES ($1, 't', $2, $1, $3)"
        await connection.execute(session, uuid4(), name, json.dumps(config))
    await upgrade(fresh_url)
    query = "SELECT s.key, s.config_changes, c.number, c.from_seq, c.config FROM sessions s"
    rows = await connection.fetch(f"{query} LEFT JOIN session_configs c ON c.session_id = s.id ORDER BY s.key")
    await connection.close()
    assert [tuple(row) for row in rows] == [("a", 0, None, None, None), ("b", 1, 1, 1, '{"preset": "compact"}')]


async def test_a_zone_that_postgres_has_not_is_in_no_config(fresh_url: str) -> None:
    await asyncio.to_thread(command.upgrade, alembic_config(fresh_url), "0029")
    connection = await asyncpg.connect(fresh_url)
    for zone in ("localtime", "Europe/Lisbon"):
        session, config = uuid4(), json.dumps({"timezone": zone, "preset": "compact"})
        insert = "INSERT INTO sessions (id, tenant, key, memory_id, config) VALUES ($1, 't', $2, $1, $3)"
        await connection.execute(insert, session, zone, config)
        change = "INSERT INTO session_configs (session_id, number, changed_at, from_seq, version, config) VALUES"
        await connection.execute(f"{change} ($1, 1, now(), 1, 0, $2)", session, config)
        await connection.execute("INSERT INTO resources (tenant, id, config) VALUES ('t', $1, $2)", zone, config)
    await upgrade(fresh_url)
    for table in ("sessions", "session_configs", "resources"):
        found = [json.loads(row["config"]) for row in await connection.fetch(f"SELECT config FROM {table}")]  # noqa: S608 - our own table names
        assert {config.get("timezone") for config in found} == {None, "Europe/Lisbon"}, table
        assert {config["preset"] for config in found} == {"compact"}
    await connection.close()


async def test_a_memory_that_was_off_waits_for_no_number_that_is_never_reached(fresh_url: str) -> None:
    await asyncio.to_thread(command.upgrade, alembic_config(fresh_url), "0031")
    connection = await asyncpg.connect(fresh_url)
    off, paused, idle = uuid4(), uuid4(), uuid4()
    for memory, wake_tokens, due_at in ((off, 2**62, None), (paused, 2**62, "infinity"), (idle, 30_000, None)):
        insert = "INSERT INTO memories (id, tenant, pending_tokens, wake_tokens, due_at) VALUES ($1, 't', 500, $2, "
        await connection.execute(f"{insert} $3::text::timestamptz)", memory, wake_tokens, due_at)
    await upgrade(fresh_url)
    rows = await connection.fetch("SELECT id, wake_tokens FROM memories")
    await connection.close()
    assert {row["id"]: row["wake_tokens"] for row in rows} == {off: 500, paused: 2**62, idle: 30_000}


async def test_what_was_refused_of_messages_that_retention_removed_is_emptied(fresh_url: str) -> None:
    await asyncio.to_thread(command.upgrade, alembic_config(fresh_url), "0032")
    connection = await asyncpg.connect(fresh_url)
    memory = uuid4()
    await connection.execute("INSERT INTO memories (id, tenant, wake_tokens) VALUES ($1, 't', 500)", memory)
    await connection.execute(
        "INSERT INTO sessions (id, tenant, key, memory_id, expired_seq) VALUES ($1, 't', 's', $1, 12)", memory
    )
    for outcome, from_seq in (("gone", 9), ("stays", 13), ("of notes", None)):
        await connection.execute(
            """INSERT INTO runs (memory_id, kind, provider, model, prompt_version, epoch, outcome, from_seq, error,
                                 rejected_output)
               VALUES ($1, 'observe', 'p', 'm', '1', 1, $2, $3, 'ungrounded: Maria', 'Maria')""",
            memory,
            outcome,
            from_seq,
        )
    await upgrade(fresh_url)
    rows = await connection.fetch("SELECT outcome, error, rejected_output FROM runs")
    await connection.close()
    assert {row["outcome"]: (row["error"], row["rejected_output"]) for row in rows} == {
        "gone": ("ungrounded", None),
        "stays": ("ungrounded: Maria", "Maria"),
        "of notes": ("ungrounded", None),
    }


async def test_what_was_to_be_read_again_before_sessions_told_how_far_they_had_been_read_is_so(fresh_url: str) -> None:
    await asyncio.to_thread(command.upgrade, alembic_config(fresh_url), "0034")
    connection = await asyncpg.connect(fresh_url)
    own, shared = uuid4(), uuid4()
    for key, session, memory, facts_seq in (("erased", own, own, 2), ("shared", uuid4(), shared, 9)):
        await connection.execute("INSERT INTO memories (id, tenant, wake_tokens) VALUES ($1, 't', 500)", memory)
        await connection.execute(
            "INSERT INTO sessions (id, tenant, key, memory_id, facts_seq) VALUES ($1, 't', $2, $3, $4)",
            session,
            key,
            memory,
            facts_seq,
        )
        of_it = None if session == memory else session
        for kind, outcome, to_seq in (
            ("note_facts", "recorded", 4),
            ("note_facts", "recorded", 7),
            ("note_facts", "failed", 12),
            ("observe", "recorded", 20),
        ):
            await connection.execute(
                """INSERT INTO runs (memory_id, session_id, kind, provider, model, prompt_version, epoch, outcome,
                                     from_seq, to_seq)
                   VALUES ($1, $2, $3, 'p', 'm', '1', 1, $4, 1, $5)""",
                memory,
                of_it,
                kind,
                outcome,
                to_seq,
            )
    await upgrade(fresh_url)
    rows = await connection.fetch("SELECT key, facts_again_seq FROM sessions ORDER BY key")
    await connection.close()
    assert [tuple(row) for row in rows] == [("erased", 7), ("shared", 0)]


async def test_facts_from_before_their_words_had_a_time_and_a_worth_get_both(fresh_url: str) -> None:
    await asyncio.to_thread(command.upgrade, alembic_config(fresh_url), "0020")
    connection = await asyncpg.connect(fresh_url)
    fact = (
        "INSERT INTO facts (tenant, resource_id, text, category, trust, author, sources, valid_from, created_at,"
        " updated_at) VALUES ('t', 'r', $1, $2, 'user', 'extractor', $3, $4, $4, $5)"
    )
    noted, changed = (datetime(2026, month, 1, tzinfo=UTC) for month in (3, 5))
    lasting, plan = "Is allergic to peanuts.", "I'm going to Oslo with Maria on 7 May 2023."
    await connection.execute(fact, lasting, "profile", json.dumps([{}, {}]), noted, changed)
    await connection.execute(fact, plan, "commitment", json.dumps([{}]), noted, changed)
    await upgrade(fresh_url)
    rows = await connection.fetch(
        "SELECT text, created_at, worded_at, worth, passes_at, confirmed_at FROM facts ORDER BY id"
    )
    await connection.close()
    assert [tuple(row) for row in rows] == [
        (lasting, noted, changed, worth(lasting, Category.PROFILE), None, changed),
        (plan, noted, changed, worth(plan, Category.COMMITMENT), datetime(2023, 5, 14, tzinfo=UTC), None),
    ]


WANTED = """
SELECT coalesce(array_agg(relation::regclass::text), '{}') FROM pg_locks
WHERE NOT granted AND relation IS NOT NULL
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
SHARING = """
WITH memory AS (
  INSERT INTO memories (id, tenant, scope, wake_tokens, log_version)
  VALUES ($1, 't', 'resource', 0, 3), ($3, 't', 'session', 0, 1)
)
INSERT INTO sessions (id, tenant, key, memory_id, next_seq, observed_seq) VALUES
  ($5, 't', 'none', $1, 1, 0), ($2, 't', 'a', $1, 5, 4), ($4, 't', 'b', $1, 3, 1), ($3, 't', 'own', $3, 9, 0)
"""
VERSION = """
INSERT INTO memory_versions (memory_id, version, cause, anchor_date, cursors)
VALUES ($1, $2, 'observed', '2026-05-01', $3)
"""


def _cursor(last_seq: int, observed_seq: int) -> dict[str, Any]:
    """As the service wrote it where sessions share their memory."""
    at = {"last_seq": last_seq, "observed_seq": observed_seq, "activated_seq": observed_seq}
    return at | {"tail_from_seq": 1, "summary_seq": None, "compacted_seq": 0, "anchor_date": "2026-05-01"}


async def test_versions_of_a_shared_memory_keep_of_each_session_where_it_moved(fresh_url: str) -> None:
    await asyncio.to_thread(command.upgrade, alembic_config(fresh_url), "0025")
    connection = await asyncpg.connect(fresh_url)
    memory, one, own, other, empty = (uuid4() for _ in range(5))
    await connection.execute(SHARING, memory, one, own, other, empty)
    told = [
        {str(one): _cursor(2, 2)},
        {str(one): _cursor(2, 2), str(other): _cursor(1, 1)},
        {str(one): _cursor(4, 4), str(other): _cursor(1, 1)},
    ]
    for version, cursors in enumerate(told, start=1):
        await connection.execute(VERSION, memory, version, json.dumps(cursors))
    alone = json.dumps({str(own): _cursor(8, 0)})
    await connection.execute(VERSION, own, 1, alone)

    await upgrade(fresh_url)
    noted = await connection.fetch(
        "SELECT session_id, version, last_seq, observed_seq FROM session_cursors ORDER BY version, last_seq"
    )
    assert [tuple(row) for row in noted] == [(one, 1, 2, 2), (other, 2, 1, 1), (one, 3, 4, 4)]
    left = await connection.fetch("SELECT cursors FROM memory_versions ORDER BY memory_id <> $1, version", memory)
    assert [json.loads(row["cursors"]) for row in left] == [{}, {}, {}, json.loads(alone)]
    waiting = await connection.fetch("SELECT key FROM sessions WHERE waiting ORDER BY key")
    assert [row["key"] for row in waiting] == ["b", "none"]

    await asyncio.to_thread(command.downgrade, alembic_config(fresh_url), "0025")
    left = await connection.fetch("SELECT cursors FROM memory_versions ORDER BY memory_id <> $1, version", memory)
    assert [json.loads(row["cursors"]) for row in left] == [*told, json.loads(alone)]
    await connection.close()


async def test_where_a_request_and_the_migrations_wait_for_each_other_they_begin_anew_and_hold_up_none(
    fresh_url: str,
) -> None:
    await asyncio.to_thread(command.upgrade, alembic_config(fresh_url), "0023")
    request, other, looking = [await asyncpg.connect(fresh_url) for _ in range(3)]
    await request.execute("SET deadlock_timeout = '1h'")  # else it may be the one that Postgres ends
    read = request.transaction()
    await read.start()
    await request.fetch("SELECT FROM sessions")
    async with other.transaction():
        await other.execute("LOCK TABLE memory_versions")
        migrating = asyncio.create_task(upgrade(fresh_url))
        await until(partial(looking.fetchval, WANTED), lambda tables: "memory_versions" in tables)
        waiting = asyncio.create_task(request.fetch("SELECT FROM facts"))  # which migration 0024 has locked
        await until(partial(looking.fetchval, WANTED), lambda tables: "facts" in tables)
    await waiting
    await until(partial(looking.fetchval, WANTED), lambda tables: bool(tables) or migrating.done())
    read_meanwhile = (await asyncio.wait({asyncio.create_task(other.fetch("SELECT FROM facts"))}, timeout=20))[0]
    await read.rollback()
    await migrating
    assert read_meanwhile  # which waited behind the migrations, as they for the request
    assert await current_revision(looking) == head_revision()
    for connection in (request, other, looking):
        await connection.close()


async def test_a_database_that_is_not_there_is_one_clear_line(postgres: str) -> None:
    with pytest.raises(StartError, match="no_such_database") as raised:
        await upgrade(postgres.replace("/postgres?", "/no_such_database?", 1))
    assert "\n" not in str(raised.value)
