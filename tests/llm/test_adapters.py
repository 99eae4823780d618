"""Both adapters: the real SDKs against a real server on loopback."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from app.llm.build import build_model
from app.llm.port import LlmConfig, Model, ModelError, ModelRequest, Provider, Stop
from tests.model_server import Fault, ModelServer, Said
from tests.model_wire import CACHE_WRITE_TOKENS, CACHED_TOKENS

TIMEOUT_SECONDS = 0.3
PATIENT_SECONDS = 20.0
MODELS = {Provider.ANTHROPIC: "claude-haiku-5-5", Provider.OPENAI: "gpt-6-luna"}
ASK = ModelRequest(system="Be brief.", prompt="What is the capital of Portugal? " * 10, max_output_tokens=500)


@pytest.fixture(params=MODELS, ids=str)
def provider(request: pytest.FixtureRequest) -> Provider:
    return Provider(request.param)


@pytest.fixture
async def model(server: ModelServer, provider: Provider) -> AsyncIterator[Model]:
    del server  # its variables are set by now
    model = build_model(provider, MODELS[provider], LlmConfig(timeout_seconds=PATIENT_SECONDS))
    yield model
    await model.close()


@pytest.fixture
async def hasty(server: ModelServer, provider: Provider) -> AsyncIterator[Model]:
    del server
    model = build_model(provider, MODELS[provider], LlmConfig(timeout_seconds=TIMEOUT_SECONDS))
    yield model
    await model.close()


async def failure(model: Model) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await model.complete(ASK)
    return caught.value


async def test_a_reply_comes_back_as_text(model: Model) -> None:
    reply = await model.complete(ASK)

    assert (reply.text, reply.stop, reply.model) == ("Lisbon, of course.", Stop.END, model.name)


async def test_usage_counts_the_whole_input_the_cached_part_included(model: Model) -> None:
    usage = (await model.complete(ASK)).usage

    assert usage.input_tokens == (len(ASK.system) + len(ASK.prompt)) // 4
    assert (usage.cached_input_tokens, usage.cache_write_tokens) == (CACHED_TOKENS, CACHE_WRITE_TOKENS)
    assert usage.output_tokens == 5
    assert usage.cost_usd is not None
    assert 0 < usage.cost_usd < 0.001


async def test_instructions_and_prompt_arrive_apart(server: ModelServer, model: Model) -> None:
    await model.complete(ASK)

    (request,) = server.requests
    assert (request.asked.system, request.asked.prompt) == (ASK.system, ASK.prompt)
    assert request.headers["authorization"] == "Bearer test-key"


async def test_room_for_reasoning_is_added_to_the_limit(server: ModelServer, model: Model) -> None:
    await model.complete(ASK)

    assert server.requests[0].asked.max_tokens == ASK.max_output_tokens + LlmConfig().reasoning_tokens


@pytest.mark.parametrize(
    ("fault", "kind", "retryable"),
    [
        (Fault.RATE_LIMITED, "rate_limited", True),
        (Fault.SERVER_ERROR, "server_error", True),
        (Fault.OVERLOADED, "overloaded", True),
        (Fault.REQUEST_TIMEOUT, "overloaded", True),
        (Fault.CONFLICT, "overloaded", True),
        (Fault.BAD_REQUEST, "bad_request", False),
        (Fault.NOT_FOUND, "bad_request", False),
        (Fault.UNAUTHORIZED, "unauthorized", False),
        (Fault.FORBIDDEN, "unauthorized", False),
        (Fault.GARBAGE, "bad_reply", True),
        (Fault.HTML, "bad_reply", True),
        (Fault.WRONG_SHAPE, "bad_reply", True),
        (Fault.DEEP, "bad_reply", True),
        (Fault.NO_ANSWER, "bad_reply", True),
        (Fault.NO_CHARSET, "bad_reply", True),
        (Fault.RESET, "connection", True),
        (Fault.BROKEN_OFF, "bad_reply", True),
        (Fault.BROKEN_PACKING, "bad_reply", True),
        (Fault.LARGE_ERROR, "bad_request", False),
        (Fault.ENDLESS, "too_large", True),
        (Fault.PACKED, "too_large", True),
        (Fault.FAR_REDIRECT, "connection", True),
        (Fault.NO_REDIRECT, "connection", True),
    ],
)
async def test_each_fault_is_one_kind_of_error(
    server: ModelServer, model: Model, fault: Fault, kind: str, *, retryable: bool
) -> None:
    server.fail_next(fault, retry_after=None)

    error = await failure(model)

    assert (error.kind, error.retryable, error.retry_after) == (kind, retryable, None)
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault.FAR_REDIRECT, "could not be reached"),
        (Fault.RESET, "was reached, but gave no answer"),
        (Fault.BROKEN_OFF, "broke off in the middle of its answer"),
        (Fault.BROKEN_PACKING, "broke off in the middle of its answer"),
    ],
)
async def test_who_was_not_reached_is_told_from_who_gave_no_answer(
    server: ModelServer, model: Model, fault: Fault, said: str
) -> None:
    server.fail_next(fault)

    assert str(await failure(model)) == f"{model.provider} {said}"


async def test_an_error_that_cannot_be_read_is_told_by_its_status(server: ModelServer, model: Model) -> None:
    server.fail_next(Said(body={}, status=503, headers={"content-encoding": "gzip"}))

    assert str(error := await failure(model)) == f"{model.provider} answered 503: no reason was told"
    assert error.kind == "overloaded"


@pytest.mark.parametrize("fault", [Fault.REDIRECT, Fault.ENDLESS_REDIRECT])
async def test_who_is_led_in_a_circle_gives_up(server: ModelServer, model: Model, fault: Fault) -> None:
    server.always = fault

    assert (await failure(model)).kind == "connection"
    assert len(server.requests) < 50


async def test_a_reply_is_read_up_to_its_limit(server: ModelServer, provider: Provider) -> None:
    del server
    model = build_model(provider, MODELS[provider], LlmConfig(reply_bytes_max=100))

    assert (await failure(model)).kind == "too_large"
    await model.close()


async def test_an_answer_without_a_reply_is_paid_for(server: ModelServer, model: Model) -> None:
    paid = (await model.complete(ASK)).usage
    server.fail_next(Fault.NO_ANSWER)

    assert (await failure(model)).usage == paid


@pytest.mark.parametrize("fault", [Fault.RATE_LIMITED, Fault.OVERLOADED, Fault.SERVER_ERROR])
async def test_the_provider_s_wish_to_wait_is_passed_on(server: ModelServer, model: Model, fault: Fault) -> None:
    server.fail_next(fault, retry_after="7")

    assert (await failure(model)).retry_after == 7.0


@pytest.mark.parametrize("fault", [Fault.RATE_LIMITED, Fault.SERVER_ERROR, Fault.RESET])
async def test_the_sdk_does_not_retry_on_its_own(server: ModelServer, model: Model, fault: Fault) -> None:
    server.fail_next(fault)

    await failure(model)

    assert len(server.requests) == 1
    assert (await model.complete(ASK)).text == "Lisbon, of course."


@pytest.mark.parametrize("fault", [Fault.HANG, Fault.DRIP])
async def test_a_call_ends_at_its_time_out_even_if_bytes_keep_coming(
    server: ModelServer, hasty: Model, fault: Fault
) -> None:
    server.fail_next(fault)

    started = asyncio.get_running_loop().time()
    error = await failure(hasty)

    assert (error.kind, error.retryable) == ("timeout", True)
    assert asyncio.get_running_loop().time() - started < 100 * TIMEOUT_SECONDS


async def test_a_hang_that_is_released_gets_its_reply(server: ModelServer, model: Model) -> None:
    server.fail_next(Fault.HANG)
    call = asyncio.create_task(model.complete(ASK))
    assert await asyncio.to_thread(server.wait_for_requests, 1)

    server.release()

    assert (await call).text == "Lisbon, of course."


async def test_a_cancelled_call_is_cancelled_and_not_an_error(server: ModelServer, model: Model) -> None:
    server.fail_next(Fault.HANG)
    call = asyncio.create_task(model.complete(ASK))
    assert await asyncio.to_thread(server.wait_for_requests, 1)

    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call


@pytest.mark.parametrize(
    ("fault", "stop", "text"),
    [
        (Fault.CUT_OFF, Stop.LENGTH, "Lisbon, o"),
        (Fault.EMPTY, Stop.END, ""),
        (Fault.REFUSAL, Stop.REFUSAL, None),
    ],
)
async def test_a_reply_tells_how_it_ended(
    server: ModelServer, model: Model, fault: Fault, stop: Stop, text: str | None
) -> None:
    server.fail_next(fault)

    reply = await model.complete(ASK)

    assert reply.stop is stop
    assert text is None or reply.text == text


async def test_no_server_at_all_is_a_connection_error(monkeypatch: pytest.MonkeyPatch, provider: Provider) -> None:
    with ModelServer() as gone:
        environment = gone.environment()
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    model = build_model(provider, MODELS[provider], LlmConfig(timeout_seconds=PATIENT_SECONDS))

    error = await failure(model)

    assert (error.kind, error.retryable) == ("connection", True)
    assert "could not be reached" in str(error)
    await model.close()


async def test_an_error_never_quotes_the_key(server: ModelServer, model: Model) -> None:
    server.fail_next(Fault.UNAUTHORIZED)

    assert str(await failure(model)) == f"{model.provider} answered 401: the key was refused"
