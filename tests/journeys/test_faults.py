"""A model that fails in every way: nothing is lost, everything answers, /memory tells it, and the memory catches up."""

import time
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

import asyncpg
import pytest

from app.llm.port import UNHEARD
from tests.conftest import Service, StartService
from tests.journeys.laws import Limits, check_all
from tests.journeys.looks import WAIT_MS, Json, items, look, until
from tests.journeys.talk import talk
from tests.model_replies import PromptKind
from tests.model_server import Fault, ModelServer

KEY = "s"
MEMORY: dict[str, Any] = {
    "message_tokens": 400,
    "observation_tokens": 300,
    "message_budget": 1_000,
    "memory_budget": 1_200,
    "keep_last": 0,
    "buffer_every": None,
}
LIMITS = Limits(message_budget=1_000, memory_budget=1_200)
OBSERVE_AT = 8  # messages of talk: over 400 tokens
UNLOOKED = {"sweep_seconds": 600.0}  # nobody sees that a wait has ended, so that a state lasts until it was read
PROMPT_SECONDS = 45.0  # on a busy machine; an answer that waited for the model would take its time-out, which is 90


async def memory_where(service: Service, **values: Any) -> Json:
    """``/memory`` as soon as it has these values."""
    return await until(partial(service.memory, KEY), lambda memory: values.items() <= memory.items())


async def runs(service: Service) -> list[Json]:
    """Every call of the memory, oldest first."""
    return list(reversed(await items(service, f"/sessions/{KEY}/memory/runs")))


async def assert_whole(service: Service, models: ModelServer, posted: Sequence[Json]) -> None:
    """All that was posted is stored, the laws hold, and each call to the model is told and counted once."""
    now = await look(service, KEY)
    check_all(LIMITS, now, None)
    assert [message["id"] for message in now.stored] == [message["id"] for message in posted]
    assert now.memory["cursor"]["observed_seq"] > 0
    assert (now.memory["status"], now.memory["attempts"], now.memory["last_error"]) == ("idle", 0, None)
    calls = await runs(service)
    observed = [(run["from_seq"], run["to_seq"]) for run in calls if run["kind"] == "observe"]
    recorded = [(run["from_seq"], run["to_seq"]) for run in calls if (run["kind"], run["outcome"]) == RECORDED]
    assert recorded == [(one["from_seq"], one["to_seq"]) for one in now.observations]
    assert len(observed) == len(models.asked(PromptKind.OBSERVER))
    for role, kinds in (("observer", {"observe", "note_facts"}), ("reflector", {"reflect", "consolidate"})):
        own = [run for run in calls if run["kind"] in kinds]
        assert now.memory["usage"][role]["calls"] == len(own)
        for name in ("input_tokens", "cached_input_tokens", "output_tokens"):
            assert now.memory["usage"][role][name] == sum(run[name] for run in own)


RECORDED = ("observe", "recorded")


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault.RATE_LIMITED, "rate_limited"),
        (Fault.SERVER_ERROR, "server_error"),
        (Fault.OVERLOADED, "overloaded"),
        (Fault.UNAUTHORIZED, "unauthorized"),
        (Fault.BAD_REQUEST, "bad_request"),
        (Fault.GARBAGE, "bad_reply"),
        (Fault.RESET, "connection"),
        (Fault.BROKEN_OFF, "bad_reply"),
        (Fault.HANG, "timeout"),
        (Fault.ENDLESS, "too_large"),
        (Fault.LARGE_ERROR, "bad_request"),
        (Fault.FAR_REDIRECT, "connection"),
    ],
)
async def test_a_call_that_fails_is_told_and_tried_again(
    start_service: StartService, models: ModelServer, provider: str, fault: Fault, kind: str
) -> None:
    models.fail_next(fault, retry_after=None)
    llm = {"timeout_seconds": 2.0 if fault is Fault.HANG else 60.0}
    async with start_service(provider=provider, memory=MEMORY, llm=llm, engine=UNLOOKED) as service:
        await service.append(KEY, *talk(1, OBSERVE_AT))
        failing = await memory_where(service, status="backing_off", attempts=1)
        (failed,) = await runs(service)
        raw = await service.context(KEY)
    async with start_service(provider=provider, memory=MEMORY) as service:
        caught_up = await memory_where(service, status="idle", attempts=0)
        await assert_whole(service, models, talk(1, OBSERVE_AT))

    assert (failing["last_error"]["step"], failing["last_error"]["kind"]) == ("observe", kind)
    assert provider in failing["last_error"]["message"]
    assert "test-key" not in str(failing)
    assert (failed["outcome"], failed["rejected_output"]) == ("failed", None)
    assert failed["from_seq"] == 1 < failed["to_seq"] <= OBSERVE_AT, "what was shown to it is known"
    assert failed["error"].startswith(kind)
    assert failed["model"]
    assert (failed["input_tokens"] > 0) is (kind in UNHEARD), "what was sent in time is booked, the answer is not"
    assert failed["output_tokens"] == 0
    assert failing["next_attempt_at"] > failing["last_error"]["at"]
    assert datetime.fromisoformat(failing["last_error"]["at"]) == datetime.fromisoformat(failed["at"])
    assert failing["coverage"] == {"intervals": [{"from": 1, "to": OBSERVE_AT, "by": "tail"}], "gaps": []}
    assert raw["notices"]
    assert len(raw["payload"]["messages"]) == OBSERVE_AT
    assert caught_up["next_attempt_at"] is None
    assert [request.fault for request in models.requests] == [fault, None]


