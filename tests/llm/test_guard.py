"""The limit and the circuit breaker before a provider."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from app.llm.guard import Breaker, Circuit, Condition, Guard, GuardConfig, GuardedModel
from app.llm.port import ModelError, ModelReply, ModelRequest, Provider, Stop, Usage

CONFIG = GuardConfig(concurrency=2, failures_max=3, open_seconds=30.0)
REQUEST = ModelRequest(system="s", prompt="p", max_output_tokens=10)
REPLY = ModelReply(text="ok", stop=Stop.END, usage=Usage(), model="m")
OVERLOADED = ModelError("overloaded", "busy", retryable=True)
REFUSED = ModelError("bad_request", "no", retryable=False)


class Played:
    """A model that plays back outcomes, and counts how many calls are in it at once."""

    provider = Provider.OPENAI
    name = "played"
    reasoning_tokens = 0
    output_tokens_max = None

    def __init__(self, *outcomes: ModelReply | Exception) -> None:
        self.outcomes = list(outcomes)
        self.inside = self.most = self.calls = 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def complete(self, _request: ModelRequest) -> ModelReply:
        self.calls += 1
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await self.gate.wait()
            outcome = self.outcomes.pop(0) if self.outcomes else REPLY
        finally:
            self.inside -= 1
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def close(self) -> None:
        self.closed = True


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def guarded(*outcomes: ModelReply | Exception, clock: Callable[[], float] | None = None) -> tuple[Played, GuardedModel]:
    played = Played(*outcomes)
    return played, GuardedModel(played, Guard(CONFIG, clock or Clock()))


async def fail(model: GuardedModel, times: int) -> list[str]:
    kinds = []
    for _ in range(times):
        with pytest.raises(ModelError) as raised:
            await model.complete(REQUEST)
        kinds.append(raised.value.kind)
    return kinds


async def test_no_more_calls_run_at_once_than_allowed() -> None:
    played, model = guarded()
    played.gate.clear()
    calls = [asyncio.create_task(model.complete(REQUEST)) for _ in range(5)]
    for _ in range(10):
        await asyncio.sleep(0)
    assert played.inside == 2
    played.gate.set()
    await asyncio.gather(*calls)
    assert (played.most, played.calls) == (2, 5)


async def test_after_several_failures_in_a_row_no_call_passes_until_the_time_is_over() -> None:
    clock = Clock()
    played, model = guarded(OVERLOADED, OVERLOADED, OVERLOADED, clock=clock)
    assert await fail(model, 4) == ["overloaded", "overloaded", "overloaded", "circuit_open"]
    assert played.calls == 3
    clock.now += 12
    with pytest.raises(ModelError) as raised:
        await model.complete(REQUEST)
    assert raised.value.retryable
    assert raised.value.retry_after == pytest.approx(18)
    assert "overloaded" in str(raised.value)
    clock.now += 18
    assert await model.complete(REQUEST) == REPLY
    assert await model.complete(REQUEST) == REPLY


async def test_a_call_that_is_not_to_be_sent_any_more_is_not_made_and_leaves_the_probe_to_the_next() -> None:
    async def refuse() -> None:
        raise LookupError

    clock = Clock()
    played, model = guarded(*[OVERLOADED] * 3, clock=clock)
    await fail(model, 3)
    clock.now += 30
    with pytest.raises(LookupError):
        await model.complete(replace(REQUEST, before_sending=refuse))
    assert played.calls == 3
    assert await model.complete(REQUEST) == REPLY


async def test_a_failed_probe_opens_the_circuit_again() -> None:
    clock = Clock()
    played, model = guarded(*[OVERLOADED] * 4, clock=clock)
    await fail(model, 3)
    clock.now += 30
    assert await fail(model, 2) == ["overloaded", "circuit_open"]
    assert played.calls == 4


async def test_who_asks_now_has_one_call_let_through_before_the_time_is_over() -> None:
    clock = Clock()
    played = Played(*[OVERLOADED] * 4)
    guard = Guard(CONFIG, clock)
    model = GuardedModel(played, guard)
    await fail(model, 3)
    guard.try_now()
    assert (guard.condition().circuit, guard.condition().next_try_seconds) == (Circuit.HALF_OPEN, 0)
    assert await fail(model, 2) == ["overloaded", "circuit_open"]
    guard.try_now()
    assert await model.complete(REQUEST) == REPLY
    assert guard.condition().circuit is Circuit.CLOSED


async def test_only_one_call_probes_at_a_time() -> None:
    clock = Clock()
    played, model = guarded(*[OVERLOADED] * 3, clock=clock)
    await fail(model, 3)
    clock.now += 30
    played.gate.clear()
    probe = asyncio.create_task(model.complete(REQUEST))
    await asyncio.sleep(0)
    assert await fail(model, 1) == ["circuit_open"]
    played.gate.set()
    assert await probe == REPLY


async def test_a_call_that_began_before_the_circuit_opened_lets_none_pass_beside_the_probe() -> None:
    clock = Clock()
    played, model = guarded(clock=clock)
    played.gate.clear()
    early = asyncio.create_task(model.complete(REQUEST))
    await asyncio.sleep(0)
    for _ in range(CONFIG.failures_max):
        model._guard.breaker.failed(clock.now, "overloaded")
    clock.now += 30
    probe = asyncio.create_task(model.complete(REQUEST))
    await asyncio.sleep(0)
    early.cancel()
    await asyncio.gather(early, return_exceptions=True)
    assert await fail(model, 1) == ["circuit_open"]
    played.gate.set()
    assert await probe == REPLY


async def test_a_cancelled_probe_does_not_keep_the_circuit_shut() -> None:
    clock = Clock()
    played, model = guarded(*[OVERLOADED] * 3, clock=clock)
    await fail(model, 3)
    clock.now += 30
    played.gate.clear()
    probe = asyncio.create_task(model.complete(REQUEST))
    await asyncio.sleep(0)
    probe.cancel()
    await asyncio.gather(probe, return_exceptions=True)
    played.gate.set()
    assert await model.complete(REQUEST) == REPLY


async def test_a_probe_that_breaks_does_not_keep_the_circuit_shut() -> None:
    clock = Clock()
    _, model = guarded(*[OVERLOADED] * 3, RuntimeError("a bug of ours"), clock=clock)
    await fail(model, 3)
    clock.now += 30
    with pytest.raises(RuntimeError):
        await model.complete(REQUEST)
    assert await model.complete(REQUEST) == REPLY


async def test_refused_requests_say_nothing_of_the_providers_health() -> None:
    played, model = guarded(*[REFUSED] * 5)
    assert await fail(model, 5) == ["bad_request"] * 5
    assert played.calls == 5


async def test_how_calls_went_is_told_without_letting_one_through() -> None:
    clock = Clock()
    played = Played(REPLY, REFUSED, *[OVERLOADED] * 3)
    guard = Guard(CONFIG, clock)
    model = GuardedModel(played, guard)
    assert guard.condition() == Condition()

    await model.complete(REQUEST)
    clock.now += 5
    await fail(model, 1)
    clock.now += 1
    refused = Condition(last_error="bad_request", last_error_seconds=1, answered_seconds=6)
    assert guard.condition() == refused

    await fail(model, 4)  # the last finds the circuit open, and asks nobody
    clock.now += 10
    stopped = Condition(
        circuit=Circuit.OPEN,
        failures=3,
        next_try_seconds=20,
        last_error="overloaded",
        last_error_seconds=10,
        answered_seconds=16,
    )
    assert guard.condition() == stopped
    clock.now += 20
    assert guard.condition() == replace(
        stopped, circuit=Circuit.HALF_OPEN, next_try_seconds=0, last_error_seconds=30, answered_seconds=36
    )
    assert await model.complete(REQUEST) == REPLY  # the probe is still to be had
    assert guard.condition() == Condition(last_error="overloaded", last_error_seconds=30, answered_seconds=0)


@pytest.mark.parametrize(("failures", "wait"), [(2, 0.0), (3, 30.0), (4, 30.0)])
def test_the_circuit_opens_at_its_limit_of_failures(failures: int, wait: float) -> None:
    breaker = Breaker(CONFIG)
    for _ in range(failures):
        breaker.failed(now=5.0, kind="timeout")
    assert breaker.wait_seconds(now=5.0) == wait
