"""How Postgres executes each statement of the service where there is much: by an index, and never all of a session.

The plan looked at is the generic one, which a prepared statement has from its sixth execution on, with the settings of
a connection of the service. Whom row-level security guards it from looks up as much: of what is not the policy's own,
Postgres lets only what cannot fail go by an index, and neither arithmetic nor ``coalesce`` of columns is that
(docs/decisions/0044).
"""

import asyncio
import importlib
import json
import pkgutil
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import asyncpg
import pytest

import app
from app.context.store import SNAPSHOT
from app.diagnostics.backlog_store import BACKLOG, FAILING, OWN_BACKLOG, OWN_MAX, OWN_WAITING_MAX
from app.diagnostics.store import LOG_OBSERVATIONS, LOG_REFLECTIONS, MEMORY
from app.kit.db import TENANT_SETTING
from app.memory.store import CONVERSATIONS
from app.memory.version_store import ADD_SHARED_VERSION
from app.recall.store import NOTES_BYTES_MAX
from app.recall.store import OBSERVATIONS as FOUND_NOTES
from app.recall.store import SESSIONS as RECALLED_SESSIONS
from app.sessions.sharing_store import LOCK_SHARING
from app.sessions.store import LOOKED_AT_ONCE, SESSIONS, session_id
from benchmarks.speed.filling import OBSERVATIONS, TENANT, VERSIONS, a_note, fill
from tests.conftest import Service, StartService, running_service
from tests.databases import EMPTYING, clone
from tests.pooler import is_pooled
from tests.secured import as_role, secured

LONG, MANY = 5_000, 2_000  # messages of one session; sessions of one message each
GENERIC = "&plan_cache_mode=force_generic_plan"
SAID = {"role": "user", "content": "Hello"}
READ_MAX = 2_000  # rows of a table that a request reads: those not yet observed, a few times, and what is shown
IDLE = {
    "provider": "extractive",
    "pool": {"min": 1, "max": 1},
    "memory": {"message_tokens": 10**6},
    "recall": {"index_look_seconds": 600},
}
OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
  AND application_name <> $1
"""
# What recall's indexer would have written: the index is read by requests alone.
TERMS = """
INSERT INTO message_terms (session_id, seq, segment, length, length_before, role, created_at, terms)
SELECT session_id, seq, 0, 40, 40 * (seq - 1), role, created_at,
       to_tsvector('simple', parts->0->>'text') || array_to_tsvector(ARRAY[' s' || replace(session_id::text, '-', '')])
FROM messages
"""

# Of a few resources many facts each, in no order: to read one's by the index seems to cost as much as to read all.
FACTS = """
INSERT INTO facts (tenant, resource_id, text, category, trust, author, valid_from)
SELECT $1, 'r-' || number % 20, 'User lives in Lisbon.', 'profile', 'user', 'extractor', now()
FROM generate_series(1, 20000) AS number ORDER BY number * 7919 % 20000
"""

# What is asked of the long session.
REQUESTS: list[tuple[str, str, Any]] = [
    ("POST", "/messages", {"messages": [SAID]}),
    ("POST", "/messages", {"messages": [SAID] * 20}),
    ("POST", "/messages", {"messages": [{"id": "m-1"} | SAID, SAID]}),  # 409
    ("GET", "/messages", None),
    ("GET", "/messages?order=desc", None),
    ("GET", "/messages?after_seq=2500&before_seq=2600", None),
    ("GET", "/messages/m-77", None),
    ("PUT", f"/messages/m-{LONG}", SAID),
    ("GET", "/context?message_budget=1000", None),
    ("GET", "/context?message_budget=1000&as_of_seq=2600", None),
    ("GET", "/context?message_budget=1000&as_of_version=12", None),
    ("GET", "/context/diff", None),
    ("PUT", "", {"config": {"keep_last": 3}}),
    ("POST", "/recall", {"query": "07919"}),
    ("GET", "/memory", None),
    ("GET", "/memory/log?version=5", None),
    ("GET", "/memory/versions", None),
    ("GET", "/memory/observations", None),
    ("POST", "/compact", {"up_to_seq": LONG - 10}),
    ("DELETE", f"/messages/m-{LONG - 1}", None),
    ("POST", "/branch", {"key": "branch", "at_seq": 100}),
]

NAME = re.compile(r"/\* (\w+) \*/")
TEMPLATE = re.compile(r"\{(?!order)[a-z]+\}")  # of a statement: what is made of it has its name
PLAN = """
CREATE OR REPLACE FUNCTION pg_temp.plan(statement text) RETURNS json LANGUAGE plpgsql AS $$
DECLARE found json;
BEGIN
  EXECUTE 'EXPLAIN (GENERIC_PLAN, FORMAT JSON) ' || statement INTO found;
  RETURN found;
