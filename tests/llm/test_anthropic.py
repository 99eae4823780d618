from typing import Any
from uuid import UUID

import pytest
from anthropic.types import Message

from app.llm.anthropic import read_message, read_reply, read_usage
from app.llm.build import build_model
from app.llm.calls import TOKENS_MAX, understood
from app.llm.port import LlmConfig, ModelError, ModelRequest, Provider, Usage
from tests.model_server import ModelServer, Recorded, Said

ASK = ModelRequest(system="Be brief.", prompt="Hello", max_output_tokens=10)


async def sent(server: ModelServer, name: str) -> Recorded:
    model = build_model(Provider.ANTHROPIC, name, LlmConfig())
    await model.complete(ASK)
    await model.close()
    return server.requests[-1]


async def test_the_instructions_are_marked_for_the_cache(server: ModelServer) -> None:
    request = await sent(server, "claude-haiku-5-5")

    assert request.body["system"] == [{"type": "text", "text": ASK.system, "cache_control": {"type": "ephemeral"}}]


@pytest.mark.parametrize(
    ("name", "effort"),
    [
        ("claude-haiku-5-5", {"effort": "low"}),
        ("claude-sonnet-5", {"effort": "low"}),
        ("claude-opus-10-1", {"effort": "low"}),
        ("claude-haiku-4-5", None),
        ("claude-sonnet-4-6", None),
        ("qwen3", None),
    ],
)
async def test_only_a_model_that_thinks_unasked_is_asked_to_think_little(
    server: ModelServer, name: str, effort: dict[str, str] | None
) -> None:
    assert (await sent(server, name)).body.get("output_config") == effort


def message(**over: Any) -> Message:
    said = {"type": "text", "text": "hi"}
    return Message.construct(**({"id": "1", "model": "m", "content": [said], "usage": None} | over))


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": None, "output_tokens": None}])
def test_a_server_that_tells_no_usage_is_understood(usage: dict[str, None] | None) -> None:
    assert read_reply(message(usage=usage)).usage == Usage()


@pytest.mark.parametrize(
    ("told", "counted"), [("12", 12), (12.7, 12), (-1, 0), (10**30, TOKENS_MAX), (None, 0)], ids=str
)
def test_tokens_as_servers_tell_them_are_a_number_that_can_be_stored(told: object, counted: int) -> None:
    usage = {"input_tokens": told, "output_tokens": told, "cache_read_input_tokens": told}

    assert read_usage(message(usage=usage)) == Usage(
        input_tokens=2 * counted, cached_input_tokens=counted, output_tokens=counted
    )


def test_a_block_of_a_type_yet_to_come_is_no_text() -> None:
    blocks = [{"type": "yet_to_come", "of": 1}, {"type": "text", "text": "hi"}]

    assert read_reply(message(content=blocks, usage=None)).text == "hi"


def test_what_the_sdk_can_build_nothing_of_is_a_bad_reply() -> None:
    body = b'{"content": [{"type": ["text"], "_fields_set": 1}]}'
    with pytest.raises(ModelError) as failed:
        understood(body, read_message, provider=Provider.ANTHROPIC)
    assert failed.value.kind == "bad_reply"


async def test_an_endpoint_that_knows_no_effort_is_asked_without_from_then_on(server: ModelServer) -> None:
    told = {"type": "error", "error": {"type": "invalid_request_error", "message": "output_config: Extra inputs"}}
    server.fail_next(Said(status=400, body=told))
    model = build_model(Provider.ANTHROPIC, "claude-haiku-5-5", LlmConfig())
    replies = [await model.complete(ASK), await model.complete(ASK)]
    await model.close()

    assert [reply.text for reply in replies] == ["Lisbon, of course."] * 2
    assert ["output_config" in request.body for request in server.requests] == [True, False, False]


async def test_a_limit_that_is_too_large_is_sent_as_large_as_may_be_from_then_on(server: ModelServer) -> None:
    said = "max_tokens: 4010 > 2048, which is the maximum allowed number of output tokens for claude-x-20240307"
    told = {"type": "error", "error": {"type": "invalid_request_error", "message": said}}
    server.said_to = lambda asked: Said(status=400, body=told) if asked.max_tokens > 2_048 else None
    model = build_model(Provider.ANTHROPIC, "claude-x-20240307", LlmConfig())
    replies = [await model.complete(ASK), await model.complete(ASK)]
    await model.close()

    assert [reply.text for reply in replies] == ["Lisbon, of course."] * 2
    assert [request.asked.max_tokens for request in server.requests] == [4_010, 2_048, 2_048]
    assert model.output_tokens_max == 2_048


@pytest.mark.parametrize(
    "whose", ["your organization's rate limit", f"the rate limit for your organization ({UUID(int=1)})"]
)
@pytest.mark.parametrize(
    ("limit", "kind", "retryable"), [("1,000", "too_long", False), ("2,000", "rate_limited", True)]
)
async def test_a_request_of_more_than_a_minute_has_is_too_long_and_a_smaller_one_waits(
    server: ModelServer, whose: str, limit: str, kind: str, *, retryable: bool
) -> None:
    said = f"This request would exceed {whose} of {limit} input tokens per minute. For details, refer to: ..."
    error = {"type": "error", "error": {"type": "rate_limit_error", "message": said}}
    server.always = Said(body=error, status=429, headers={"retry-after": "7"})
    model = build_model(Provider.ANTHROPIC, "claude-haiku-5-5", LlmConfig())

    with pytest.raises(ModelError) as caught:
        await model.complete(ModelRequest(system="Be brief.", prompt="and so on " * 400, max_output_tokens=500))

    assert (caught.value.kind, caught.value.retryable, caught.value.retry_after) == (kind, retryable, 7.0)
    await model.close()


def test_half_an_answer_is_none() -> None:
    with pytest.raises(ModelError, match="broke off"):
        understood(message(stop_reason="pause_turn"), read_reply, provider=Provider.ANTHROPIC)
