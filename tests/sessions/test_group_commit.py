"""Appends of one message that are asked for at once go in one transaction, and are none of each other's business."""

import asyncio
import random
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import asyncpg
import pytest

from app.kit.db import Database, DatabaseConfig, Tx, is_away
from app.sessions.append_store import GROUP_CHARS, AppendResult, AppendStore
from app.sessions.group_commit import GROUP_MAX
from app.sessions.model import ActorUsage, NewMessage
from tests.pooler import is_pooled
from tests.secured import is_as_role
from tests.sessions.test_append_store import DEFAULTS, FIRST, appended

KEYS = ("a", "b", "c", "d")
SHARE = "UPDATE sessions SET memory_id = (SELECT memory_id FROM sessions WHERE key = 'a')"
TRANSACTIONS = "SELECT count(DISTINCT xmin::text) FROM messages WHERE id <> 'first'"
MESSAGES = """
SELECT s.key, m.id, m.seq, m.tokens_before FROM messages m JOIN sessions s ON s.id = m.session_id
WHERE m.id <> 'first' ORDER BY s.key, m.seq
"""
PENDING = "SELECT sum(pending_tokens)::int FROM memories WHERE id IN (SELECT memory_id FROM sessions)"
# By who holds no session, as none of the service's statements would.
STORED_BESIDE = """
INSERT INTO messages SELECT (jsonb_populate_record(m, '{"id": "m", "seq": 100}')).*
FROM messages m JOIN sessions s ON s.id = m.session_id WHERE s.key = 'a' AND m.id = 'first'
"""
WAITS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@pytest.fixture
async def database(service_url: str) -> AsyncIterator[Database]:
    async with opened(service_url) as database:
        yield database


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Database]:
    config = DatabaseConfig(
        url=url,
        pool_min=1,
        pool_max=4,
        prepared_statements=not is_pooled(url),
        row_level_security=is_as_role(url),
    )
    database = Database(config)
    await database.open()
    yield database
    await database.close()


@pytest.fixture
async def store(database: Database) -> AppendStore:
    """Sessions with a message each."""
    store = AppendStore(database)
    for key in KEYS:
        await one(store, key, FIRST)
    return store


@pytest.fixture
async def other(database_url: str, store: AppendStore) -> AsyncIterator[Tx]:  # noqa: ARG001 - behind it
    """A connection of somebody else's."""
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


def one(
    store: AppendStore, key: str, message: NewMessage, usage: ActorUsage | None = None
) -> Coroutine[Any, Any, AppendResult]:
    return appended(store, key=key, messages=[message], resource_id=None, usage=usage, defaults=DEFAULTS)


def said(name: str = "m", **more: Any) -> NewMessage:
    return replace(FIRST, id=name, **more)


async def seq(appending: Coroutine[Any, Any, AppendResult] | asyncio.Task[AppendResult]) -> int | None:
    (stored,) = (await appending).messages
    return stored.seq


async def until_somebody_waits(other: Tx) -> int:
    """The process of the server that waits for a lock."""
    while (pid := await other.fetchval(WAITS)) is None:
        pass
    return int(pid)


async def test_sessions_that_are_appended_to_at_once_are_one_transaction(
    database: Database, store: AppendStore, other: Tx
) -> None:
    found = await asyncio.gather(*(seq(one(store, key, said())) for key in KEYS))
    assert found == [2] * len(KEYS)
    assert await other.fetchval(PENDING) == 2 * len(KEYS) * FIRST.tokens
    assert await other.fetchval(TRANSACTIONS) == (len(KEYS) if database.is_guarded else 1)


async def test_appends_to_one_session_keep_their_order(database: Database, store: AppendStore, other: Tx) -> None:
    found = await asyncio.gather(*(seq(one(store, key, said(f"m-{n}"))) for n, key in enumerate("abaa")))
    assert database.is_guarded or found == [2, 2, 3, 4]
    rows = [row for row in await other.fetch(MESSAGES) if row["key"] == "a"]
    assert [(row["seq"], row["tokens_before"]) for row in rows] == [(2, 5), (3, 10), (4, 15)]


