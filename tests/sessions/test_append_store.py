"""The short statement of an append, for new messages, does what the general one does."""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import Any

import asyncpg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.kit.db import Database, DatabaseConfig, Tx, acting_for
from app.sessions.append_store import APPEND_NEW, APPEND_ONE, STALE_SNAPSHOT, AppendResult, AppendStore
from app.sessions.model import ActorUsage, Kind, MemoryDefaults, NewMessage, Role, Trust
from app.sessions.store import session_id
from tests.secured import is_as_role

DEFAULTS = MemoryDefaults(wake_tokens=50, early_tokens=20, cache_ttl=300.0, timezone="UTC")
FIRST = NewMessage(
    id="first",
    kind=Kind.USER,
    role=Role.USER,
    parts=({"type": "text", "text": "first"},),
    tokens=5,
    observe=True,
    trust=Trust.USER,
    content_hash=b"first",
)
NUMBERS = count()
TENANT = "t"

# What the engine, the memory and time may have done to the rows before.
FORE = st.fixed_dictionaries(
    {},
    optional={
        "sessions": st.sampled_from(
            [
                "last_active_at = now() - interval '1 hour'",
                "last_active_at = now() - interval '1 hour', config = '{\"cache_ttl\": 7200}'",
                "last_active_at = now() - interval '1 hour', config = '{\"timezone\": \"Asia/Seoul\"}'",
                "actor_model = 'other'",
                "ended_at = now(), resource_id = 'r'",
            ]
        ),
        "memories": st.sampled_from(
            [
                "due_at = now() + interval '1 hour'",
                "due_at = now() + interval '1 hour', lease_owner = 'me'",
                "due_at = now() + interval '1 hour', attempts = 2, requested = 'look'",
                "buffered_tokens = 30",
                "buffered_tokens = 30, requested = 'observe'",
                "wake_tokens = 1000",
            ]
        ),
    },
)
MESSAGES = st.builds(
    lambda kind, tokens, observe, created_at, name, metadata: {
        "kind": kind,
        "tokens": tokens,
        "observe": observe,
        "created_at": created_at,
        "name": name,
        "metadata": metadata,
    },
    st.sampled_from([Kind.USER, Kind.ASSISTANT, Kind.TOOL_CALL, Kind.TOOL_RESULT, Kind.BOUNDARY]),
    st.integers(0, 60),
    st.booleans(),
    st.sampled_from([None, datetime(2020, 1, 1, tzinfo=UTC), datetime(2040, 1, 1, 23, 0, tzinfo=UTC)]),
    st.sampled_from([None, "ann"]),
    st.sampled_from([None, {"a": [1]}]),
)
USAGES = st.sampled_from(
    [None, ActorUsage(model="m", input_tokens=9, output_tokens=2, cost_usd=0.5), ActorUsage(cached_input_tokens=3)]
)
RESOURCES = st.sampled_from([None, "r"])

# Of which nothing may differ, but what names the session, and when it was.
LEFT = {
    "sessions": "SELECT to_jsonb(s) - '{id,key,memory_id,created_at,last_active_at,cold_at}'::text[]"
    " || jsonb_build_object('cold', s.cold_at IS NOT NULL, 'active', now() - last_active_at < interval '1 minute')"
    " FROM sessions s WHERE key = $1",
    "memories": "SELECT to_jsonb(m) - '{id,due_at,requested_at}'::text[] || jsonb_build_object("
    "'due', m.due_at <= now(), 'asked', m.requested_at IS NOT NULL)"
    " FROM memories m JOIN sessions s ON s.memory_id = m.id WHERE s.key = $1",
    "messages": "SELECT jsonb_agg(to_jsonb(m) - '{session_id,created_at,ingested_at}'::text[] || jsonb_build_object("
    "'told', m.created_at <> m.ingested_at) ORDER BY m.seq)"
    " FROM messages m JOIN sessions s ON s.id = m.session_id WHERE s.key = $1",
}


