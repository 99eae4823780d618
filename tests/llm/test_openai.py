import asyncio
from dataclasses import replace
from typing import Any

import pytest
from openai.types.chat import ChatCompletion

from app.llm.build import build_model
from app.llm.calls import TOKENS_MAX, understood
from app.llm.complaints import Complaint
from app.llm.openai import TRIES, Parameters, client, is_own, read_reply, read_usage
from app.llm.port import LlmConfig, ModelError, ModelRequest, Provider, Stop, Usage
from app.llm.prices import cost_usd
from tests.model_server import ModelServer, Said

CACHED = {"prompt_cache_options": {"mode": "explicit"}}
ASK = ModelRequest(system="s", prompt="p", max_output_tokens=10)


@pytest.mark.parametrize(
    ("name", "own", "sent"),
    [
        ("gpt-5.5", True, {"max_completion_tokens": 9, "reasoning_effort": "low"}),
        ("gpt-5.6-luna", True, {"max_completion_tokens": 9, "reasoning_effort": "low", **CACHED}),
        ("gpt-6-luna", True, {"max_completion_tokens": 9, "reasoning_effort": "low", **CACHED}),
        ("gpt-6.1-terra", True, {"max_completion_tokens": 9, "reasoning_effort": "low", **CACHED}),
        ("gpt-6-pro", True, {"max_completion_tokens": 9, **CACHED}),
        ("gpt-5.2-pro", True, {"max_completion_tokens": 9}),
        ("gpt-5.2-chat-latest", True, {"max_completion_tokens": 9}),
        ("gpt-4.1", True, {"max_completion_tokens": 9}),
        ("gpt-6-luna", False, {"max_tokens": 9}),
        ("llama3.2", False, {"max_tokens": 9}),
    ],
)
def test_the_limit_is_sent_by_the_name_the_endpoint_knows(name: str, *, own: bool, sent: dict[str, Any]) -> None:
    assert Parameters.of(name, own=own).sent(9) == sent


REFUSED = {  # by whom, what the endpoint says of the request, and what it is asked with then
    "OpenAI behind a gateway": (
        400,
        {
            "error": {
                "message": "Unsupported parameter: 'max_tokens' is not supported with this model. "
                "Use 'max_completion_tokens' instead.",
                "type": "invalid_request_error",
                "param": "max_tokens",
                "code": "unsupported_parameter",
            }
        },
    ),
    "LiteLLM before Azure": (
        400,
        {
            "error": {
                "message": "litellm.BadRequestError: AzureException - Unsupported parameter: 'max_tokens' is not "
                "supported with this model. Use 'max_completion_tokens' instead.",
                "type": None,
                "param": None,
                "code": "400",
            }
        },
    ),
    "FastAPI": (
        422,
        {
            "detail": [
                {"type": "extra_forbidden", "loc": ["body", "max_tokens"], "msg": "Extra inputs are not permitted"}
            ]
        },
    ),
}


@pytest.mark.parametrize(("status", "body"), REFUSED.values(), ids=REFUSED)
async def test_a_limit_by_the_wrong_name_is_sent_by_the_other_from_then_on(
    server: ModelServer, status: int, body: Any
) -> None:
    server.fail_next(Said(status=status, body=body))
    model = build_model(Provider.OPENAI, "my-deployment", LlmConfig())
    replies = [await model.complete(ASK), await model.complete(ASK)]
    await model.close()

    assert [reply.text for reply in replies] == ["Lisbon, of course."] * 2
    assert [limits(request.body) for request in server.requests] == [
        {"max_tokens": 4_010},
        {"max_completion_tokens": 4_010},
        {"max_completion_tokens": 4_010},
    ]