async def test_a_transaction_has_so_many_at_most(database: Database, store: AppendStore, other: Tx) -> None:
    count = 2 * GROUP_MAX + 1
    await asyncio.gather(*(one(store, f"a{n}", FIRST) for n in range(count)))
    await asyncio.gather(*(one(store, f"a{n}", said()) for n in range(count)))
    assert await other.fetchval(TRANSACTIONS) == (count if database.is_guarded else 3)


async def test_a_large_message_goes_alone(database: Database, store: AppendStore, other: Tx) -> None:
    large = said(parts=({"type": "text", "text": "x" * GROUP_CHARS},))
    found = await asyncio.gather(*(seq(one(store, key, said())) for key in "abc"), seq(one(store, "d", large)))
    assert found == [2, 2, 2, 2]
    assert await other.fetchval(TRANSACTIONS) == (4 if database.is_guarded else 2)


async def test_what_is_said_twice_at_once_is_stored_once(store: AppendStore) -> None:
    found = await asyncio.gather(*(one(store, key, said()) for key in ("a", "a", "b")))
    told = [(found.messages[0].seq, found.messages[0].replayed) for found in found]
    assert sorted(told[:2]) == [(2, False), (2, True)]
    assert told[2] == (2, False)


async def test_a_session_that_is_new_is_made_beside_those_that_are_there(store: AppendStore) -> None:
    assert await asyncio.gather(*(seq(one(store, key, said())) for key in ("a", "new", "b"))) == [2, 1, 2]


async def test_sessions_of_one_memory_are_both_counted_in_it(store: AppendStore, other: Tx) -> None:
    await other.execute(SHARE)
    before = await other.fetchval(PENDING)
    results = await asyncio.gather(*(one(store, key, said(tokens=tokens)) for key, tokens in (("a", 7), ("b", 9))))
    assert await other.fetchval(PENDING) == before + 16
    assert max(result.memory.pending_tokens for result in results) == before + 16


@pytest.mark.parametrize("table", ["sessions", "memories"])
async def test_who_is_held_by_another_transaction_holds_up_nobody_else(
    store: AppendStore, other: Tx, table: str
) -> None:
    await other.execute("BEGIN")
    ids = "SELECT id FROM sessions WHERE key = 'b'"
    await other.execute(f"SELECT FROM {table} WHERE id = ({ids}) FOR UPDATE")
    held = asyncio.create_task(one(store, "b", said()))
    assert await asyncio.gather(*(seq(one(store, key, said())) for key in "acd")) == [2, 2, 2]
    await until_somebody_waits(other)
    assert not held.done()
    await other.execute("ROLLBACK")
    assert await seq(held) == 2


@pytest.mark.parametrize(
    ("message", "usage"),
    [
        pytest.param(said("\0"), None, id="no text to Postgres"),
        pytest.param(said("\ud800"), None, id="no text to the driver"),
        pytest.param(said(), ActorUsage(input_tokens=2**63 - 1, output_tokens=2**63 - 1), id="too large a sum"),
        pytest.param(said(), ActorUsage(input_tokens=2**63), id="no number to the driver"),
    ],
)
async def test_what_is_refused_of_one_is_none_of_the_others(
    store: AppendStore, message: NewMessage, usage: ActorUsage | None
) -> None:
    await one(store, "b", said("before"), ActorUsage(input_tokens=1))
    *others, refused = await asyncio.gather(
        *(one(store, key, said()) for key in "acd"), one(store, "b", message, usage), return_exceptions=True
    )
    assert [result.messages[0].seq for result in others if isinstance(result, AppendResult)] == [2, 2, 2]
    assert isinstance(refused, (asyncpg.DataError, asyncpg.CharacterNotInRepertoireError))
    assert await seq(one(store, "b", said("after"))) == 3


