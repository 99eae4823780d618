"""How Postgres executes the search."""

import json

from app.recall.scope import quoted, session_term
from app.recall.store import SEARCH
from app.sessions.store import session_id
from tests.conftest import Service

SESSION = session_id("default", "s")


async def test_no_part_of_the_search_is_compared_with_another_row_by_row(service: Service) -> None:
    words = ([0, 1], ["red", "blue"], [quoted("red"), quoted("blue")])
    scope = f"{quoted(session_term(SESSION))} & "
    async with service.app.state.database.connection() as connection:
        plan = await connection.fetchval(f"EXPLAIN (FORMAT JSON) {SEARCH}", [SESSION], scope, *words, None, None, 100)
    # What was found is read once: a second reading is a join with itself, of as many rows as match, squared.
    assert json.dumps(plan).count("CTE Scan") == 1