async def test_calls_at_once_each_learn_the_name_of_the_limit(server: ModelServer) -> None:
    server.fail_next(Said(status=400, body=REFUSED["OpenAI behind a gateway"][1], held=True), times=3)
    model = build_model(Provider.OPENAI, "my-deployment", LlmConfig())
    calls = [asyncio.create_task(model.complete(ASK)) for _ in range(3)]
    assert await asyncio.to_thread(server.wait_for_requests, 3)
    server.release()
    replies = await asyncio.gather(*calls)
    await model.close()

    assert [reply.text for reply in replies] == ["Lisbon, of course."] * 3
    assert [limits(request.body) for request in server.requests] == [
        *[{"max_tokens": 4_010}] * 3,
        *[{"max_completion_tokens": 4_010}] * 3,
    ]


async def test_a_limit_that_is_refused_by_both_names_is_an_error(server: ModelServer) -> None:
    server.always = Said(status=400, body=REFUSED["OpenAI behind a gateway"][1])
    model = build_model(Provider.OPENAI, "my-deployment", LlmConfig())
    with pytest.raises(ModelError, match="openai answered 400: Unsupported parameter"):
        await model.complete(ASK)
    await model.close()

    assert len(server.requests) == 2


def test_what_is_refused_is_left_out_and_nothing_else() -> None:
    own = Parameters.of("gpt-5.2", own=True)
    effort = Complaint(text="Unsupported value: 'reasoning_effort' does not support 'low' with this model.")
    left = own.without(effort, asked=9)

    assert left is not None
    assert (left.sent(9), left.without(effort, asked=9)) == ({"max_completion_tokens": 9}, None)
    assert own.without(Complaint(text="scripted 400"), asked=9) is None


def test_a_model_that_knows_breakpoints_caches_the_instructions_alone() -> None:
    own = Parameters.of("gpt-6-luna", own=True)
    said = "prompt_cache_breakpoint is not supported on this model"
    left = own.without(Complaint(text=said, names="invalid_parameter"), asked=9)

    assert left is not None
    assert (left.sent(9), left.without(Complaint(text=said), asked=9)) == (
        Parameters.of("gpt-5.2", own=True).sent(9),
        None,
    )
    asked = {"role": "user", "content": "p"}
    marked = {"type": "text", "text": "s", "prompt_cache_breakpoint": {"mode": "explicit"}}
    assert own.messages(ASK) == [{"role": "system", "content": [marked]}, asked]
    assert left.messages(ASK) == [{"role": "system", "content": "s"}, asked]