async def test_what_is_refused_of_one_is_none_of_the_others_where_they_take_several_writes(
    store: AppendStore, other: Tx
) -> None:
    """Of 32 KB and more each is a write of its own, and what ends the transaction comes after the fourth."""
    wide = said(parts=({"type": "text", "text": "\u4e00" * (GROUP_CHARS - 100)},))
    assert await asyncio.gather(*(seq(one(store, key, wide)) for key in KEYS)) == [2] * len(KEYS)
    await one(store, "a", said("before"), ActorUsage(input_tokens=1))
    large = ActorUsage(input_tokens=2**63 - 1)
    refused, *others = await asyncio.gather(
        one(store, "a", replace(wide, id="n"), large),
        *(one(store, key, replace(wide, id="n")) for key in "bcd"),
        return_exceptions=True,
    )
    assert isinstance(refused, asyncpg.DataError)
    assert [result.messages[0].seq for result in others if isinstance(result, AppendResult)] == [3, 3, 3]
    rows = [row for row in await other.fetch(MESSAGES) if row["id"] == "n"]
    assert [(row["key"], row["seq"]) for row in rows] == [("b", 3), ("c", 3), ("d", 3)]


async def test_what_is_stored_meanwhile_is_told_of_it_alone(store: AppendStore, other: Tx) -> None:
    """The unique index refuses it, and all that was in its transaction goes again."""
    await other.execute(f"BEGIN; {STORED_BESIDE}")
    appending = [asyncio.create_task(one(store, key, said())) for key in KEYS]
    await until_somebody_waits(other)
    await other.execute("COMMIT")
    told = [(await one).messages[0] for one in appending]
    assert [(found.seq, found.replayed) for found in told] == [(100, True), (2, False), (2, False), (2, False)]


async def test_who_breaks_off_ends_nobody_elses(store: AppendStore, other: Tx) -> None:
    await other.execute(f"BEGIN; {STORED_BESIDE}")
    appending = [asyncio.create_task(one(store, key, said())) for key in KEYS]
    await until_somebody_waits(other)
    appending[1].cancel()
    await asyncio.wait([appending[1]])
    await other.execute("ROLLBACK")
    assert [await seq(task) for task in (appending[0], *appending[2:])] == [2, 2, 2]


async def test_who_breaks_off_before_it_was_asked_stores_nothing(store: AppendStore, other: Tx) -> None:
    appending = [asyncio.create_task(one(store, key, said())) for key in KEYS]
    asyncio.get_running_loop().call_soon(appending[1].cancel)
    found = await asyncio.gather(*appending, return_exceptions=True)
    assert [isinstance(result, AppendResult) for result in found] == [True, False, True, True]
    assert [row["key"] for row in await other.fetch(MESSAGES)] == ["a", "c", "d"]


async def test_a_connection_that_ends_is_told_to_each(database: Database, store: AppendStore, other: Tx) -> None:
    await other.execute(f"BEGIN; {STORED_BESIDE}")
    appending = [asyncio.create_task(one(store, key, said())) for key in KEYS]
    await other.execute("SELECT pg_terminate_backend($1)", await until_somebody_waits(other))
    await other.execute("ROLLBACK")
    found = await asyncio.gather(*appending, return_exceptions=True)
    ended = [isinstance(result, BaseException) and is_away(result) for result in found]
    assert ended == [True, *(not database.is_guarded for _ in KEYS[1:])]
    assert [await seq(one(store, key, said())) for key in KEYS] == [2, 2, 2, 2]


async def test_two_processes_that_append_to_the_same_sessions_wait_for_each_other_at_no_time(
    service_url: str, store: AppendStore, other: Tx
) -> None:
    await other.execute(f"{SHARE} WHERE key IN ('a', 'b')")
    order, count = random.Random(7), 40  # noqa: S311 - no secret
    async with opened(service_url) as second:
        stores = (store, AppendStore(second))
        for turn in range(count):
            keys = [order.sample(KEYS, len(KEYS)) for _ in stores]
            await asyncio.gather(
                *(one(its, key, said(f"m-{turn}-{n}")) for n, its in enumerate(stores) for key in keys[n])
            )
    rows = await other.fetch(MESSAGES)
    for key in KEYS:
        assert [row["seq"] for row in rows if row["key"] == key] == list(range(2, 2 + 2 * count))
    assert await other.fetchval(PENDING) >= FIRST.tokens * len(KEYS) * 2 * count