async def test_no_more_of_a_reply_is_read_than_is_set(
    start_service: StartService, models: ModelServer, provider: str
) -> None:
    models.answers[PromptKind.OBSERVER] = lambda _asked: "x" * 1_024
    llm = {"reply_bytes_max": 1_024}
    async with start_service(provider=provider, memory=MEMORY, llm=llm, engine=UNLOOKED) as service:
        await service.append(KEY, *talk(1, OBSERVE_AT))
        failing = await memory_where(service, status="backing_off", attempts=1)
    assert failing["last_error"]["kind"] == "too_large"


@pytest.mark.parametrize("fault", [Fault.CUT_OFF, Fault.EMPTY, Fault.REPETITIVE], ids=str)
async def test_a_bad_reply_is_kept_for_inspection_and_never_recorded(
    start_service: StartService, models: ModelServer, provider: str, fault: Fault
) -> None:
    models.fail_next(fault, times=2)
    async with start_service(provider=provider, memory=MEMORY, engine=UNLOOKED) as service:
        await service.append(KEY, *talk(1, OBSERVE_AT))
        failing = await memory_where(service, status="backing_off", attempts=1)
        rejected = await runs(service)
        log = await service.get(f"/sessions/{KEY}/memory/log")
    async with start_service(provider=provider, memory=MEMORY) as service:
        await memory_where(service, status="idle", attempts=0)
        await assert_whole(service, models, talk(1, OBSERVE_AT))

    assert failing["last_error"]["kind"] == fault.value
    assert [(run["outcome"], run["error"]) for run in rejected] == [("rejected", fault.value)] * 2
    assert all((run["rejected_output"] == "") is (fault is Fault.EMPTY) for run in rejected)
    assert all(run["input_tokens"] > 0 for run in rejected)
    assert failing["usage"]["observer"]["calls"] == 2
    assert (log["version"], log["text"]) == (0, "")


@pytest.mark.parametrize("reply", ["no line\x00 of a log", "no line\ud800 of a log"], ids=["NUL", "half a character"])
async def test_a_bad_reply_that_cannot_be_stored_as_it_is_fails_its_step_like_another(
    start_service: StartService, models: ModelServer, provider: str, reply: str
) -> None:
    models.answers[PromptKind.OBSERVER] = lambda _asked: reply
    async with start_service(provider=provider, memory=MEMORY, engine=UNLOOKED) as service:
        await service.append(KEY, *talk(1, OBSERVE_AT))
        failing = await memory_where(service, status="backing_off", attempts=1)
        rejected = await runs(service)

    assert failing["last_error"]["kind"] == "empty"
    assert [run["rejected_output"] for run in rejected] == ["no line of a log"] * 2


async def test_a_rejected_reply_is_asked_for_once_more_with_the_reason(
    start_service: StartService, models: ModelServer, provider: str
) -> None:
    models.fail_next(Fault.CUT_OFF)
    async with start_service(provider=provider, memory=MEMORY) as service:
        await service.append(KEY, *talk(1, OBSERVE_AT), wait_ms=WAIT_MS)
        outcomes = [run["outcome"] for run in await runs(service)]
        await assert_whole(service, models, talk(1, OBSERVE_AT))

    assert outcomes == ["rejected", "recorded"]
    first, second = models.asked(PromptKind.OBSERVER)
    assert "not accepted" not in first.prompt
    assert "not accepted: the reply was cut off at the output limit; write less" in second.prompt


