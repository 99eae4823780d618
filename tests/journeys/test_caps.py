"""Caps on what the memory's own model calls cost: they give way rung by rung, and nothing is lost."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import asyncpg
import pytest
from structlog.testing import capture_logs

from tests.conftest import Service, StartService
from tests.journeys.looks import WAIT_MS, Json, until
from tests.journeys.talk import talk
from tests.model_replies import PromptKind, observe
from tests.model_server import Fault, ModelServer, Said
from tests.model_wire import Ending, reply

KEY = "s"
MEMORY: dict[str, Any] = {
    "message_tokens": 400,
    "message_budget": 4_000,
    "keep_last": 0,
    "buffer_every": None,
    "retain_tokens": 0,
}
BOOKING = """
SELECT true FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '/* charge */%'
"""
OBSERVE_AT = 8  # messages of talk: over 400 tokens, below block_after


async def memory_where(service: Service, status: str, key: str = KEY) -> Json:
    return await until(partial(service.memory, key), lambda memory: memory["status"] == status)


async def a_day_passes(database_url: str) -> None:
    """What was spent was spent a day earlier, and what waits for the day's end is due."""
    connection = await asyncpg.connect(database_url)
    for table in ("spending", "tenant_spending"):
        for day in await connection.fetch(f"SELECT DISTINCT day FROM {table} ORDER BY day"):  # noqa: S608 - our own
            await connection.execute(f"UPDATE {table} SET day = day - 1 WHERE day = $1", day[0])  # noqa: S608 - our own
    await connection.execute("UPDATE memories SET due_at = due_at - interval '1 day'")
    await connection.close()