SMALL = {  # what endpoints say of a limit that is beyond what the model writes, and how much that is
    "DeepSeek": (400, "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8_192),
    "OpenAI": (400, "max_tokens is too large: 14570. This model supports at most 4096 completion tokens", 4_096),
    "Groq": (400, "`max_tokens` must be less than or equal to `8192`, the maximum value: see `context_window`", 8_192),
    "DashScope": (400, "Range of max_tokens should be [1, 8192]", 8_192),
    "Zhipu": (422, "max_tokens参数非法:限制数值范围[1,4095]", 4_095),
    "Gemini": (400, "maxOutputTokens value of 14570 but supported is from 1 (inclusive) to 8193 (exclusive)", 8_192),
    "Bedrock": (400, "The maximum tokens you requested exceeds the model limit of 4,096. Try again", 4_096),
    "a gateway": (400, "Error code: 400 - max_tokens: 14570 > 8192, which is the maximum of model-2025-08-07", 8_192),
}


@pytest.mark.parametrize(("status", "said", "most"), SMALL.values(), ids=SMALL)
async def test_a_limit_that_is_too_large_is_sent_as_large_as_may_be_from_then_on(
    server: ModelServer, status: int, said: str, most: int
) -> None:
    server.said_to = lambda asked: Said(status=status, body=told(said)) if asked.max_tokens > most else None
    model = build_model(Provider.OPENAI, "my-deployment", LlmConfig())
    before = model.output_tokens_max
    replies = [await model.complete(replace(ASK, max_output_tokens=10_570)) for _ in range(2)]
    small = await model.complete(ASK)
    await model.close()

    assert [reply.text for reply in (*replies, small)] == ["Lisbon, of course."] * 3
    assert [request.asked.max_tokens for request in server.requests] == [14_570, most, most, min(most, 4_010)]
    assert (before, model.output_tokens_max) == (None, most)


@pytest.mark.parametrize(
    "said",
    [
        "This model's maximum context length is 8192 tokens. However, your messages and max_tokens are 14870.",
        "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 300 `inputs` tokens and 14570 `max_new_tokens`",
        "input length and `max_tokens` exceed context limit: 9000 + 14570 > 16000",
        "max_tokens is too large",
        "max_tokens must be above 0 (error 400)",
        "there are 5000 of it",
    ],
)
async def test_a_number_of_something_else_is_no_limit(server: ModelServer, said: str) -> None:
    server.always = Said(status=400, body=told(said))
    model = build_model(Provider.OPENAI, "my-deployment", LlmConfig())
    with pytest.raises(ModelError):
        await model.complete(replace(ASK, max_output_tokens=10_570))
    await model.close()

    assert (len(server.requests), model.output_tokens_max) == (1, None)


async def test_an_endpoint_that_never_takes_a_limit_is_not_asked_for_ever(server: ModelServer) -> None:
    server.said_to = lambda asked: Said(status=400, body=told(f"max_tokens is above {asked.max_tokens - 1}"))
    model = build_model(Provider.OPENAI, "my-deployment", LlmConfig())
    with pytest.raises(ModelError):
        await model.complete(ASK)
    await model.close()

    assert len(server.requests) == TRIES


@pytest.mark.parametrize(
    "said",
    [
        "System role not supported",
        "Developer instruction is not enabled for models/gemma-3-27b-it",
        "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
        "Conversation roles must alternate user/assistant/user/assistant/...",
    ],
    ids=["vLLM", "Gemini", "OpenAI", "Mistral"],
)
async def test_a_model_without_a_system_role_is_told_by_the_user_from_then_on(server: ModelServer, said: str) -> None:
    server.fail_next(Said(status=400, body=told(said)))
    model = build_model(Provider.OPENAI, "gemma", LlmConfig())
    replies = [await model.complete(ASK), await model.complete(ASK)]
    await model.close()

    assert [reply.text for reply in replies] == ["Lisbon, of course."] * 2
    by_role = [{one["role"]: one["content"] for one in request.body["messages"]} for request in server.requests]
    assert by_role == [{"system": "s", "user": "p"}, {"user": "s\n\np"}, {"user": "s\n\np"}]


def told(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}


def limits(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in {"model", "messages"}}


async def test_an_endpoint_of_one_s_own_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with ModelServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        model = build_model(Provider.OPENAI, "llama3.2", LlmConfig())

        reply = await model.complete(ModelRequest(system="s", prompt="p", max_output_tokens=10))
        await model.close()

    assert reply.text == "ok"
    assert reply.usage.cost_usd is None


def completion(**over: Any) -> ChatCompletion:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hi"}}
    return ChatCompletion.construct(**({"id": "1", "model": "m", "choices": [choice], "usage": None} | over))


def test_a_server_that_sends_no_usage_is_understood() -> None:
    assert read_reply(completion()).usage == Usage()


@pytest.mark.parametrize("usage", [{}, {"prompt_tokens": None, "completion_tokens": None}])
def test_a_server_that_sends_null_for_its_usage_is_understood(usage: dict[str, None]) -> None:
    assert read_reply(completion(usage=usage)).usage == Usage()


@pytest.mark.parametrize(
    ("told", "counted"), [("12", 12), (12.7, 12), (-1, 0), (10**30, TOKENS_MAX), (None, 0)], ids=str
)
def test_tokens_as_servers_tell_them_are_a_number_that_can_be_stored(told: object, counted: int) -> None:
    usage = {"prompt_tokens": told, "completion_tokens": told, "prompt_tokens_details": {"cached_tokens": told}}

    assert read_usage(completion(usage=usage)) == Usage(
        input_tokens=counted, cached_input_tokens=counted, output_tokens=counted
    )


@pytest.mark.parametrize(
    ("prompt", "cached", "written", "whole"),
    [(100, 90, 10, 100), (100, 100, 0, 100), (4, 90, 10, 104), (95, 90, 10, 195), (0, 90, 0, 90)],
)
def test_a_gateway_that_counts_only_new_input_is_understood(prompt: int, cached: int, written: int, whole: int) -> None:
    details = {"cached_tokens": cached, "cache_write_tokens": written}
    usage = read_usage(completion(usage={"prompt_tokens": prompt, "prompt_tokens_details": details}))

    assert usage == Usage(input_tokens=whole, cached_input_tokens=cached, cache_write_tokens=written)
    assert cost_usd(Provider.OPENAI, "gpt-6-luna", usage)


def test_a_server_that_does_not_name_its_model_is_understood() -> None:
    assert read_reply(completion(model=None)).model == ""


@pytest.mark.parametrize(
    "over",
    [
        {"choices": [{"index": 0, "message": {"role": "assistant", "content": [{"type": "text", "text": None}]}}]},
        {"choices": [{"index": 0, "message": {"role": "assistant", "content": {"text": "hi"}}}]},
        {"choices": [{"index": 0, "message": None}]},
        {"usage": {"prompt_tokens": "many", "completion_tokens": 1}},
        {"choices": []},
    ],
)
def test_a_reply_of_another_shape_is_no_reply(over: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match="in a shape its API does not have"):
        understood(completion(**over), read_reply, provider=Provider.OPENAI)


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "thinking", "thinking": [{"type": "text", "text": "* perhaps"}]}, {"type": "text", "text": "hi"}],
        [
            {"type": "reasoning", "text": "* perhaps"},
            {"type": "text", "text": "h"},
            {"type": "output_text", "text": "i"},
        ],
    ],
    ids=["Mistral", "Databricks"],
)
def test_an_answer_in_parts_is_the_texts_among_them(content: Any) -> None:
    assert read_reply(completion(choices=[chosen(content)])).text == "hi"


