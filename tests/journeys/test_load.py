"""Three services on one database, many callers, a model that fails in every way: in the end all is there once."""

import asyncio
import random
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from itertools import count, product

import asyncpg
import httpx2 as httpx

from tests.journeys.laws import Limits, check_all, coverage_is_whole
from tests.journeys.looks import Json, items, look, until
from tests.journeys.processes import Running, process
from tests.journeys.talk import plain_talk
from tests.model_server import Fault, ModelServer

KEYS = [f"s{number}" for number in range(4)]
CALLERS = 2  # of each session
LIMITS = Limits(message_budget=1_000, memory_budget=2_000)
FAULTS = (
    Fault.SERVER_ERROR,
    Fault.RATE_LIMITED,
    Fault.HANG,
    Fault.EMPTY,
    Fault.GARBAGE,
    Fault.CUT_OFF,
    Fault.REPETITIVE,
    Fault.REFUSAL,
    Fault.RESET,
)
EVERY = 3  # calls of the model, of which one fails
SETTINGS = {
    "DAYBOOK_MIGRATE": "never",
    "DAYBOOK_PROVIDER": "anthropic",
    "DAYBOOK_MEMORY__MESSAGE_TOKENS": "400",
    "DAYBOOK_MEMORY__OBSERVATION_TOKENS": "600",
    "DAYBOOK_MEMORY__MESSAGE_BUDGET": str(LIMITS.message_budget),
    "DAYBOOK_MEMORY__MEMORY_BUDGET": str(LIMITS.memory_budget),
    "DAYBOOK_ENGINE__LEASE_SECONDS": "2",
    "DAYBOOK_ENGINE__SWEEP_SECONDS": "0.1",
    "DAYBOOK_LLM__TIMEOUT_SECONDS": "1.5",
    "DAYBOOK_LLM__OPEN_SECONDS": "0.2",
    "DAYBOOK_POOL__MAX": "6",
}
SECONDS, SECONDS_AT_LENGTH = 4.0, 60.0
CATCH_UP_SECONDS = 120.0


class Caller:
    """Posts to one session, each request to a service of its choice; what takes long or fails is tried again."""

    def __init__(self, key: str, name: str, services: Sequence[Running]) -> None:
        self._key = key
        self._services = services
        self._chance = random.Random(f"{key}/{name}")  # noqa: S311 - a choice, no secret
        self._ids = (f"{name}-{number}" for number in count(1))
        self.told: dict[str, int] = {}

    async def talk(self, until_time: float) -> None:
        talk = plain_talk(40)
        while time.monotonic() < until_time:
            messages = [message | {"id": next(self._ids)} for message in self._chance.choices(talk, k=2)]
            tries = 1 + (self._chance.random() < 1 / EVERY)  # a client that lost patience: both are in flight at once
            await asyncio.gather(*(self._post(messages) for _ in range(tries)))
            context = await self._chance.choice(self._services).context(self._key)
            assert context["as_of_seq"] >= max(self.told[message["id"]] for message in messages)

    async def _post(self, messages: list[Json]) -> None:
        service = self._chance.choice(self._services)
        answer = await service.client.post(f"/sessions/{self._key}/messages", json={"messages": messages})
        while answer.status_code == httpx.codes.SERVICE_UNAVAILABLE:
            answer = await service.client.post(f"/sessions/{self._key}/messages", json={"messages": messages})
        assert answer.status_code in {200, 201}, answer.text
        for stored in answer.json()["messages"]:
            assert self.told.setdefault(stored["id"], stored["seq"]) == stored["seq"]


async def misbehave(models: ModelServer, *, every: int = EVERY) -> None:
    """For ever: one call of so many meets a fault."""
    chance = random.Random(1)  # noqa: S311 - a choice, no secret
    while True:
        models.fail_next(chance.choice(FAULTS), retry_after="1")
        asked = len(models.requests) + every
        while not await asyncio.to_thread(models.wait_for_requests, asked, seconds=0.2):
            pass


async def watch(services: Sequence[Running]) -> None:
    """For ever: whatever happens, each service tells of each session that nothing is missing."""
    while True:
        for key, service in product(KEYS, services):
            answer = await service.client.get(f"/sessions/{key}/memory")
            if answer.status_code == httpx.codes.OK:
                assert answer.json()["coverage"]["gaps"] == []
        await asyncio.sleep(0.1)


async def caught_up(service: Running, key: str) -> None:
    """The last call may be refused, and a refusal stalls at once: it is for an operator to mend."""
    memory = partial(service.memory, key)
    ended = await until(memory, lambda now: now["status"] in {"idle", "stalled"}, seconds=CATCH_UP_SECONDS)
    if ended["status"] == "stalled":
        assert ended["last_error"]["kind"] == "refused"
        await service.client.post(f"/sessions/{key}/memory/redrive")
        await until(memory, lambda now: now["status"] == "idle", seconds=CATCH_UP_SECONDS)


async def assert_whole(service: Running, key: str, callers: Sequence[Caller]) -> int:
    """Nothing is lost or doubled, and /memory is right. Answers the number of observations."""
    now = await look(service, key)
    check_all(LIMITS, now, None)
    coverage_is_whole(now)
    assert {message["id"]: message["seq"] for message in now.stored} == callers[0].told | callers[1].told
    assert (now.memory["attempts"], now.memory["last_error"], now.memory["lease"]) == (0, None, None)
    runs = await items(service, f"/sessions/{key}/memory/runs")
    recorded = [run for run in runs if (run["kind"], run["outcome"]) == ("observe", "recorded")]
    spans = sorted((run["from_seq"], run["to_seq"]) for run in recorded)
    assert spans == [(one["from_seq"], one["to_seq"]) for one in now.observations]
    return len(spans)


async def test_three_services_with_a_failing_model_lose_and_double_nothing(
    database_url: str, models: ModelServer, at_length: bool
) -> None:
    environment = {**models.environment(), **SETTINGS, "DAYBOOK_DATABASE_URL": database_url}
    async with AsyncExitStack() as stack:
        services = await asyncio.gather(*(stack.enter_async_context(process(environment)) for _ in range(3)))
        callers = {key: [Caller(key, f"caller{n}", services) for n in range(CALLERS)] for key in KEYS}
        end = time.monotonic() + (SECONDS_AT_LENGTH if at_length else SECONDS)
        around = [asyncio.create_task(misbehave(models)), asyncio.create_task(watch(services))]
        await asyncio.gather(*(caller.talk(end) for pair in callers.values() for caller in pair))
        assert not any(task.done() for task in around)
        for task in around:
            task.cancel()
        await asyncio.gather(*around, return_exceptions=True)
        models.release()
        observed = 0
        for key in KEYS:
            await caught_up(services[0], key)
            observed += await assert_whole(services[1], key, callers[key])
    connection = await asyncpg.connect(database_url)
    due = await connection.fetchval("SELECT count(*) FROM memories WHERE due_at IS NOT NULL")
    await connection.close()

    assert due == 0
    assert observed > len(KEYS)
    assert {request.fault for request in models.requests} > {None}