@pytest.fixture
async def database(service_url: str) -> AsyncIterator[Database]:
    database = Database(
        DatabaseConfig(url=service_url, pool_min=1, pool_max=2, row_level_security=is_as_role(service_url))
    )
    await database.open()
    yield database
    await database.close()


async def appended(store: AppendStore, **what: Any) -> AppendResult:
    """As a request of the tenant's does."""
    with acting_for(TENANT):
        return await store.append(tenant=TENANT, **what)


async def left(database: Database, key: str) -> dict[str, Any]:
    async with database.connection() as connection:
        return {table: await connection.fetchval(query, key) for table, query in LEFT.items()}


def told(result: AppendResult, new: int) -> tuple[Any, ...]:
    """What is answered of the last messages, and of the memory."""
    memory = result.memory
    counted = (
        memory.pending_tokens,
        memory.observation_tokens,
        memory.queue.due,
        memory.queue.due_at is None,
        memory.config,
    )
    return result.messages[-new:], result.resource_id, counted


@settings(max_examples=25)
@given(
    fore=FORE,
    batches=st.lists(st.lists(MESSAGES, min_size=1, max_size=3), min_size=1, max_size=2),
    usage=USAGES,
    resource=RESOURCES,
)
async def test_messages_alone_are_stored_as_behind_one_that_is_stored_already(
    database: Database,
    fore: dict[str, str],
    batches: list[list[dict[str, Any]]],
    usage: ActorUsage | None,
    resource: str | None,
) -> None:
    """A replayed message beside the new ones asks for the general statement, and adds nothing."""
    store, alone, behind = AppendStore(database), f"a-{next(NUMBERS)}", f"b-{next(NUMBERS)}"
    common: dict[str, Any] = {"resource_id": resource, "usage": usage, "defaults": DEFAULTS}
    for key in (alone, behind):
        await appended(store, key=key, messages=[FIRST], **common | {"usage": None})
        async with database.connection() as connection:
            for table, change in fore.items():
                column = "id" if table == "sessions" else "memory_id"
                ids = f"(SELECT {column} FROM sessions WHERE key = '{key}')"  # noqa: S608 - our own
                await connection.execute(f"UPDATE {table} SET {change} WHERE id IN {ids}")  # noqa: S608 - our own
    for turn, batch in enumerate(batches):
        new = [
            NewMessage(
                **own,
                id=f"m-{turn}-{number}",
                role=Role.USER,
                parts=({"type": "text", "text": "x", "z": 1, "a": 2},),
                trust=Trust.TOOL,
                content_hash=b"x",
            )
            for number, own in enumerate(batch)
        ]
        one = await appended(store, key=alone, messages=new, **common)
        other = await appended(store, key=behind, messages=[FIRST, *new], **common)
        assert told(one, len(new)) == told(other, len(new))
    assert await left(database, alone) == await left(database, behind)


@pytest.mark.parametrize("content_hash", [b"first", b"other"])
async def test_what_the_short_statement_does_not_store_is_told_by_the_general_one(
    database: Database, content_hash: bytes
) -> None:
    store = AppendStore(database)
    common: dict[str, Any] = {"key": "s", "resource_id": None, "usage": None, "defaults": DEFAULTS}
    await appended(store, messages=[FIRST], **common)
    again = replace(FIRST, kind=Kind.ASSISTANT, tokens=9, content_hash=content_hash)  # as they are told today
    async with database.connection() as connection:
        await connection.execute("UPDATE sessions SET config = '{\"keep_last\": 3}'")
    result = await appended(store, messages=[again], **common)
    (found,) = result.messages
    assert result.memory.config == {"keep_last": 3}
    assert (found.seq, found.replayed, found.differs) == (1, True, content_hash != b"first")
    assert (found.kind, found.tokens) == (FIRST.kind, FIRST.tokens)
    assert (await left(database, "s"))["sessions"]["next_seq"] == 2


