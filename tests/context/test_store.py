"""How Postgres executes the read behind a context."""

import asyncpg

from benchmarks.speed.filling import fill
from tests.conftest import StartService

SHORT = [f"short-{number}" for number in range(12)]


async def test_a_context_is_not_planned_anew_at_each_call_beside_a_very_long_session(
    start_service: StartService, database_url: str
) -> None:
    """Postgres chooses the generic plan once five others were no cheaper."""
    await fill(database_url, ["long"], 5_000, observed=True, wake_tokens=6_000)
    await fill(database_url, SHORT, 1, observed=True, wake_tokens=6_000)
    connection = await asyncpg.connect(database_url)
    await connection.execute("UPDATE pg_class SET reltuples = 1000 * reltuples WHERE relname = 'messages'")
    async with start_service(pool={"min": 1, "max": 1}) as service:
        for key in SHORT:
            await service.get(f"/sessions/{key}/context")
        async with service.app.state.database.connection() as own:
            row = await own.fetchrow("SELECT * FROM pg_prepared_statements WHERE statement LIKE '/* snapshot%'")
    await connection.execute("ANALYZE messages")
    await connection.close()

    assert (row["custom_plans"], row["generic_plans"]) == (5, 7)
