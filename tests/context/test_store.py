"""How Postgres executes the reads behind a context, a log and a list of messages."""

from itertools import product

import asyncpg
import pytest

from benchmarks.speed.filling import fill
from tests.conftest import Service, StartService

ASKED = {
    "context": "snapshot",
    "context/diff": "changes",
    "memory/log": "log_observations",
    "messages": "messages",
}
COUNTED = r"""
SELECT substring(statement FROM '\w+') AS name, custom_plans, generic_plans FROM pg_prepared_statements
WHERE substring(statement FROM '\w+') = ANY ($1)
"""
LENGTHEN = """
UPDATE messages SET parts = json_build_array(json_build_object('type', 'text', 'text', repeat('x', 1_000_000)))
"""
SHORT = [f"short-{number}" for number in range(12)]


@pytest.mark.usefixtures("prepared_statements")
async def test_what_is_often_read_is_not_planned_anew_at_each_call_beside_a_very_long_session(
    start_service: StartService, database_url: str
) -> None:
    """Postgres chooses the generic plan once five others were no cheaper."""
    await fill(database_url, ["long"], 5_000, observed=True, wake_tokens=6_000)
    await fill(database_url, SHORT, 1, observed=True, wake_tokens=6_000)
    connection = await asyncpg.connect(database_url)
    await connection.execute(
        "UPDATE pg_class SET reltuples = 1000 * reltuples WHERE relname IN ('messages', 'observations')"
    )
    async with start_service(pool={"min": 1, "max": 1}) as service:
        for key, path in product(SHORT, ASKED):
            await service.get(f"/sessions/{key}/{path}")
        async with service.app.state.database.connection() as own:
            planned = {name: counts for name, *counts in await own.fetch(COUNTED, list(ASKED.values()))}
    await connection.execute("ANALYZE messages, observations")
    await connection.close()

    assert planned == {name: [5, 7] for name in ASKED.values()}


@pytest.mark.parametrize("budget", [0, 2_000])
async def test_a_tail_of_many_short_messages_is_read_as_far_as_its_budget_takes_it(
    service: Service, budget: int
) -> None:
    for _ in range(2):
        await service.append("s1", *({"role": "user", "content": f"Number {n} was seen."} for n in range(100)))
    shown = await service.context("s1", message_budget=budget)
    assert len(shown["payload"]["messages"]) == 200
    assert 1_000 < shown["tokens"]["messages"] < 2_000

    await service.client.post("/sessions/s1/compact", json={"up_to_seq": 10, "summary": "Ten were seen."})
    shown = await service.context("s1", message_budget=budget)
    assert len(shown["payload"]["messages"]) == 1 + 190


async def test_a_context_reads_the_newest_messages_up_to_32_mb_however_few_tokens_they_have(
    service: Service, database_url: str
) -> None:
    """160 MB of reasoning, which counts no tokens, held up every request for four seconds."""
    said = [{"role": ("user", "assistant")[number % 2], "content": "Yes."} for number in range(38)]
    await service.append("s1", *said)
    connection = await asyncpg.connect(database_url)
    await connection.execute(LENGTHEN)
    await connection.close()
    shown = await service.context("s1")
    assert len(shown["payload"]["messages"]) == 34
    assert shown["omitted"]["unobserved_messages"] == 4


async def test_a_context_without_a_budget_reads_the_newest_20_000_messages(service: Service, database_url: str) -> None:
    """One of 200,000 messages took ten seconds, in which other requests waited for one."""
    await fill(database_url, ["long"], 20_003, observed=False, wake_tokens=10**9)
    shown = await service.context("long", message_budget=0)
    assert len(shown["payload"]["messages"]) == 20_000
    assert shown["omitted"]["unobserved_messages"] == 3
