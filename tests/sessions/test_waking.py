"""When a memory is due for what was said: an append, a replaced message, an end and facts to read again alike.

And for other rules.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import TypeAlias

import pytest

from app.diagnostics.store import MEMORY as DIAGNOSED
from app.facts import forgetting_store
from app.facts.rereading import Overrides
from app.kit.db import Database, acting_for
from app.sessions import replacing_store
from app.sessions.append_store import AppendStore
from app.sessions.ending_store import END
from app.sessions.model import Kind
from app.sessions.store import COUNTERS, SESSIONS, SessionStore, session_id
from tests.sessions.test_append_store import DEFAULTS, FIRST, TENANT
from tests.sessions.test_group_commit import opened

SESSION = session_id(TENANT, "s")
BOUNDARY = replace(FIRST, id="boundary", kind=Kind.BOUNDARY, observe=False)
LATER = "due_at = now() + interval '1 hour'"
ENDED = "UPDATE sessions SET ended_at = now(), resource_id = 'r'"
FOUND = "SELECT due_at <= now() AS due, requested, requested_at IS NOT NULL AS asked, pending_tokens FROM memories"
Way: TypeAlias = Callable[[Database], Awaitable[object]]
WAITED = FIRST.tokens  # of the message that is there; the memory is due at 50


def appended(*, grown: int | None = None) -> Way:
    """A message of so many tokens; None: one that is a reason to look."""
    new = BOUNDARY if grown is None else replace(FIRST, id=f"of-{grown}", tokens=grown)
    return lambda database: AppendStore(database).append(
        tenant=TENANT, key="s", messages=[new], resource_id=None, usage=None, defaults=DEFAULTS
    )


def replaced(*, grown: int | None = None) -> Way:
    async def way(database: Database) -> None:
        async with database.tx() as tx:
            log = await replacing_store.lock(tx, SESSION)
            assert log is not None
            await replacing_store.recount(tx, log, pending_tokens=grown or 0, look=grown is None)

    return way


async def ended(database: Database) -> None:
    async with database.connection() as connection:
        assert await connection.fetchrow(END, SESSION, None) is not None


async def facts_to_read_again(database: Database) -> None:
    async with database.tx() as tx:
        await forgetting_store.import_overrides(tx, SESSION, "s", Overrides())


def ruled(*, enabled: bool) -> Way:
    return lambda database: SessionStore(database).put(
        tenant=TENANT,
        key="s",
        resource_id=None,
        config={"enabled": enabled},
        metadata={},
        metadata_bytes_max=100,
        timezone="UTC",
    )


@pytest.fixture
async def database(service_url: str) -> AsyncIterator[Database]:
    async with opened(service_url) as database:
        await _act(database, appended(grown=WAITED))
        async with database.connection() as connection:
            await connection.execute(ENDED)
        yield database


async def _act(database: Database, way: Way) -> None:
    with acting_for(TENANT):
        await way(database)


async def _after(database: Database, fore: str, way: Way) -> dict[str, object]:
    async with database.connection() as connection:
        await connection.execute(f"UPDATE memories SET {fore}")  # noqa: S608 - our own
    await _act(database, way)
    async with database.connection() as connection:
        return dict(await connection.fetchrow(FOUND))


@pytest.mark.parametrize("way", [appended(), replaced(), ended, facts_to_read_again])
@pytest.mark.parametrize(
    ("fore", "due", "requested"),
    [
        ("usage = '{}'", True, "look"),
        ("requested = 'observe'", True, "observe"),
        ("requested = 'activate'", True, "activate"),
        (LATER, True, "look"),
        # It ends neither a lease nor a back-off, and begins what nothing would.
        (f"{LATER}, lease_owner = 'me'", False, "look"),
        (f"{LATER}, attempts = 1", False, "look"),
        ("lease_owner = 'me'", True, "look"),
        ("attempts = 1", True, "look"),
        ("buffered_tokens = 1000", True, "look"),  # a cache is cold by an append alone
    ],
)
async def test_a_reason_to_look_has_the_memory_looked_at(
    database: Database, way: Way, fore: str, due: bool, requested: str
) -> None:
    found = await _after(database, fore, way)
    assert found == {"due": due, "requested": requested, "asked": True, "pending_tokens": WAITED}


@pytest.mark.parametrize(
    ("fore", "enabled", "due", "requested"),
    [
        ("usage = '{}'", True, True, "look"),
        ("requested = 'observe'", True, True, "observe"),
        (LATER, True, True, "look"),
        (f"{LATER}, attempts = 1", True, True, "look"),
        # A step under way goes on, but where the memory is switched off.
        (f"{LATER}, lease_owner = 'me'", True, False, "look"),
        (f"{LATER}, lease_owner = 'me'", False, True, "look"),
    ],
)
async def test_other_rules_have_the_memory_looked_at(
    database: Database, fore: str, *, enabled: bool, due: bool, requested: str
) -> None:
    found = await _after(database, fore, ruled(enabled=enabled))
    assert found == {"due": due, "requested": requested, "asked": True, "pending_tokens": WAITED}


@pytest.mark.parametrize("by", [appended, replaced])
@pytest.mark.parametrize(
    ("fore", "grown", "due"),
    [
        ("usage = '{}'", 50 - WAITED - 1, None),
        ("usage = '{}'", 50 - WAITED, True),
        (LATER, 50 - WAITED - 1, False),
        (LATER, 50 - WAITED, True),
        (f"{LATER}, lease_owner = 'me'", 50 - WAITED, False),
        (f"{LATER}, attempts = 1", 50 - WAITED, False),
        ("requested = 'observe'", 50 - WAITED, True),
    ],
)
async def test_as_many_tokens_as_it_waits_for_have_it_looked_at(
    database: Database, by: Callable[..., Way], fore: str, grown: int, due: bool | None
) -> None:
    found = await _after(database, fore, by(grown=grown))
    asked = "observe" if "requested" in fore else None
    assert found == {"due": due, "requested": asked, "asked": False, "pending_tokens": WAITED + grown}


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        (DIAGNOSED, [SESSION]),
        (COUNTERS, [SESSION]),
        (SESSIONS, [TENANT, None, "", None, False, 10]),
    ],
)
async def test_a_memory_that_came_due_since_a_look_began_is_told_as_due(
    database: Database, statement: str, values: list[object]
) -> None:
    """Its ``due_at`` is later than the ``now()`` of the look, which sees the row all the same."""
    async with database.tx() as looking:
        await looking.execute("SELECT now()")
        async with database.connection() as working:
            await working.execute("UPDATE memories SET due_at = now()")
        assert (await looking.fetchrow(statement, *values))["due"]