async def test_the_providers_wish_to_wait_is_honoured_until_somebody_asks_for_a_new_try(
    start_service: StartService, models: ModelServer, provider: str
) -> None:
    models.fail_next(Fault.RATE_LIMITED, retry_after="40")
    async with start_service(provider=provider, memory=MEMORY) as service:
        await service.append(KEY, *talk(1, OBSERVE_AT))
        failing = await memory_where(service, status="backing_off", attempts=1)
        await service.append(KEY, *talk(OBSERVE_AT + 1, OBSERVE_AT + 4))
        still = await service.memory(KEY)
        asked = len(models.requests)
        answer = await service.client.post(f"/sessions/{KEY}/memory/redrive", params={"wait_ms": WAIT_MS})
        await assert_whole(service, models, talk(1, OBSERVE_AT + 4))

    assert 40 <= seconds_between(failing["last_error"]["at"], failing["next_attempt_at"]) < 60
    assert (still["status"], still["next_attempt_at"]) == ("backing_off", failing["next_attempt_at"])
    assert asked == 1
    assert answer.status_code == 200
    assert answer.json()["memory"]["status"] == "idle"


@pytest.mark.parametrize("step", ["redrive", "observe"])
async def test_who_asks_for_a_new_try_has_the_provider_asked_though_it_was_given_up_for_a_while(
    start_service: StartService, models: ModelServer, step: str
) -> None:
    models.fail_next(Fault.SERVER_ERROR)
    given_up = {"failures_max": 1, "open_seconds": 600}
    async with start_service(provider="openai", memory=MEMORY, llm=given_up) as service:
        await service.append(KEY, *talk(1, OBSERVE_AT))
        await memory_where(service, status="backing_off", attempts=1)
        answer = await service.client.post(f"/sessions/{KEY}/memory/{step}", params={"wait_ms": WAIT_MS})
        await assert_whole(service, models, talk(1, OBSERVE_AT))

    assert answer.json()["memory"]["status"] == "idle"


async def test_a_provider_that_is_not_asked_for_a_while_makes_no_memory_stalled(
    start_service: StartService, models: ModelServer, database_url: str
) -> None:
    """memory-rules.md section 3.8: after 8 tries, and this is none."""
    models.fail_next(Fault.SERVER_ERROR)

    def waits(memory: Json) -> bool:
        failed, again_at = memory["last_error"], memory["next_attempt_at"]
        return failed is not None and again_at is not None and seconds_between(failed["at"], again_at) > 500

    given_up = {"failures_max": 1, "open_seconds": 600}
    async with start_service(provider="openai", memory=MEMORY, llm=given_up) as service:
        await service.append("first", *talk(1, OBSERVE_AT))
        await until(partial(service.memory, "first"), lambda memory: memory["attempts"] == 1)
        await service.append(KEY, *talk(1, OBSERVE_AT))
        stages = [await until(partial(service.memory, KEY), waits)]
        for _ in range(9):
            await the_wait_ends(database_url)
            stages.append(await until(partial(service.memory, KEY), waits))
        first = await until(partial(service.memory, "first"), lambda memory: memory["status"] == "backing_off")
        told, counted = await runs(service), stages[-1]["usage"]["observer"]
        await service.client.post(f"/sessions/{KEY}/memory/redrive", params={"wait_ms": WAIT_MS})
        await memory_where(service, status="idle", attempts=0)

    assert {(stage["attempts"], stage["last_error"]["kind"]) for stage in stages} == {(1, "circuit_open")}
    assert (first["attempts"], first["last_error"]["kind"]) == (1, "server_error")
    assert (told, counted["calls"]) == ([], 0)


async def test_a_refusal_is_paid_for_and_so_it_is_counted(
    start_service: StartService, models: ModelServer, provider: str
) -> None:
    models.fail_next(Fault.REFUSAL)
    settings: dict[str, Any] = {"memory": MEMORY, "caps": {"session_tokens_per_day": 1_000_000}}
    async with start_service(provider=provider, engine=UNLOOKED, **settings) as service:
        await service.append(KEY, *talk(1, OBSERVE_AT))
        failing = await memory_where(service, status="backing_off", attempts=1)
        (refused,) = await runs(service)
    async with start_service(provider=provider, **settings) as service:
        await memory_where(service, status="idle", attempts=0)
        await assert_whole(service, models, talk(1, OBSERVE_AT))

    assert (refused["outcome"], refused["error"].partition(":")[0]) == ("failed", "refused")
    assert min(refused["input_tokens"], refused["output_tokens"]) > 0
    counted = failing["usage"]["observer"]
    assert (counted["calls"], counted["input_tokens"]) == (1, refused["input_tokens"])
    assert counted["output_tokens"] == refused["output_tokens"]
    assert failing["spending"]["session"]["tokens"] == refused["input_tokens"] + refused["output_tokens"]