END $$
"""
SOUGHT = re.compile(r"\((\w+) [<=>]")  # an index condition begins with the column
ROWS_READ = """
SELECT relname, seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables
WHERE relname IN ('messages', 'message_terms', 'memory_versions', 'observations')
"""
BY_SEQ = re.compile(r"\b(seq|created_at|tokens_before)\b")  # an incremental sort goes by an index, a part at a time
GROWING = {"messages", "sessions", "memories", "memory_versions", "session_cursors", "observations", "facts"}

# What may read a table from end to end, or sort what it found of a session, and why.
READS_ALL = {
    "forget_memories": "deletes what lists of ids name, as many as there are",
    "unremembered": "erases: looks at what the notes of one erased span stood for",
}


def _statements() -> dict[str, str]:
    """Every statement that a module of the service keeps under its name."""
    found: dict[str, str] = {}
    for info in pkgutil.walk_packages(app.__path__, "app."):
        for value in vars(importlib.import_module(info.name)).values():
            if isinstance(value, str) and (named := NAME.match(value)) and not TEMPLATE.search(value):
                statement = value.replace("{order}", "DESC")
                assert found.setdefault(named.group(1), statement) == statement, f"two are called {named.group(1)}"
    return found


STATEMENTS = _statements()


@pytest.fixture(scope="module")
async def url(postgres: str, worker_id: str) -> str:
    """DSN of a database with one long session and many short ones, that a role is guarded from."""
    filled = await clone(postgres, f"daybook_plans_{worker_id}")
    await secured(filled)
    await fill(filled, ["long"], LONG, observed=True, wake_tokens=6_000)
    await fill(filled, [f"short-{number}" for number in range(MANY)], 1, observed=True, wake_tokens=6_000)
    connection = await asyncpg.connect(filled)
    note, shorts = a_note(), [session_id(TENANT, f"short-{number}") for number in range(MANY)]
    await connection.execute(OBSERVATIONS, shorts, note.text, "[]", note.tokens, 50, "active", 2, 1)
    await connection.execute(VERSIONS, shorts, 2, 1)
    await connection.execute(TERMS)
    await connection.execute(FACTS, TENANT)
    await connection.execute("VACUUM ANALYZE facts")
    await connection.execute("VACUUM ANALYZE message_terms")
    await connection.execute("VACUUM ANALYZE observations")
    await connection.execute("VACUUM ANALYZE memory_versions")
    await connection.close()
    return filled


@pytest.fixture(scope="module")
async def planner(url: str) -> AsyncIterator[asyncpg.Connection]:
    async with _planning(url) as connection:
        yield connection


@pytest.fixture(scope="module")
async def guarded(url: str) -> AsyncIterator[asyncpg.Connection]:
    async with _planning(as_role(url)) as connection:
        await connection.execute(f"SET {TENANT_SETTING} = '{TENANT}'")
        yield connection


@asynccontextmanager
async def _planning(url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(url)
    await connection.execute(PLAN)
    yield connection
    await connection.close()


async def _nodes(planner: asyncpg.Connection, statement: str) -> list[dict[str, Any]]:
    (plan,) = json.loads(await planner.fetchval("SELECT pg_temp.plan($1)", statement))
    return list(_within(plan["Plan"]))


def _within(node: dict[str, Any], *, up_to: str | None = None) -> Iterator[dict[str, Any]]:
    """The node and those below it, ``up_to`` such nodes."""
    yield node
    for inner in node.get("Plans", ()) if node["Node Type"] != up_to else ():
        yield from _within(inner, up_to=up_to)


def test_every_domain_with_a_store_has_statements_to_look_at() -> None:
    assert {"append", "snapshot", "past_snapshot", "diagnose", "claim", "due", "memory"} <= STATEMENTS.keys()
    assert READS_ALL.keys() <= STATEMENTS.keys()


@pytest.mark.parametrize("name", sorted(STATEMENTS.keys() - READS_ALL.keys()))
async def test_no_table_that_grows_is_read_from_end_to_end(planner: asyncpg.Connection, name: str) -> None:
    assert GROWING.isdisjoint(_scanned(await _nodes(planner, STATEMENTS[name])))


@pytest.mark.parametrize("name", sorted(STATEMENTS.keys() - READS_ALL.keys()))
async def test_no_session_is_sorted_whole(planner: asyncpg.Connection, name: str) -> None:
    assert "messages" not in _sorted(await _nodes(planner, STATEMENTS[name]))


@pytest.mark.parametrize("name", sorted(STATEMENTS.keys() - READS_ALL.keys()))
async def test_what_a_policy_guards_is_looked_up_by_no_less(
    planner: asyncpg.Connection, guarded: asyncpg.Connection, name: str
) -> None:
    freely, nodes = [await _nodes(connection, STATEMENTS[name]) for connection in (planner, guarded)]

    assert not _sought(freely) - _sought(nodes)
    assert GROWING.isdisjoint(_scanned(nodes))
    assert "messages" not in _sorted(nodes)


def _scanned(nodes: list[dict[str, Any]]) -> set[str]:
    return {node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"}


def _sorted(nodes: list[dict[str, Any]]) -> set[str | None]:
    """Of which tables rows are sorted by a seq, but for those of which a limit has left a few."""
    sorts = [node for node in nodes if node["Node Type"] == "Sort" and any(map(BY_SEQ.search, node["Sort Key"]))]
    return {inner.get("Relation Name") for node in sorts for inner in _within(node, up_to="Limit")}


def _sought(nodes: list[dict[str, Any]]) -> Counter[tuple[str, str]]:
    """How often the rows of a table that grows are looked up by which column; an index is called after its table."""
    sought = [
        (table, column)
        for node in nodes
        for table in GROWING
        if node.get("Index Name", "").startswith(f"{table}_")
        for column in SOUGHT.findall(node.get("Index Cond", ""))
    ]
    return Counter(sought)


@pytest.mark.parametrize("seen_by", [str, as_role], ids=["owner", "guarded"])
async def test_no_request_reads_all_of_a_long_session(url: str, seen_by: Callable[[str], str]) -> None:
    connection, read = await asyncpg.connect(url), dict[str, dict[str, int]]()
    async with running_service(seen_by(url) + GENERIC, **IDLE) as service:

        async def rows() -> Counter[str]:
            async with service.app.state.database.connection() as own:
                await own.execute("SELECT pg_stat_force_next_flush()")
            return Counter(dict(await connection.fetch(ROWS_READ)))

        for method, path, body in REQUESTS:
            before = await rows()
            answer = await service.client.request(method, f"/sessions/long{path}", json=body)
            assert answer.status_code in {200, 201, 409}, answer.text
            read[f"{method} {path}"] = await rows() - before
    await connection.close()

    assert read["GET /context?message_budget=1000"]["messages"] > 0
    assert [(asked, found) for asked, found in read.items() if max(found.values(), default=0) > READ_MAX] == []


MANY_MORE = """
INSERT INTO memories (id, tenant, scope, wake_tokens)
SELECT gen_random_uuid(), $1, 'more', 0 FROM generate_series(1, $2)
"""
WAITING = ["short-7", "short-70", "short-700"]


@pytest.fixture
async def shared(planner: asyncpg.Connection) -> AsyncIterator[UUID]:
    """A memory that all the short sessions share, of which three wait."""
    memory = session_id(TENANT, "shared")
    begun = planner.transaction()
    await begun.start()
    await planner.execute(
        "UPDATE sessions SET memory_id = $1, observed_seq = (key <> ALL ($2))::int, waiting = key = ANY ($2)"
        " WHERE next_seq = 2",
        memory,
        WAITING,
    )
    await planner.execute(
        "INSERT INTO memories (id, tenant, scope, wake_tokens, log_version) VALUES ($1, $2, 'resource', 0, 1)",
        memory,
        TENANT,
    )
    await planner.execute(
        "UPDATE observations SET memory_id = $1, status = 'retired', retired_version = 3, retired_by = 'reflection:1'"
        " WHERE memory_id <> $2",
        memory,
        session_id(TENANT, "long"),
    )
    await planner.execute(
        "UPDATE observations SET status = 'active', retired_version = NULL WHERE session_id = ANY ($1::uuid[])",
        [session_id(TENANT, key) for key in WAITING],
    )
    await planner.execute("ANALYZE observations")  # two indexes would be as good by what was there before
    yield memory
    await begun.rollback()


async def _rows_read(planner: asyncpg.Connection, statement: str, *arguments: Any) -> Counter[str]:
    """How many rows of each table an execution came upon, by an index or not."""
    (found,) = json.loads(await planner.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", *arguments))
    read = Counter[str]()
    for node in _within(found["Plan"]):
        if "Relation Name" in node and "Scan" in node["Node Type"]:
            rows = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
            read[node["Relation Name"]] += round(rows * node["Actual Loops"])
    return read


async def test_a_search_of_a_resource_reads_as_many_sessions_as_it_searches(planner: asyncpg.Connection) -> None:
    begun = planner.transaction()
    await begun.start()
    await planner.execute(
        "UPDATE sessions SET resource_id = 'ana',"
        " ended_at = CASE WHEN key NOT LIKE '%7' THEN now() - split_part(key, '-', 2)::int * interval '1 hour' END"
        " WHERE next_seq = 2"
    )
    await planner.execute("ANALYZE sessions")
    read = await _rows_read(planner, RECALLED_SESSIONS, TENANT, "ana", 300)
    await begun.rollback()
    assert 300 <= read["sessions"] <= 302


async def test_of_a_shared_memory_only_sessions_with_something_to_observe_are_looked_at(
    planner: asyncpg.Connection, shared: UUID
) -> None:
    read = await _rows_read(planner, CONVERSATIONS, shared, 100)
    assert (read["sessions"], read["messages"]) == (len(WAITING), len(WAITING))


async def test_a_version_of_a_shared_memory_looks_at_those_that_wait_and_those_it_moves(
    planner: asyncpg.Connection, shared: UUID
) -> None:
    moved = [session_id(TENANT, "short-1")]
    read = await _rows_read(planner, ADD_SHARED_VERSION, shared, "observed", moved)
    noted = await planner.fetchval("SELECT count(*) FROM session_cursors WHERE memory_id = $1", shared)
    assert noted == read["sessions"] == len(WAITING) + len(moved)


async def test_what_is_shown_of_a_shared_memory_reads_what_it_shows_and_no_session_beside(
    planner: asyncpg.Connection, shared: UUID
) -> None:
    own, notes = session_id(TENANT, "short-1"), 2 * len(WAITING)
    asked: dict[str, tuple[Any, ...]] = {
        "context": (SNAPSHOT, own, None, "{}", 8_000, 32, True, [], [], 0, None, 100),
        "memory": (MEMORY, own),
        "log": (LOG_OBSERVATIONS, shared),
        "reflections": (LOG_REFLECTIONS, shared),
        "recalled": (FOUND_NOTES, [own], [shared], 500, NOTES_BYTES_MAX),
        "a session more": (LOCK_SHARING, None, own, "{}"),
    }
    read = {name: await _rows_read(planner, *statement) for name, statement in asked.items()}

    assert {name: rows["sessions"] for name, rows in read.items()} == {
        "context": 1 + len(WAITING) + notes,  # its own, those that are told of beside it, and of each note its own
        "memory": 1,
        "log": notes,
        "reflections": 0,
        "recalled": 0,
        "a session more": 1,
    }
    assert {name: rows["observations"] for name, rows in read.items()} == {
        "context": notes,
        "memory": notes + 2 + 2,
        "log": notes,
        "reflections": 0,
        "recalled": 2,
        "a session more": 0,
    }


@pytest.mark.parametrize("resource", [None, "nobody"])
async def test_a_list_of_sessions_reads_so_many_at_once_however_few_are_wanted(
    planner: asyncpg.Connection, resource: str | None
) -> None:
    wanted: dict[str, tuple[Any, ...]] = {"all": (None, False), "of a key": ("zzz", False), "due": (None, True)}
    read = {name: await _rows_read(planner, SESSIONS, TENANT, resource, "", *of, 51) for name, of in wanted.items()}
    most = 0 if resource else LOOKED_AT_ONCE
    assert {name: rows["sessions"] for name, rows in read.items()} == {
        "all": 0 if resource else 51,
        "of a key": most,
        "due": most,
    }


async def test_the_backlog_looks_at_few_sessions_of_a_shared_memory(planner: asyncpg.Connection, shared: UUID) -> None:
    await planner.execute("UPDATE memories SET due_at = CASE WHEN id = $1 THEN now() END", shared)
    read = await _rows_read(planner, BACKLOG, 10, [60.0])
    assert (read["sessions"], read["messages"]) == (len(WAITING), len(WAITING))


FAILED = """
UPDATE memories SET attempts = 3, due_at = now() + interval '1 hour' * CASE WHEN id < $1 THEN -1 ELSE 1 END,
  last_error = '{"at": "2026-08-01T10:00:00Z", "step": "observe", "kind": "timeout", "message": "m"}'