def test_thinking_left_before_the_answer_is_none_of_it() -> None:
    assert read_reply(completion(choices=[chosen("<think>\n* perhaps\n</think>\n* it is")])).text == "\n* it is"


def chosen(content: Any, **over: Any) -> dict[str, Any]:
    return {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}} | over


@pytest.mark.parametrize("reason", ["error", "insufficient_system_resource", "network_error"])
def test_half_an_answer_is_none_and_paid_for(reason: str) -> None:
    paid = Usage(input_tokens=3, output_tokens=2)

    with pytest.raises(ModelError, match="broke off") as failed:
        understood(
            completion(choices=[chosen("* hal", finish_reason=reason)]), read_reply, provider="openai", usage=paid
        )

    assert (failed.value.kind, failed.value.retryable, failed.value.usage) == ("server_error", True, paid)


def test_half_an_answer_says_why_it_broke_off() -> None:
    error = {"code": 429, "message": "Provider returned error", "metadata": {"raw": "Rate limit of the upstream"}}
    half = chosen("* hal", finish_reason="error", error=error)

    with pytest.raises(ModelError) as failed:
        understood(completion(choices=[half]), read_reply, provider="openai")

    assert failed.value.kind == "rate_limited"
    assert str(failed.value) == (
        "openai answered with an error 429: Provider returned error: Rate limit of the upstream"
    )


def test_a_filtered_reply_is_a_refusal() -> None:
    choice = {"index": 0, "finish_reason": "content_filter", "message": {"role": "assistant", "content": None}}

    reply = read_reply(completion(choices=[choice]))

    assert (reply.stop, reply.text) == (Stop.REFUSAL, "")


@pytest.mark.parametrize(
    ("base_url", "own"),
    [
        (None, True),
        ("https://eu.api.openai.com/v1", True),
        ("https://here.openai.azure.com/openai/v1", True),
        ("https://not-openai.com/v1", False),
        ("http://127.0.0.1:11434/v1", False),
    ],
)
def test_only_openai_s_own_hosts_get_what_only_they_know(
    monkeypatch: pytest.MonkeyPatch, base_url: str | None, *, own: bool
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    if base_url is not None:
        monkeypatch.setenv("OPENAI_BASE_URL", base_url)

    assert is_own(client(timeout_seconds=1.0, reply_bytes_max=1)) is own
