"""An outage is told by many failures: what is said before it and during it is noted whole when it is over."""

import re
from collections.abc import Callable

import asyncpg
import pytest

from tests.conftest import Service, StartService
from tests.journeys.looks import Json, items, until
from tests.model_replies import Asked, PromptKind
from tests.model_server import ModelServer, Said

KEY = "s"
MEMORY = {"message_tokens": 2_000, "retain_tokens": 0, "keep_last": 0, "buffer_every": None}
PATIENT = {"failures_max": 100}
NUMBER = 200
LONG = "\n".join(f"Requirement {n}: module {n} must answer within {100 + n} ms for Person{n}." for n in range(NUMBER))
SAID: list[Json] = [{"role": "user", "content": LONG}, {"role": "assistant", "content": "Noted all 200."}]
GATEWAY = Said(status=504, body="<html>504 Gateway Time-out</html>")
DOWN = Said(status=503, body={"error": {"message": "down"}})
TOO_LARGE = Said(status=413, body={"error": {"message": "Request Entity Too Large"}})


async def hurried(service: Service, database_url: str, done: Callable[[Json], bool]) -> Json:
    """``/memory`` as soon as it is so; the waits before are not waited out."""

    async def looked() -> Json:
        await connection.execute("UPDATE memories SET due_at = now() WHERE attempts > 0 AND lease_owner IS NULL")
        return await service.memory(KEY)

    connection = await asyncpg.connect(database_url)
    try:
        return await until(looked, lambda memory: done(memory) and not memory["lease"], seconds=300)
    finally:
        await connection.close()


def shown(asked: Asked) -> int:
    """How many of the requirements."""
    return len(re.findall(r"Requirement \d+:", asked.prompt))


@pytest.mark.parametrize(
    "outage",
    [[GATEWAY] * 7, [GATEWAY] * 12, [DOWN] * 6 + [GATEWAY], [DOWN] * 6 + [TOO_LARGE]],
    ids=["of 504", "of 504, a long one", "of 503 and one 504", "of 503 and one 413"],
)
async def test_after_an_outage_a_long_message_is_shown_whole(
    start_service: StartService, models: ModelServer, database_url: str, outage: list[Said]
) -> None:
    over = False
    asked = 0

    def said(_asked: Asked) -> Said | None:
        nonlocal asked
        asked += 1
        return None if over else outage[min(asked, len(outage)) - 1]

    models.said_to = said
    async with start_service(provider="openai", memory=MEMORY, llm=PATIENT) as service:
        await service.append(KEY, *SAID)
        await hurried(service, database_url, lambda memory: memory["attempts"] >= len(outage))
        over, before = True, len(models.requests)
        memory = await hurried(service, database_url, lambda memory: memory["status"] == "idle")

    observed = [one.asked for one in models.requests[before:] if one.asked.kind is PromptKind.OBSERVER]
    assert max(map(shown, observed)) == NUMBER
    assert not any("left out" in one.prompt for one in observed)
    assert memory["cursor"]["observed_seq"] == len(SAID)


async def test_a_message_for_which_a_model_is_too_slow_is_cut_at_last(
    start_service: StartService, models: ModelServer, database_url: str
) -> None:
    """Behind a gateway whose patience is shorter than ours: that too says 504."""
    models.said_to = lambda asked: GATEWAY if shown(asked) > NUMBER / 2 else None
    async with start_service(provider="openai", memory=MEMORY, llm=PATIENT) as service:
        await service.append(KEY, *SAID)
        await hurried(service, database_url, lambda memory: memory["status"] == "idle")
        calls = await items(service, f"/sessions/{KEY}/memory/runs")

    noted = next(one for one in models.asked(PromptKind.OBSERVER) if 0 < shown(one) <= NUMBER / 2)
    assert "left out" in noted.prompt
    assert "probe" in [run["kind"] for run in calls]


async def test_what_is_counted_of_failures_is_not_told(
    start_service: StartService, models: ModelServer, database_url: str
) -> None:
    models.always = GATEWAY
    async with start_service(provider="openai", memory=MEMORY, llm=PATIENT) as service:
        await service.append(KEY, *SAID)
        memory = await hurried(service, database_url, lambda memory: memory["attempts"] >= 2)
        (listed,) = (await service.get("/sessions"))["items"]

    assert set(memory["last_error"]) == set(listed["memory"]["last_error"]) == {"at", "step", "kind", "message"}
