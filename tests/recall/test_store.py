"""How Postgres executes the search."""

import json
import sys

import asyncpg
import pytest

from app.recall.indexing import session_term
from app.recall.model import Span
from app.recall.store import SEARCH, RecallStore, quoted
from app.sessions.model import SEQ_MAX
from app.sessions.store import session_id
from benchmarks.speed.filling import fill
from tests.conftest import Service, StartService
from tests.context.test_store import COUNTED
from tests.secured import is_as_role

SHORT = [f"short-{number}" for number in range(12)]
ASKED = ["sessions", "recall_texts", "recall_observations", "forget_terms_from"]
SAID = {"role": "user", "content": "The red cup is in Porto now."}
SESSION = session_id("default", "s")
MESSAGES = 1_000


async def test_no_part_of_the_search_is_compared_with_another_row_by_row(service: Service) -> None:
    words, shares = ([0, 1], ["red", "blue"], [quoted("red"), quoted("blue")]), [1.0, 1.0]
    scope = f"{quoted(session_term(SESSION))} & "
    async with service.app.state.database.connection() as connection:
        asked = [[SESSION], scope, *words, None, None, 100, shares, SEQ_MAX]
        plan = await connection.fetchval(f"EXPLAIN (FORMAT JSON) {SEARCH}", *asked)
    # What was found is read once: a second reading is a join with itself, of as many rows as match, squared.
    assert json.dumps(plan).count("CTE Scan") == 1


async def test_rows_of_the_index_are_read_beside_the_event_loop(database_url: str, start_service: StartService) -> None:
    await fill(database_url, ["long"], MESSAGES, observed=True, wake_tokens=6_000)
    session = session_id("default", "long")
    at_once = {"index_look_seconds": 600, "index_batch": MESSAGES, "index_batch_tokens": 1_000_000}
    async with start_service(recall=at_once) as service:
        app = service.app.state
        await app.recall._indexer.index(session)
        store, made = RecallStore(app.database), 0

        def count(_frame: object, event: str, _argument: object) -> None:
            nonlocal made
            made += event == "call"

        async def search() -> int:
            term = session_term(session)
            words = [frozenset({term})]
            return len(await store.search([session], term, words, Span(), kin=(), before_seq=SEQ_MAX, limit=MESSAGES))

        await search()
        sys.setprofile(count)  # of this thread
        found = await search()
        sys.setprofile(None)
    assert found == MESSAGES
    assert made < MESSAGES


@pytest.mark.usefixtures("prepared_statements")
async def test_what_a_search_and_a_list_read_is_not_planned_anew_at_each_call(
    start_service: StartService, database_url: str, service_url: str
) -> None:
    """Postgres chooses the generic plan once five others were no cheaper."""
    await fill(database_url, ["long"], 5_000, observed=True, wake_tokens=6_000)
    await fill(database_url, SHORT, 1, observed=True, wake_tokens=6_000)
    asked = [*ASKED, "recall_guarded_messages" if is_as_role(service_url) else "recall_messages"]
    tables = "'messages', 'message_terms', 'observations', 'sessions'"
    connection = await asyncpg.connect(database_url)
    await connection.execute(f"UPDATE pg_class SET reltuples = 1000 * reltuples WHERE relname IN ({tables})")  # noqa: S608 - our own
    async with start_service(pool={"min": 1, "max": 1}, recall={"index_look_seconds": 600}) as service:
        for key in SHORT:
            await service.client.put(f"/sessions/{key}/messages/m-1", json=SAID)
            await service.client.post(f"/sessions/{key}/recall", json={"query": "red cup of Ana"})
            await service.get("/sessions", search="short")
        async with service.app.state.database.connection() as own:
            planned = {name: counts for name, *counts in await own.fetch(COUNTED, asked)}
    await connection.execute("ANALYZE messages, message_terms, observations, sessions")
    await connection.close()

    assert planned == {name: [5, 7] for name in asked}