async def test_a_step_that_fails_eight_times_stalls_until_it_is_redriven(
    start_service: StartService, models: ModelServer, database_url: str
) -> None:
    models.fail_next(Fault.SERVER_ERROR, times=8)
    stages = []
    patient = {"failures_max": 100}  # or the provider would not even be asked
    async with start_service(provider="anthropic", memory=MEMORY, llm=patient, engine=UNLOOKED) as service:
        for attempts in range(1, 9):
            await service.append(KEY, *talk(1, OBSERVE_AT))  # said again it only wakes what is due
            stages.append(await memory_where(service, lease=None, attempts=attempts))
            if attempts < 8:
                await the_wait_ends(database_url)
        for message in talk(OBSERVE_AT + 1, OBSERVE_AT + 4):
            await service.append(KEY, message)
        raw = await service.context(KEY)
        still, asked = await service.memory(KEY), len(models.requests)
        answer = await service.client.post(f"/sessions/{KEY}/memory/redrive", params={"wait_ms": WAIT_MS})
        await assert_whole(service, models, talk(1, OBSERVE_AT + 4))

    waits = [seconds_between(stage["last_error"]["at"], stage["next_attempt_at"]) for stage in stages]
    assert [stage["status"] for stage in stages] == ["backing_off"] * 7 + ["stalled"]
    assert all(stage["last_error"]["kind"] == "server_error" for stage in stages)
    assert all(stage["coverage"]["intervals"][-1]["by"] == "tail" for stage in stages)
    assert all(2**number / 2 <= wait < 2**number + 5 for number, wait in enumerate(waits[:7]))
    assert 600 <= waits[7] < 660
    assert (still["status"], still["attempts"], still["pending"]["messages"]) == ("stalled", 8, OBSERVE_AT + 4)
    assert len(raw["payload"]["messages"]) == OBSERVE_AT + 4
    assert raw["notices"]
    assert (asked, answer.json()["memory"]["status"]) == (8, "idle")


async def test_everything_answers_at_once_while_the_observer_hangs(
    start_service: StartService, models: ModelServer, provider: str
) -> None:
    models.fail_next(Fault.HANG)
    posted = talk(1, 48)
    async with start_service(provider=provider, memory=MEMORY) as service:
        await service.append(KEY, *posted[:OBSERVE_AT])
        await until(partial(service.memory, KEY), lambda _: bool(models.requests))
        hanging = await service.memory(KEY)  # asked after the call was seen: the answer before may be of before it
        slowest = 0.0
        for message in posted[OBSERVE_AT:]:
            started = time.monotonic()
            await service.append(KEY, message)
            raw = await service.context(KEY)
            slowest = max(slowest, time.monotonic() - started)
            assert raw["tokens"]["messages"] <= LIMITS.message_budget
            assert raw["as_of_seq"] == int(message["id"].removeprefix("m-"))
            assert message["content"] in str(raw["payload"]["messages"][-1]["content"])
        waited = await service.context(KEY, min_seq=len(posted), wait_ms=50)
        meanwhile = await service.memory(KEY)
        models.release()
        await memory_where(service, status="idle", attempts=0)
        await assert_whole(service, models, posted)

    assert slowest < PROMPT_SECONDS
    assert hanging["status"] == "observing"
    assert hanging["lease"]["step"] == "observe"
    assert (meanwhile["status"], meanwhile["lease"]["epoch"]) == ("observing", hanging["lease"]["epoch"])
    assert meanwhile["pending"]["messages"] == len(posted)
    assert raw["omitted"]["unobserved_messages"] == len(posted) - len(raw["payload"]["messages"])
    assert any("The memory is behind" in notice for notice in raw["notices"])
    assert any("neither shown nor in the notes" in notice for notice in raw["notices"])
    assert len(waited["notices"]) == len(raw["notices"]) + 1


async def test_a_reflector_that_fails_leaves_the_log_as_it_was(
    start_service: StartService, models: ModelServer, provider: str
) -> None:
    models.fail_next(Fault.EMPTY, kind=PromptKind.REFLECTOR, times=4)
    posted = talk(1, 60)
    async with start_service(provider=provider, memory=MEMORY, engine=UNLOOKED) as service:
        await service.append(KEY, *posted)
        failing = await memory_where(service, status="backing_off", attempts=1)
        before = await look(service, KEY)
        rejected = await items(service, f"/sessions/{KEY}/memory/runs", outcome="rejected")
    async with start_service(provider=provider, memory=MEMORY) as service:
        await memory_where(service, status="idle", attempts=0)
        await assert_whole(service, models, posted)
        after = await service.memory(KEY)

    check_all(LIMITS, before, None)
    assert (failing["last_error"]["step"], failing["last_error"]["kind"]) == ("reflect", "empty")
    assert [run["kind"] for run in rejected] == ["reflect"] * 4
    assert failing["log"]["reflections"] == 0
    assert failing["log"]["observations"] == len(before.observations)
    assert after["log"]["reflections"] >= 1


async def the_wait_ends(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    await connection.execute("UPDATE memories SET due_at = now() WHERE due_at IS NOT NULL AND lease_owner IS NULL")
    await connection.close()


def seconds_between(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