COLD = {"sessions": "last_active_at = now() - interval '301 seconds'"}
WARM = {"sessions": "last_active_at = now() - interval '200 seconds'"}
COLD_BEFORE = "cold_at = now() - interval '1 hour'"
BOUNDARY = {"kind": Kind.BOUNDARY, "observe": False}
OVER = {"parts": ({"type": "text", "text": "That's all, thanks!"},)}
OTHER_MODEL = ActorUsage(model="other")


@pytest.mark.parametrize(
    ("fore", "message", "usage", "due", "requested"),
    [
        ({}, {"tokens": 44}, None, False, None),
        ({}, {"tokens": 45}, None, True, None),  # the threshold of 50, with the 5 that wait
        ({"memories": "pending_tokens = 0"}, {"tokens": 49}, None, False, None),
        ({}, {"tokens": 99, "observe": False, "kind": Kind.ASSISTANT}, None, False, None),
        # What may close a call without a token, or end a topic.
        ({}, BOUNDARY, None, True, "look"),
        ({}, {"kind": Kind.TOOL_RESULT, "observe": False}, None, True, "look"),
        ({}, {"kind": Kind.TOOL_RESULT}, None, False, None),
        ({}, {"kind": Kind.TOOL_CALL, "observe": False}, None, True, "look"),
        ({}, {"observe": False}, None, True, "look"),
        ({}, OVER, None, True, "look"),
        ({}, OVER | {"role": Role.ASSISTANT, "kind": Kind.ASSISTANT}, None, False, None),
        ({"memories": "requested = 'observe'"}, BOUNDARY, None, True, "observe"),
        # A cold cache, where at least 20 tokens are observed ahead.
        ({**COLD, "memories": "buffered_tokens = 20"}, {}, None, True, "activate"),
        ({**COLD, "memories": "buffered_tokens = 19"}, {}, None, False, None),
        ({**WARM, "memories": "buffered_tokens = 20"}, {}, None, False, None),
        ({"sessions": f"{WARM['sessions']}, {COLD_BEFORE}", "memories": "buffered_tokens = 20"}, {}, None, False, None),
        ({**COLD, "memories": "buffered_tokens = 20, requested = 'look'"}, {}, None, True, "activate"),
        ({**COLD, "memories": "buffered_tokens = 20, requested = 'reflect'"}, {}, None, True, "reflect"),
        ({"sessions": "actor_model = 'm'", "memories": "buffered_tokens = 20"}, {}, OTHER_MODEL, True, "activate"),
        ({"sessions": "actor_model = 'other'", "memories": "buffered_tokens = 20"}, {}, OTHER_MODEL, False, None),
        ({"memories": "buffered_tokens = 20"}, {}, OTHER_MODEL, False, None),  # the first that is told
    ],
)
async def test_an_append_has_the_memory_looked_at_where_there_is_a_reason(
    database: Database,
    fore: dict[str, str],
    message: dict[str, Any],
    usage: ActorUsage | None,
    due: bool,
    requested: str | None,
) -> None:
    store = AppendStore(database)
    common: dict[str, Any] = {"key": "s", "resource_id": None, "defaults": DEFAULTS}
    await appended(store, messages=[FIRST], usage=None, **common)
    async with database.connection() as connection:
        for table, change in fore.items():
            await connection.execute(f"UPDATE {table} SET {change}")  # noqa: S608 - our own
    result = await appended(store, messages=[replace(FIRST, id="new", **message)], usage=usage, **common)
    found = (await left(database, "s"))["memories"]

    assert (result.memory.queue.due, found["requested"], found["asked"]) == (due, requested, requested is not None)


async def test_another_model_is_told_from_the_last_that_was_named(database: Database) -> None:
    """A turn without a word of the model, as a user's, is between the two."""
    store, common = AppendStore(database), {"key": "s", "resource_id": None, "defaults": DEFAULTS}
    for turn, usage in enumerate((ActorUsage(model="m"), None, OTHER_MODEL)):
        await appended(store, messages=[replace(FIRST, id=f"m-{turn}")], usage=usage, **common)
        async with database.connection() as connection:
            await connection.execute("UPDATE memories SET buffered_tokens = 20")
    assert (await left(database, "s"))["memories"]["requested"] == "activate"


