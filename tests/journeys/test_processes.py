"""Real processes on a real database: killed, stopped, frozen, and two at a time."""

import asyncio
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial

import pytest

from tests.conftest import Service
from tests.journeys.laws import COMPACT, check_all
from tests.journeys.looks import Json, items, look, until
from tests.journeys.processes import Running, process
from tests.journeys.talk import plain_talk
from tests.model_replies import PromptKind, block, messages
from tests.model_server import Fault, ModelServer

KEY = "s"
TALK = 24  # messages of plain_talk: more than the 1,000 tokens of preset compact
SHORT_LEASE, LONG_LEASE = "2", "600"  # no test waits for the end of the long one


@pytest.fixture
def environment(database_url: str, models: ModelServer) -> dict[str, str]:
    return {
        **models.environment(),
        "DAYBOOK_DATABASE_URL": database_url,
        "DAYBOOK_MIGRATE": "never",  # it is migrated, and a start costs a second less
        "DAYBOOK_PROVIDER": "anthropic",
        "DAYBOOK_MEMORY__PRESET": "compact",
        "DAYBOOK_ENGINE__SWEEP_SECONDS": "0.1",
        "DAYBOOK_POOL__MAX": "4",
    }


def leased(environment: Mapping[str, str], seconds: str, *, grace: str = "20") -> dict[str, str]:
    return {
        **environment,
        "DAYBOOK_ENGINE__LEASE_SECONDS": seconds,
        "DAYBOOK_ENGINE__GRACE_SECONDS": grace,
    }


async def begun(service: Service, models: ModelServer) -> None:
    """Makes the memory due, and returns in the middle of the model's call."""
    models.fail_next(Fault.HANG)
    await service.append(KEY, *plain_talk(TALK))
    assert await asyncio.to_thread(models.wait_for_requests, 1)


@asynccontextmanager
async def beside(environment: Mapping[str, str], models: ModelServer) -> AsyncIterator[tuple[Running, Running]]:
    """A service in the middle of the model's call, and another, started when it could not claim the memory any more."""
    async with process(environment) as working:
        await begun(working, models)
        async with process(environment) as other:
            yield working, other


async def recorded(service: Service) -> Json:
    """``/memory`` once an observation is recorded and nothing is left to do."""
    return await until(
        partial(service.memory, KEY), lambda memory: memory["status"] == "idle" and memory["cursor"]["observed_seq"] > 0
    )


async def assert_done_once(service: Service) -> None:
    """One observation and one call for the messages of ``begun``, and the laws hold."""
    now = await look(service, KEY)
    check_all(COMPACT, now, None)
    calls = await items(service, f"/sessions/{KEY}/memory/runs")
    assert [(run["kind"], run["outcome"]) for run in calls] == [("observe", "recorded")]
    assert len(now.observations) == 1
    assert [message["id"] for message in now.stored] == [message["id"] for message in plain_talk(TALK)]
    assert now.memory["usage"]["observer"]["calls"] == 1


async def test_work_of_a_killed_service_is_done_once_by_the_next(
    environment: dict[str, str], models: ModelServer
) -> None:
    async with process(leased(environment, SHORT_LEASE)) as first:
        await begun(first, models)
        await first.kill()
    async with process(leased(environment, SHORT_LEASE)) as second:
        await recorded(second)
        await assert_done_once(second)

    assert len(models.requests) == 2


async def test_two_services_on_one_database_observe_no_message_twice(
    environment: dict[str, str], models: ModelServer
) -> None:
    keys, turns = [f"s{number}" for number in range(4)], plain_talk(120)
    alone = {**environment, "DAYBOOK_ENGINE__CONCURRENCY": "1"}
    models.fail_next(Fault.HANG, times=2)
    async with process(alone) as first, process(alone) as second:

        async def converse(key: str, begin: int, end: int) -> None:
            for number in range(begin, end, 3):
                await (first, second)[number % 2].append(key, *turns[number : min(number + 3, end)])

        await asyncio.gather(*(converse(key, 0, TALK) for key in keys))
        # Each works on one memory at a time: where two calls are under way, each service makes one of them.
        assert await asyncio.to_thread(models.wait_for_requests, 2)
        models.release()
        await asyncio.gather(*(converse(key, TALK, len(turns)) for key in keys))
        for key in keys:
            await until(partial(second.memory, key), lambda memory: memory["status"] == "idle")
            now = await look(first, key)
            check_all(COMPACT, now, None)
            calls = await items(second, f"/sessions/{key}/memory/runs")
            spans = sorted((run["from_seq"], run["to_seq"]) for run in calls if run["kind"] == "observe")
            assert spans == [(one["from_seq"], one["to_seq"]) for one in now.observations]
            assert spans
        observed = [(await first.memory(key))["cursor"]["observed_seq"] for key in keys]

        assert all('"step":"observe"' in service.log for service in (first, second))

    prompts = [asked.prompt for asked in models.asked(PromptKind.OBSERVER)]
    shown = [said.seq for prompt in prompts for said in messages(block(prompt, "messages") or "")]
    assert len(shown) == sum(observed)


async def test_a_service_told_to_stop_finishes_its_step(environment: dict[str, str], models: ModelServer) -> None:
    async with beside(leased(environment, LONG_LEASE), models) as (stopping, watching):
        stopping.send(signal.SIGTERM)
        await until(partial(closed, stopping), bool)
        assert stopping.child.returncode is None
        models.release()
        assert await stopping.ended() == 0
        await assert_done_once(watching)

    assert len(models.requests) == 1


async def test_a_service_that_cannot_finish_gives_its_work_to_another(
    environment: dict[str, str], models: ModelServer
) -> None:
    async with beside(leased(environment, LONG_LEASE, grace="0.5"), models) as (stopping, taking):
        stopping.send(signal.SIGTERM)
        assert await stopping.ended() == 0
        await recorded(taking)
        await assert_done_once(taking)

    assert len(models.requests) == 2


async def test_a_worker_that_outlived_its_lease_records_nothing(
    environment: dict[str, str], models: ModelServer
) -> None:
    async with beside(leased(environment, SHORT_LEASE), models) as (frozen, taking):
        frozen.send(signal.SIGSTOP)
        await recorded(taking)
        models.release()
        frozen.send(signal.SIGCONT)
        await until(partial(told, frozen), lambda log: "lease_lost" in log or "stale" in log)
        await assert_done_once(taking)
        await frozen.append(KEY, {"id": "later", "role": "user", "content": "Are you there again?"})
        assert (await frozen.memory(KEY))["cursor"]["last_seq"] == TALK + 1

    assert len(models.requests) == 2


async def closed(service: Running) -> bool:
    """Whether it takes no connections any more."""
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", int(service.url.rpartition(":")[2]))
    except ConnectionError:
        return True
    writer.close()
    return False


async def told(service: Running) -> str:
    return service.log