async def the_lease_runs_out(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    await connection.execute("UPDATE memories SET due_at = now()")
    await connection.close()


@asynccontextmanager
async def connected(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    try:
        yield connection
    finally:
        await connection.close()


async def events(logs: Sequence[Mapping[str, Any]]) -> list[str]:
    return [line["event"] for line in logs]


async def days_spent(database_url: str) -> tuple[int, int]:
    """Days on record of all memories, and of all tenants."""
    connection = await asyncpg.connect(database_url)
    counted = await connection.fetchrow(
        "SELECT (SELECT count(*) FROM spending), (SELECT count(*) FROM tenant_spending WHERE tokens > 0)"
    )
    await connection.close()
    return tuple(counted)


@pytest.mark.parametrize("payer", ["session", "tenant"])
async def test_at_its_cap_a_memory_pauses_and_catches_up_by_itself_the_next_day(
    start_service: StartService, models: ModelServer, database_url: str, provider: str, payer: str
) -> None:
    caps = {f"{payer}_tokens_per_day": 1}
    async with start_service(provider=provider, memory=MEMORY, caps=caps) as service:
        await service.append(KEY, *talk(1, OBSERVE_AT), wait_ms=WAIT_MS)
        one_call, before = await service.memory(KEY), await service.context(KEY)
        await service.append(KEY, *talk(OBSERVE_AT + 1, 2 * OBSERVE_AT), wait_ms=WAIT_MS)
        paused = await service.memory(KEY)
        appended = await service.append(KEY, *talk(2 * OBSERVE_AT + 1, 2 * OBSERVE_AT + 2))
        raw = await service.context(KEY)
        asked = len(models.requests)
        await a_day_passes(database_url)
        caught_up, after = await memory_where(service, "idle"), await service.context(KEY)
        days = await days_spent(database_url)

    assert days == (1, 1)  # what was spent before today is asked for no more
    spent = one_call["spending"][payer]
    assert one_call["status"] == "idle"
    assert (
        spent["tokens"]
        == one_call["last_observer_run"]["input_tokens"] + (one_call["last_observer_run"]["output_tokens"])
    )
    assert spent["cost_usd"] == pytest.approx(one_call["usage"]["observer"]["cost_usd"], abs=1e-6) != 0
    assert spent["reserved"] == {"tokens": 0, "cost_usd": 0}
    assert paused["status"] == appended["memory"]["status"] == "paused"
    assert (paused["attempts"], paused["last_error"]) == (0, None)
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).date()
    assert paused["next_attempt_at"] == f"{tomorrow}T00:00:10Z"
    assert (paused["spending"]["rung"], paused["spending"][payer]["cap"]["tokens"]) == ("paused", 1)
    assert paused["pending"]["messages"] == OBSERVE_AT
    assert len(raw["payload"]["messages"]) >= OBSERVE_AT + 2
    assert raw["omitted"]["unobserved_messages"] == 0
    assert ([len(seen["notices"]) for seen in (before, raw, after)], "paused" in raw["notices"][0]) == ([0, 1, 0], True)
    assert asked == 1
    assert caught_up["cursor"]["observed_seq"] == 2 * OBSERVE_AT + 2
    assert caught_up["coverage"]["gaps"] == []
    assert len(models.requests) == 2


async def test_who_has_waited_longest_comes_first_on_a_day_whose_cap_is_enough_for_one(
    start_service: StartService, models: ModelServer, database_url: str
) -> None:
    del models  # asked for its variables
    keys = ["a", "b", "c"]
    observed: list[list[int]] = []
    memory = MEMORY | {"observer_input_tokens": 450}  # a call of each leaves it more to do
    settings: dict[str, Any] = {"memory": memory, "caps": {"tenant_tokens_per_day": 1}, "engine": {"concurrency": 1}}
    async with start_service(provider="openai", **settings) as service:
        for key in keys:
            for first in range(1, 5 * OBSERVE_AT, OBSERVE_AT):
                await service.append(key, *talk(first, first + OBSERVE_AT - 1))
        for _ in keys:
            memories = [await memory_where(service, "paused", key) for key in keys]
            while not memories[0]["spending"]["tenant"]["tokens"]:  # until then they pause for one another
                memories = [await memory_where(service, "paused", key) for key in keys]
            observed.append([memory["cursor"]["observed_seq"] for memory in memories])
            await a_day_passes(database_url)

    assert [sum(seq > 0 for seq in day) for day in observed] == [1, 2, 3]


async def test_a_cap_binds_where_a_server_tells_no_usage(
    start_service: StartService, models: ModelServer, provider: str
) -> None:
    models.said_to = lambda asked: Said(body=reply(provider, asked, observe(asked), Ending.END) | {"usage": None})
    async with start_service(provider=provider, memory=MEMORY, caps={"session_tokens_per_day": 1}) as service:
        await service.append(KEY, *talk(1, OBSERVE_AT), wait_ms=WAIT_MS)
        one_call = await service.memory(KEY)
        await service.append(KEY, *talk(OBSERVE_AT + 1, 2 * OBSERVE_AT), wait_ms=WAIT_MS)
        paused = await service.memory(KEY)

    assert one_call["last_observer_run"]["input_tokens"] > 0
    assert one_call["spending"]["session"]["tokens"] > 1
    assert paused["status"] == "paused"
    assert len(models.requests) == 1


async def test_the_ladder_asks_a_smaller_model_then_makes_larger_batches(
    start_service: StartService, models: ModelServer, provider: str
) -> None:
    caps = {"session_tokens_per_day": 1_000_000, "small_model_at": 1e-9, "larger_batches_at": 0.0025}
    small = {"small_model": "the-small-one"}
    rungs = []
    async with start_service(provider=provider, memory=MEMORY, caps=caps, observer=small) as service:
        for turn in range(3):
            first = turn * OBSERVE_AT + 1
            await service.append(KEY, *talk(first, first + OBSERVE_AT - 1), wait_ms=WAIT_MS)
            rungs.append((await service.memory(KEY))["spending"]["rung"])
        waiting = await service.memory(KEY)
        await service.append(KEY, *talk(3 * OBSERVE_AT + 1, 3 * OBSERVE_AT + 4), wait_ms=WAIT_MS)
        done = await service.memory(KEY)

    big, *smaller = [asked.model for asked in models.asked(PromptKind.OBSERVER)]
    assert big != "the-small-one"
    assert smaller == ["the-small-one"] * 2
    assert rungs == ["small_model", "larger_batches", "larger_batches"]
    assert (waiting["status"], waiting["pending"]["messages"]) == ("idle", OBSERVE_AT)
    assert (done["status"], done["pending"]["messages"]) == ("idle", 0)


async def test_a_cap_is_passed_by_one_call_at_most_whoever_calls(
    start_service: StartService, models: ModelServer, provider: str
) -> None:
    keys, cap = ["a", "b", "c"], 12_000
    settings: dict[str, Any] = {
        "provider": provider,
        "memory": MEMORY | {"observer_input_tokens": 450},
        "caps": {"tenant_tokens_per_day": cap},
        "engine": {"sweep_seconds": 0.1, "lease_seconds": 60},
    }
    async with start_service(**settings) as one, start_service(**settings) as other:
        for turn in range(6):
            first = turn * OBSERVE_AT + 1
            for key, service in zip(keys, (one, other, one), strict=True):
                await service.append(key, *talk(first, first + OBSERVE_AT - 1))
        memories = [await memory_where(one, "paused", key) for key in keys]
        while memories[0]["spending"]["tenant"]["tokens"] < cap:  # until then they pause for one another
            memories = [await memory_where(one, "paused", key) for key in keys]
        runs = [run for key in keys for run in (await one.get(f"/sessions/{key}/memory/runs"))["items"]]

    used = [run["input_tokens"] + run["output_tokens"] for run in runs]
    tenant = memories[0]["spending"]["tenant"]
    assert len(used) == len(models.requests)
    assert cap <= sum(used) < cap + max(used)
    assert tenant["tokens"] == sum(used)
    assert tenant["cap"] == {"tokens": cap, "cost_usd": None}


async def test_what_a_call_under_way_has_reserved_is_nobody_elses(
    start_service: StartService, models: ModelServer, provider: str
) -> None:
    models.fail_next(Fault.HANG)
    caps = {"tenant_tokens_per_day": 5_000}  # less than a call may use
    async with start_service(provider=provider, memory=MEMORY, caps=caps) as service:
        await service.append("a", *talk(1, OBSERVE_AT))
        calling = await until(partial(service.memory, "a"), lambda memory: memory["status"] == "observing")
        await until(partial(service.memory, "a"), lambda _: bool(models.requests))
        await service.append("b", *talk(1, OBSERVE_AT))
        held_off = await memory_where(service, "paused", "b")
        asked = len(models.requests)
        models.release()
        done = [await memory_where(service, "idle", key) for key in ("a", "b")]

    assert calling["spending"]["rung"] in {"full", "paused"}
    tenant, own = held_off["spending"]["tenant"], held_off["spending"]["session"]
    assert tenant["reserved"]["tokens"] >= 5_000
    assert tenant["reserved"]["cost_usd"] > 0
    assert (tenant["tokens"], own["reserved"]["tokens"], asked) == (0, 0, 1)
    assert [memory["cursor"]["observed_seq"] for memory in done] == [OBSERVE_AT, OBSERVE_AT]


async def test_what_a_dead_worker_has_reserved_holds_up_nobody_who_takes_over(
    start_service: StartService, models: ModelServer, database_url: str, provider: str
) -> None:
    models.fail_next(Fault.HANG)
    settings: dict[str, Any] = {
        "provider": provider,
        "memory": MEMORY,
        "caps": {"session_tokens_per_day": 1_000},  # less than a call may use
        "engine": {"sweep_seconds": 0.1, "lease_seconds": 600.0},
    }
    async with start_service(**settings) as one:
        await one.append(KEY, *talk(1, OBSERVE_AT))
        assert await asyncio.to_thread(models.wait_for_requests, 1)
        calling = await one.memory(KEY)
        async with start_service(**settings) as other:
            await the_lease_runs_out(database_url)
            taken_over = await until(partial(other.memory, KEY), lambda memory: memory["status"] in {"idle", "paused"})
            models.release()

    assert calling["spending"]["session"]["reserved"]["tokens"] >= 1_000
    assert (taken_over["status"], taken_over["cursor"]["observed_seq"]) == ("idle", OBSERVE_AT)
    assert len(models.requests) == 2


@pytest.mark.parametrize("is_made_anew", [False, True])
async def test_what_a_call_cost_whose_session_was_deleted_is_its_tenants_alone(
    start_service: StartService, models: ModelServer, database_url: str, provider: str, is_made_anew: bool
) -> None:
    models.fail_next(Fault.HANG)
    async with start_service(provider=provider, memory=MEMORY, caps={"tenant_tokens_per_day": 10**9}) as service:
        await service.append(KEY, *talk(1, OBSERVE_AT))
        assert await asyncio.to_thread(models.wait_for_requests, 1)
        assert (await service.client.delete(f"/sessions/{KEY}")).status_code == 200
        if is_made_anew:
            await service.append(KEY, *talk(1, 1))
        models.release()
        assert await until(partial(days_spent, database_url), lambda days: days[1] > 0) == (0, 1)


async def test_what_a_call_cost_is_booked_also_if_its_lease_is_lost_meanwhile(
    start_service: StartService, models: ModelServer, database_url: str, provider: str
) -> None:
    models.fail_next(Fault.HANG)
    settings: dict[str, Any] = {
        "provider": provider,
        "memory": MEMORY,
        "caps": {"tenant_tokens_per_day": 10**9},
        "engine": {"sweep_seconds": 600, "lease_seconds": 6},
    }
    async with (
        start_service(**settings) as service,
        connected(database_url) as locking,
        connected(database_url) as other,
    ):
        await service.append(KEY, *talk(1, OBSERVE_AT))
        assert await asyncio.to_thread(models.wait_for_requests, 1)
        async with locking.transaction():
            await locking.execute("SELECT FROM tenant_spending FOR UPDATE")
            models.release()
            await until(partial(other.fetchval, BOOKING), bool)
            with capture_logs() as logs:
                await other.execute("UPDATE memories SET lease_epoch = nextval('lease_epochs')")
                await until(partial(events, logs), lambda told: "lease_lost" in told)
        booked = await until(partial(other.fetchval, "SELECT tokens FROM tenant_spending"), bool)

    assert booked > 0


async def test_a_failed_call_gives_back_what_it_had_reserved(
    start_service: StartService, models: ModelServer, provider: str
) -> None:
    models.fail_next(Fault.SERVER_ERROR, retry_after="600")
    caps = {"session_tokens_per_day": 1_000}  # less than a call may use
    async with start_service(provider=provider, memory=MEMORY, caps=caps) as service:
        await service.append(KEY, *talk(1, OBSERVE_AT))
        failing = await memory_where(service, "backing_off")
        await service.client.post(f"/sessions/{KEY}/memory/redrive")
        done = await memory_where(service, "idle")

    assert failing["spending"]["session"]["tokens"] == 0
    assert failing["spending"]["session"]["reserved"] == {"tokens": 0, "cost_usd": 0}
    assert done["spending"]["session"]["tokens"] > 0


async def test_a_call_without_a_reply_in_time_is_charged_for_what_was_sent(
    start_service: StartService, models: ModelServer, provider: str
) -> None:
    models.fail_next(Fault.HANG)
    caps = {"session_tokens_per_day": 1_000}
    async with start_service(provider=provider, memory=MEMORY, caps=caps, llm={"timeout_seconds": 1}) as service:
        await service.append(KEY, *talk(1, OBSERVE_AT))
        paused = await memory_where(service, "paused")
        (run,) = (await service.get(f"/sessions/{KEY}/memory/runs"))["items"]

    assert paused["spending"]["session"]["tokens"] == run["input_tokens"] > 1_000
    assert paused["usage"]["observer"]["cost_usd"] == pytest.approx(run["cost_usd"]) != 0


async def test_a_try_that_is_not_affordable_any_more_leaves_the_rejection_and_pauses(
    start_service: StartService, models: ModelServer, provider: str
) -> None:
    models.fail_next(Fault.EMPTY)
    async with start_service(provider=provider, memory=MEMORY, caps={"session_tokens_per_day": 1}) as service:
        await service.append(KEY, *talk(1, OBSERVE_AT))
        paused = await memory_where(service, "paused")
        (run,) = (await service.get(f"/sessions/{KEY}/memory/runs"))["items"]

    assert run["outcome"] == "rejected"
    assert (paused["attempts"], paused["pending"]["messages"]) == (0, OBSERVE_AT)
    assert len(models.requests) == 1


async def test_what_was_refused_before_a_pause_is_told_and_shown_in_parts_after_it(
    start_service: StartService, models: ModelServer, database_url: str
) -> None:
    models.fail_next(Fault.REFUSAL, times=2)
    async with start_service(provider="openai", memory=MEMORY, caps={"session_tokens_per_day": 1}) as service:
        await service.append(KEY, *talk(1, OBSERVE_AT))
        paused = []
        for day in (1, 2, 3):
            assert await asyncio.to_thread(models.wait_for_requests, day)
            paused.append(await memory_where(service, "paused"))
            await a_day_passes(database_url)

    first, second, third = [len(request.asked.prompt) for request in models.requests][:3]
    assert [memory["last_error"] and memory["last_error"]["kind"] for memory in paused] == ["refused", "refused", None]
    assert third < second == first


async def test_dollars_are_capped_and_what_has_no_price_is_told(
    start_service: StartService, models: ModelServer, provider: str
) -> None:
    caps = {"session_usd_per_day": 1e-6}
    async with start_service(provider=provider, memory=MEMORY, caps=caps) as service:
        await service.append(KEY, *talk(1, OBSERVE_AT), wait_ms=WAIT_MS)
        capped = (await service.memory(KEY))["spending"]
    async with start_service(provider=provider, model="of-ones-own-making", memory=MEMORY, caps=caps) as service:
        await service.append("other", *talk(1, OBSERVE_AT), wait_ms=WAIT_MS)
        unpriced = (await service.memory("other"))["spending"]

    assert (capped["rung"], capped["session"]["unpriced_tokens"]) == ("paused", 0)
    assert (unpriced["rung"], unpriced["session"]["cost_usd"]) == ("full", 0)
    assert unpriced["session"]["unpriced_tokens"] == unpriced["session"]["tokens"] > 0
    assert len(models.requests) == 2


@pytest.mark.parametrize("raised", [{}, {"session_tokens_per_day": 1_000_000}], ids=["removed", "raised"])
async def test_a_raised_cap_is_noticed_at_the_next_start(
    start_service: StartService, models: ModelServer, raised: dict[str, int]
) -> None:
    async with start_service(provider="openai", memory=MEMORY, caps={"session_tokens_per_day": 1}) as service:
        await service.append(KEY, *talk(1, OBSERVE_AT), wait_ms=WAIT_MS)
        await service.append(KEY, *talk(OBSERVE_AT + 1, 2 * OBSERVE_AT))
        await memory_where(service, "paused")
        await service.client.post(f"/sessions/{KEY}/memory/redrive", params={"wait_ms": WAIT_MS})
        await memory_where(service, "paused")
        asked = len(models.requests)
    async with start_service(provider="openai", memory=MEMORY, caps=raised) as service:
        done = await memory_where(service, "idle")

    assert (asked, len(models.requests)) == (1, 2)
    assert done["pending"]["messages"] == 0


@pytest.mark.parametrize(("step", "made"), [("observe", (0, 0)), ("reflect", (1, 1))])
async def test_a_step_that_was_asked_for_is_done_when_it_may_be(
    start_service: StartService, models: ModelServer, database_url: str, step: str, made: tuple[int, int]
) -> None:
    async with start_service(provider="openai", memory=MEMORY, caps={"session_tokens_per_day": 1}) as service:
        await service.append(KEY, *talk(1, OBSERVE_AT), wait_ms=WAIT_MS)
        await service.append(KEY, *talk(OBSERVE_AT + 1, OBSERVE_AT + 1))
        asked = await service.client.post(f"/sessions/{KEY}/memory/{step}", params={"wait_ms": WAIT_MS})
        await a_day_passes(database_url)
        done = await memory_where(service, "idle")

    assert asked.json()["memory"]["status"] == "paused"
    assert (done["pending"]["messages"], done["log"]["reflections"]) == made
    assert len(models.requests) == 2


async def test_the_built_in_memory_costs_nothing_and_is_never_capped(start_service: StartService) -> None:
    caps = {"session_tokens_per_day": 1, "tenant_usd_per_day": 1e-6}
    async with start_service(provider="extractive", memory=MEMORY, caps=caps) as service:
        for turn in range(2):
            first = turn * OBSERVE_AT + 1
            await service.append(KEY, *talk(first, first + OBSERVE_AT - 1), wait_ms=WAIT_MS)
        memory = await service.memory(KEY)

    assert (memory["status"], memory["pending"]["messages"], memory["spending"]) == ("idle", 0, None)
