"""The hot statements are one statement and one round trip each (architecture.md section 3)."""

from typing import Any
from uuid import uuid4

import pytest

from app.context.store import Budgets, ContextStore
from app.kit.db import Database, DatabaseConfig
from app.sessions.model import Kind, MemoryDefaults, NewMessage, Role, Trust
from app.sessions.store import SessionStore, session_id

DEFAULTS = MemoryDefaults(wake_tokens=1_000, early_tokens=1_000, cache_ttl=300.0, timezone="UTC")
BUDGETS = Budgets(asked=None, presets={}, service=8_000, enabled=True)


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


@pytest.fixture
async def database(database_url: str) -> Any:
    database = Database(DatabaseConfig(url=database_url, pool_min=1, pool_max=1))
    await database.open()
    yield database
    await database.close()


async def statements_of(database: Database, call: Any) -> list[str]:
    """What ``call`` sends over the pool's one connection, which has the statement prepared."""
    await call()
    sent: list[str] = []
    async with database.connection() as connection:
        connection.add_query_logger(lambda record: sent.append(record.query))
    await call()
    return sent


async def test_an_append_is_one_statement(database: Database) -> None:
    store = SessionStore(database)

    async def append() -> None:
        await store.append(
            tenant="default",
            key="s1",
            messages=[message(uuid4().hex), message(uuid4().hex)],
            resource_id=None,
            usage=None,
            defaults=DEFAULTS,
        )

    sent = await statements_of(database, append)
    assert [query.split("\n")[0] for query in sent] == ["/* append */"]


async def test_the_read_behind_a_context_is_one_statement(database: Database) -> None:
    store = ContextStore(database)

    async def read() -> None:
        await store.snapshot(session_id("default", "s1"), BUDGETS)

    sent = await statements_of(database, read)
    assert [query.split("\n")[0] for query in sent] == ["/* snapshot */"]