"""
MIDDLE = UUID(int=2**127)  # ids are as good as random: half of them are below it


@pytest.mark.parametrize("seen_by", ["planner", "guarded"])
async def test_the_overview_reads_so_many_memories_however_many_wait(
    url: str, planner: asyncpg.Connection, guarded: asyncpg.Connection, seen_by: str
) -> None:
    async with _planning(url) as owner:
        await owner.execute(MANY_MORE, TENANT, 3 * OWN_MAX)
        await owner.execute(FAILED, MIDDLE)
        await owner.execute("ANALYZE memories")
        asking = {"planner": planner, "guarded": guarded}[seen_by]
        backlog = await _rows_read(asking, OWN_BACKLOG, TENANT, [60.0])
        failing = await _rows_read(asking, FAILING, TENANT)
        await owner.execute("DELETE FROM memories WHERE scope = 'more'")
        await owner.execute("UPDATE memories SET attempts = 0, due_at = NULL, last_error = NULL")
        await owner.execute("VACUUM ANALYZE memories")

    assert backlog["memories"] == failing["memories"] == 2 * OWN_MAX
    assert backlog["messages"] <= 2 * OWN_MAX
    assert backlog["sessions"] <= 2 * (2 * OWN_MAX)  # the policy of a message looks its session up too
    assert failing["sessions"] <= 5


async def test_the_overview_looks_at_few_sessions_of_a_shared_memory(planner: asyncpg.Connection, shared: UUID) -> None:
    await planner.execute("UPDATE memories SET due_at = CASE WHEN id = $1 THEN now() END", shared)
    await planner.execute("UPDATE sessions SET waiting = true WHERE memory_id = $1", shared)
    read = await _rows_read(planner, OWN_BACKLOG, TENANT, [60.0])
    assert (read["memories"], read["sessions"]) == (1, OWN_WAITING_MAX)


async def test_a_whole_read_would_be_seen(planner: asyncpg.Connection) -> None:
    nodes = await _nodes(planner, "SELECT * FROM messages WHERE tokens = $1 ORDER BY created_at")

    assert _scanned(nodes) == {"messages"} <= _sorted(nodes)


async def test_a_look_up_that_a_policy_forbids_would_be_seen(
    planner: asyncpg.Connection, guarded: asyncpg.Connection
) -> None:
    last = "m.session_id = s.id AND m.seq = s.next_seq - 1"  # a difference may be out of range
    failing = f"SELECT m.tokens FROM sessions s JOIN messages m ON {last} WHERE s.id = $1"  # noqa: S608 - our own
    freely, nodes = [await _nodes(connection, failing) for connection in (planner, guarded)]

    assert _sought(freely) - _sought(nodes) == {("messages", "seq"): 1}


async def test_the_plans_are_those_of_a_connection_of_the_service(
    planner: asyncpg.Connection, service: Service
) -> None:
    async with service.app.state.database.connection() as connection:
        for setting in ("plan_cache_mode", "enable_seqscan", "enable_sort", "random_page_cost", "jit"):
            own = await connection.fetchval("SELECT current_setting($1)", setting)
            assert own == await planner.fetchval("SELECT current_setting($1)", setting)
        assert await connection.fetchval("SHOW plan_cache_mode") == "auto"


async def test_what_an_append_updates_stays_on_its_page(
    start_service: StartService, service_url: str, worker_url: str
) -> None:
    """By one connection: each tells only at times what it counted, also when a test before this one has closed it."""
    if is_pooled(service_url):
        pytest.skip("a pooler keeps connections of its own")
    connection = await asyncpg.connect(worker_url)
    async with asyncio.timeout(60):
        while await connection.fetchval(OTHERS, EMPTYING):  # noqa: ASYNC110 - Postgres tells nobody that a connection has ended
            await asyncio.sleep(0.01)
    async with start_service(**IDLE) as service:
        await service.append("s1", SAID)
        async with service.app.state.database.connection() as own:
            await own.execute("SELECT pg_stat_force_next_flush()")
            await own.execute("SELECT pg_stat_reset()")
        for number in range(40):
            await service.append("s1", {"role": "user", "content": f"message {number}"})
        async with service.app.state.database.connection() as own:
            await own.execute("SELECT pg_stat_force_next_flush()")
        rows = await connection.fetch(
            "SELECT relname, n_tup_upd AS updated, n_tup_hot_upd AS hot FROM pg_stat_user_tables"
            " WHERE relname IN ('sessions', 'memories')"
        )
    await connection.close()

    assert {row["relname"]: row["updated"] >= 40 for row in rows} == {"sessions": True, "memories": True}, rows
    # All but those that met a page which a snapshot of Postgres' own, still open, kept from being pruned.
    assert all(10 * row["hot"] >= 9 * row["updated"] for row in rows), rows