@pytest.mark.parametrize(("tokens", "due"), [(49, False), (50, True)])
async def test_a_first_append_has_the_memory_looked_at_from_the_threshold_on(
    database: Database, tokens: int, due: bool
) -> None:
    new, common = [replace(FIRST, tokens=tokens)], {"key": "s", "resource_id": None, "usage": None}
    assert (await appended(AppendStore(database), messages=new, defaults=DEFAULTS, **common)).memory.queue.due is due


async def test_a_session_that_begins_with_an_old_message_is_dated_from_today(database: Database) -> None:
    old = replace(FIRST, created_at=datetime(2020, 1, 1, tzinfo=UTC))
    common = {"key": "s", "resource_id": None, "usage": None, "defaults": DEFAULTS}
    await appended(AppendStore(database), messages=[old], **common)
    assert (await left(database, "s"))["sessions"]["anchor_date"] > "2020-01-02"


async def test_a_session_begins_on_the_day_of_the_services_time_zone(database: Database) -> None:
    evening = replace(FIRST, created_at=datetime(2099, 1, 1, 20, tzinfo=UTC))
    common = {"key": "s", "resource_id": None, "usage": None, "defaults": replace(DEFAULTS, timezone="Asia/Seoul")}
    await appended(AppendStore(database), messages=[evening], **common)
    assert (await left(database, "s"))["sessions"]["anchor_date"] == "2099-01-02"


@pytest.mark.parametrize(
    ("fore", "years", "year"),
    [(COLD, [2021], datetime.now(UTC).year), (COLD, [2021, 2099, 2022], 2099), (WARM, [2021, 2099, 2022], 2020)],
)
async def test_a_day_passes_in_a_context_once_its_cache_is_cold_alone(
    database: Database, fore: dict[str, str], years: list[int], year: int
) -> None:
    """Each date in the notes is told from it: a talk that goes on past midnight keeps its cached prefix."""
    store, common = AppendStore(database), {"key": "s", "resource_id": None, "usage": None, "defaults": DEFAULTS}
    await appended(store, messages=[FIRST], **common)
    async with database.connection() as connection:
        await connection.execute(f"UPDATE sessions SET anchor_date = '2020-01-01', {fore['sessions']}")  # noqa: S608 - our own
    told = [replace(FIRST, id=f"in {one}", created_at=datetime(one, 1, 2, tzinfo=UTC)) for one in years]
    await appended(store, messages=told, **common)
    session = (await left(database, "s"))["sessions"]
    assert session["anchor_date"][:4] == str(year)
    assert session["active"]


STORE_ANOTHER = """
INSERT INTO messages SELECT (jsonb_populate_record(m, jsonb_build_object('id', $1::text, 'seq', s.next_seq))).*
FROM messages m JOIN sessions s ON s.id = m.session_id WHERE m.seq = 1
"""
GROW = "UPDATE sessions SET next_seq = next_seq + 1"
HOLD = "SELECT FROM sessions FOR UPDATE"
WAITING = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


async def test_an_append_is_stored_though_others_store_its_messages_one_by_one_while_it_waits(
    database: Database, database_url: str
) -> None:
    """Each of them holds the session, stores one and ends, with the next waiting behind the append already."""
    store, new = AppendStore(database), [replace(FIRST, id=f"m-{number}") for number in range(6)]
    common: dict[str, Any] = {"key": "s", "resource_id": None, "usage": None, "defaults": DEFAULTS}
    await appended(store, messages=[FIRST], **common)
    holder, following, watcher = [await asyncpg.connect(database_url) for _ in range(3)]
    await holder.execute(f"BEGIN; {HOLD}")
    appending = asyncio.create_task(appended(store, messages=new, **common))
    for message in new:
        while await watcher.fetchval(WAITING) < 1 and not appending.done():
            pass
        await following.execute("BEGIN")
        held = asyncio.create_task(following.execute(HOLD))
        while await watcher.fetchval(WAITING) < 1 + (not appending.done()):
            pass
        if not appending.done():
            await holder.execute(STORE_ANOTHER, message.id)
            await holder.execute(GROW)
        await holder.execute("COMMIT")
        await held
        holder, following = following, holder
    await holder.execute("COMMIT")
    for connection in (holder, following, watcher):
        await connection.close()
    result = await appending
    assert [found.seq for found in result.messages] == [2, 3, 4, 5, 6, 7]


