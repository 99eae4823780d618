"""The hot statements are one statement and one round trip each (architecture.md section 3)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pytest

from app.context.store import Budgets, ContextStore
from app.kit.db import Database, DatabaseConfig
from app.sessions.append_store import AppendStore
from app.sessions.message_store import MessageStore
from app.sessions.model import Kind, MemoryDefaults, NewMessage, Role, Trust
from app.sessions.store import SessionStore, session_id

DEFAULTS = MemoryDefaults(wake_tokens=1_000, early_tokens=1_000, cache_ttl=300.0, timezone="UTC")
BUDGETS = Budgets(presets={}, service=8_000, enabled=True)


def message(name: str) -> NewMessage:
    return NewMessage(
        id=name,
        kind=Kind.USER,
        role=Role.USER,
        parts=({"type": "text", "text": name},),
        tokens=10,
        observe=True,
        trust=Trust.USER,
        content_hash=name.encode(),
    )


async def append(store: AppendStore, *messages: NewMessage) -> None:
    await store.append(tenant="default", key="s1", messages=messages, resource_id=None, usage=None, defaults=DEFAULTS)


@asynccontextmanager
async def opened(url: str, *, connections: int) -> AsyncIterator[Database]:
    database = Database(DatabaseConfig(url=url, pool_min=1, pool_max=connections))
    await database.open()
    yield database
    await database.close()


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    async with opened(database_url, connections=1) as database:
        yield database


async def statements_of(database: Database, call: Any) -> list[str]:
    """What ``call`` sends over the pool's one connection, which has the statement prepared."""
    await call()
    sent: list[str] = []
    async with database.connection() as connection:
        connection.add_query_logger(lambda record: sent.append(record.query))
    await call()
    return sent


@pytest.mark.parametrize(("messages", "name"), [(1, "append_one"), (20, "append_new")])
async def test_an_append_of_new_messages_is_one_short_statement(database: Database, messages: int, name: str) -> None:
    store = AppendStore(database)
    await append(store, message("first"))
    sent = await statements_of(database, lambda: append(store, *(message(uuid4().hex) for _ in range(messages))))
    assert [query.split("\n")[0] for query in sent] == [f"/* {name} */"]


@pytest.mark.parametrize(("messages", "name"), [(1, "append_one"), (20, "append_new")])
async def test_the_short_statement_is_not_planned_for_each_append(database: Database, messages: int, name: str) -> None:
    """Postgres chooses the generic plan once five others were no cheaper."""
    store = AppendStore(database)
    for _ in range(12):
        await append(store, *(message(uuid4().hex) for _ in range(messages)))
    async with database.connection() as connection:
        row = await connection.fetchrow(
            "SELECT * FROM pg_prepared_statements WHERE statement LIKE $1", f"/* {name} */%"
        )
    assert (row["custom_plans"], row["generic_plans"]) == (5, 7)


async def test_what_is_sent_again_in_another_shape_is_read_by_one_statement(database: Database) -> None:
    await append(AppendStore(database), *(message(f"m-{number}") for number in range(20)))
    store, ids = MessageStore(database), [f"m-{number}" for number in range(10, 30)]
    found = await store.by_id(session_id("default", "s1"), ids)
    assert await store.by_id(session_id("default", "other"), ids) == {}
    sent = await statements_of(database, lambda: store.by_id(session_id("default", "s1"), ids))
    assert [query.split("\n")[0] for query in sent] == ["/* messages_by_id */"]
    assert {id_: one.seq for id_, one in found.items()} == {f"m-{number}": number + 1 for number in range(10, 20)}


async def put(store: SessionStore, **config: Any) -> None:
    await store.put(
        tenant="default",
        key="s1",
        resource_id=None,
        config=config,
        metadata={},
        metadata_bytes_max=1_024,
        timezone="UTC",
    )


async def changes(database: Database) -> list[tuple[int, int, int, dict[str, Any]]]:
    """Number, first seq, version and config of each change that is recorded."""
    query = "SELECT number, from_seq, version, config, changed_at FROM session_configs ORDER BY session_id, number"
    async with database.connection() as connection:
        rows = await connection.fetch(query)
    assert [row["changed_at"] for row in rows] == sorted(row["changed_at"] for row in rows)
    return [(row["number"], row["from_seq"], row["version"], row["config"]) for row in rows]


async def test_a_change_of_config_is_recorded_with_where_it_begins(database: Database) -> None:
    store, appends = SessionStore(database), AppendStore(database)
    await put(store)  # nothing to record: the service's own rules
    await put(store, preset="compact")
    await append(appends, message("a"), message("b"))
    async with database.connection() as connection:
        await connection.execute("UPDATE memories SET log_version = 7")
    await put(store, message_tokens=500)
    await put(store, message_tokens=500)  # which it is already
    await put(store)
    await put(store, message_tokens=None, preset=None)
    await put(store, buffer_every=None)
    assert await changes(database) == [
        (1, 1, 0, {"preset": "compact"}),
        (2, 3, 7, {"preset": "compact", "message_tokens": 500}),
        (3, 3, 7, {}),
        (4, 3, 7, {"buffer_every": None}),
    ]


async def test_the_config_a_session_is_created_with_is_recorded(database: Database) -> None:
    await put(SessionStore(database), preset="classic")
    assert await changes(database) == [(1, 1, 0, {"preset": "classic"})]


async def test_changes_at_once_are_recorded_one_after_the_other(database_url: str) -> None:
    wanted = [{"message_tokens": number // 2 + 1_000} for number in range(16)]  # each twice
    async with opened(database_url, connections=8) as database:
        store = SessionStore(database)
        await append(AppendStore(database), message("a"))
        await asyncio.gather(*(put(store, **config) for config in wanted))
        recorded, session = await changes(database), await store.get("default", "s1")
    assert [number for number, *_ in recorded] == list(range(1, len(recorded) + 1))
    assert all(before[3] != after[3] for before, after in pairwise(recorded))
    assert session is not None
    assert recorded[-1][3] == session.config


async def test_the_read_behind_a_context_is_one_statement(database: Database) -> None:
    store = ContextStore(database)

    async def read() -> None:
        await store.snapshot(session_id("default", "s1"), BUDGETS, ["x", "user:x", "app:x"])

    sent = await statements_of(database, read)
    assert [query.split("\n")[0] for query in sent] == ["/* snapshot */"]
