"""How Postgres executes each statement of the service where there is much: by an index, and never all of a session.

The plan looked at is the generic one, which a prepared statement has from its sixth execution on, with the settings of
a connection of the service.
"""

import importlib
import json
import pkgutil
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import pytest

import app
from app.memory.store import CONVERSATIONS
from app.sessions.store import session_id
from benchmarks.speed.filling import OBSERVATIONS, TENANT, VERSIONS, a_note, fill
from tests.conftest import TABLES, Service

NAME = re.compile(r"/\* (\w+) \*/")
PLAN = """
CREATE OR REPLACE FUNCTION pg_temp.plan(statement text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE found json;
BEGIN
  EXECUTE 'EXPLAIN (GENERIC_PLAN, FORMAT JSON) ' || statement INTO found;
  RETURN found;
END $$
"""
BY_SEQ = re.compile(r"\b(seq|created_at|tokens_before)\b")  # an incremental sort goes by an index, a part at a time
GROWING = {"messages", "sessions", "memories", "memory_versions", "observations"}
LONG, MANY = 5_000, 2_000  # messages of one session; sessions of one message each

# What may read a table from end to end, or sort what it found of a session, and why.
READS_ALL = {
    "forget_memories": "deletes what lists of ids name, as many as there are",
    "sessions": "pages through a tenant's sessions: the plan takes an unknown limit for a tenth of all",
    "unremembered": "erases: looks at what the notes of one erased span stood for",
}


def _statements() -> dict[str, str]:
    """Every statement that a module of the service keeps under its name."""
    found: dict[str, str] = {}
    for info in pkgutil.walk_packages(app.__path__, "app."):
        for value in vars(importlib.import_module(info.name)).values():
            if isinstance(value, str) and (named := NAME.match(value)):
                found[named.group(1)] = value.replace("{order}", "DESC")
    return found


STATEMENTS = _statements()


@pytest.fixture(scope="module")
async def planner(worker_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection to a database with one long session and many short ones."""
    connection = await asyncpg.connect(worker_url)
    for table in TABLES:
        await connection.execute(f"DELETE FROM {table}")  # noqa: S608 - our own table names
    await fill(worker_url, ["long"], LONG, observed=True, wake_tokens=6_000)
    await fill(worker_url, [f"short-{number}" for number in range(MANY)], 1, observed=True, wake_tokens=6_000)
    note, shorts = a_note(), [session_id(TENANT, f"short-{number}") for number in range(MANY)]
    await connection.execute(OBSERVATIONS, shorts, note.text, "[]", note.tokens, 50, "active", 2, 1)
    await connection.execute(VERSIONS, shorts, 2, 1)
    await connection.execute("VACUUM ANALYZE observations")
    await connection.execute("VACUUM ANALYZE memory_versions")
    await connection.execute(PLAN)
    yield connection
    await connection.close()


async def _nodes(planner: asyncpg.Connection, statement: str) -> list[dict[str, Any]]:
    (plan,) = json.loads(await planner.fetchval("SELECT pg_temp.plan($1)", statement))
    return list(_within(plan["Plan"]))


def _within(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for inner in node.get("Plans", ()):
        yield from _within(inner)


def test_every_domain_with_a_store_has_statements_to_look_at() -> None:
    assert {"append", "snapshot", "past_snapshot", "diagnose", "claim", "due", "memory"} <= STATEMENTS.keys()
    assert READS_ALL.keys() <= STATEMENTS.keys()


@pytest.mark.parametrize("name", sorted(STATEMENTS.keys() - READS_ALL.keys()))
async def test_no_table_that_grows_is_read_from_end_to_end(planner: asyncpg.Connection, name: str) -> None:
    nodes = await _nodes(planner, STATEMENTS[name])

    scanned = [node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"]
    assert GROWING.isdisjoint(scanned)


@pytest.mark.parametrize("name", sorted(STATEMENTS.keys() - READS_ALL.keys()))
async def test_no_session_is_sorted_whole(planner: asyncpg.Connection, name: str) -> None:
    nodes = await _nodes(planner, STATEMENTS[name])

    sorts = [node for node in nodes if node["Node Type"] == "Sort" and any(map(BY_SEQ.search, node["Sort Key"]))]
    sorted_of = {inner.get("Relation Name") for node in sorts for inner in _within(node)}
    assert "messages" not in sorted_of


async def test_of_a_shared_memory_only_sessions_with_something_to_observe_are_looked_into(
    planner: asyncpg.Connection,
) -> None:
    memory, waiting = session_id(TENANT, "shared"), ["short-7", "short-70", "short-700"]
    begun = planner.transaction()
    await begun.start()
    await planner.execute(
        "UPDATE sessions SET memory_id = $1, observed_seq = (key <> ALL ($2))::int WHERE next_seq = 2", memory, waiting
    )
    plan = await planner.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) {CONVERSATIONS}", memory, 100)
    await begun.rollback()
    (found,) = json.loads(plan)
    looked = [node for node in _within(found["Plan"]) if node.get("Relation Name") == "messages"]
    assert [node["Node Type"] for node in looked] == ["Index Scan"]
    assert sum(node["Actual Loops"] for node in looked) == len(waiting)


async def test_a_whole_read_would_be_seen(planner: asyncpg.Connection) -> None:
    nodes = await _nodes(planner, "SELECT * FROM messages WHERE tokens = $1 ORDER BY created_at")

    assert {"Seq Scan", "Sort"} <= {node["Node Type"] for node in nodes}


async def test_the_plans_are_those_of_a_connection_of_the_service(
    planner: asyncpg.Connection, service: Service
) -> None:
    async with service.app.state.database.connection() as connection:
        for setting in ("plan_cache_mode", "enable_seqscan", "enable_sort", "random_page_cost", "jit"):
            own = await connection.fetchval("SELECT current_setting($1)", setting)
            assert own == await planner.fetchval("SELECT current_setting($1)", setting)
        assert await connection.fetchval("SHOW plan_cache_mode") == "auto"


async def test_what_an_append_updates_stays_on_its_page(service: Service, worker_url: str) -> None:
    connection = await asyncpg.connect(worker_url)
    await connection.execute("SELECT pg_stat_reset()")
    for number in range(40):
        await service.append("s1", {"role": "user", "content": f"message {number}"})

    async with service.app.state.database.connection() as own:
        await own.execute("SELECT pg_stat_force_next_flush()")
    rows = await connection.fetch(
        "SELECT relname, sum(n_tup_upd) AS updated, sum(n_tup_hot_upd) AS hot FROM pg_stat_user_tables"
        " WHERE relname IN ('sessions', 'memories') GROUP BY relname"
    )
    await connection.close()

    # All but those that met a page which another's snapshot, still open, kept from being pruned.
    assert all(10 * row["hot"] >= 9 * row["updated"] > 0 for row in rows), rows