class Listening(Database):
    """Keeps what Postgres says of each statement that fails, which its server's log has too."""

    def __init__(self, config: DatabaseConfig) -> None:
        super().__init__(config)
        self.told: list[str] = []

    @asynccontextmanager
    async def connection(self, *, of: Hashable = None) -> AsyncIterator[Tx]:
        try:
            async with super().connection(of=of) as connection:
                yield connection
        except asyncpg.PostgresError as error:
            self.told.append(str(error.as_dict()))
            raise


DELETE_ALL = ("DELETE FROM messages", "DELETE FROM memories", "DELETE FROM sessions")
PLAIN = "a plain word"


async def test_nothing_said_is_told_of_an_append_that_waited_while_its_session_was_deleted(
    service_url: str, database_url: str
) -> None:
    """It knew the first message, and makes the session anew: what it stores then is all of the next try."""
    database = Listening(DatabaseConfig(url=service_url, pool_max=2, row_level_security=is_as_role(service_url)))
    await database.open()
    store, common = AppendStore(database), {"key": "s", "resource_id": None, "usage": None, "defaults": DEFAULTS}
    await appended(store, messages=[FIRST], **common)
    holder, watcher = [await asyncpg.connect(database_url) for _ in range(2)]
    await holder.execute(f"BEGIN; {HOLD}")
    new = replace(FIRST, id="new", name=PLAIN, parts=({"type": "text", "text": PLAIN},), metadata={"said": PLAIN})
    appending = asyncio.create_task(appended(store, messages=[FIRST, new], **common))
    while await watcher.fetchval(WAITING) < 1:
        pass
    await holder.execute(";".join((*DELETE_ALL, "COMMIT")))
    result = await appending
    for connection in (holder, watcher, database):
        await connection.close()
    assert [(found.seq, found.replayed) for found in result.messages] == [(1, False), (2, False)]
    assert len(database.told) == 1
    assert PLAIN not in database.told[0]


@pytest.mark.parametrize("messages", [1, 2])
async def test_nothing_said_is_told_of_messages_whose_memory_went_away_while_they_were_stored(
    database: Database, messages: int
) -> None:
    """As a statement finds it that began before: it counts them in no memory."""
    new = [replace(FIRST, id=f"m-{number}", name=PLAIN, metadata={"said": PLAIN}) for number in range(messages)]
    await appended(AppendStore(database), key="s", messages=[FIRST], resource_id=None, usage=None, defaults=DEFAULTS)
    uncounted = (APPEND_ONE if messages == 1 else APPEND_NEW).replace("m.id = put.memory_id", "false")
    values = [(n.id, n.kind, n.role, n.name, "[]", 5, b"", None, n.metadata, True, n.trust, False, 0) for n in new]
    columns = values[0] if messages == 1 else zip(*values, strict=True)
    shared = (session_id(TENANT, "s"), None, "UTC", 300.0, None, 0, 0, 0, 0, 0, None, 20)
    with acting_for(TENANT), pytest.raises(STALE_SNAPSHOT) as refused:
        async with database.connection() as connection:
            await connection.fetch(uncounted, *columns, *shared, messages, 5, None, 5, False)
    assert PLAIN not in str(refused.value.as_dict())
    assert len((await left(database, "s"))["messages"]) == 1
