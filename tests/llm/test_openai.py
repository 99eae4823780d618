from typing import Any

import pytest
from openai.types.chat import ChatCompletion

from app.llm.build import LlmConfig, build_model
from app.llm.calls import TOKENS_MAX, understood
from app.llm.openai import client, is_own, output_limit, read_reply, read_usage
from app.llm.port import ModelError, ModelRequest, Provider, Stop, Usage
from tests.model_server import ModelServer


@pytest.mark.parametrize(
    ("name", "own", "sent"),
    [
        ("gpt-6-luna", True, {"max_completion_tokens": 9, "reasoning_effort": "low"}),
        ("gpt-6.1-terra", True, {"max_completion_tokens": 9, "reasoning_effort": "low"}),
        ("gpt-5.2-pro", True, {"max_completion_tokens": 9}),
        ("gpt-5.2-chat-latest", True, {"max_completion_tokens": 9}),
        ("gpt-4.1", True, {"max_completion_tokens": 9}),
        ("gpt-6-luna", False, {"max_tokens": 9}),
        ("llama3.2", False, {"max_tokens": 9}),
    ],
)
def test_the_limit_is_sent_by_the_name_the_endpoint_knows(name: str, *, own: bool, sent: dict[str, Any]) -> None:
    assert output_limit(name, tokens=9, own=own) == sent


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


def test_a_server_that_does_not_name_its_model_is_understood() -> None:
    assert read_reply(completion(model=None)).model == ""


@pytest.mark.parametrize(
    "over",
    [
        {"choices": [{"index": 0, "message": {"role": "assistant", "content": [{"type": "text", "text": "hi"}]}}]},
        {"usage": {"prompt_tokens": "many", "completion_tokens": 1}},
        {"choices": []},
    ],
)
def test_a_reply_of_another_shape_is_no_reply(over: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match="in a shape its API does not have"):
        understood(completion(**over), read_reply, provider=Provider.OPENAI)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<think>\n* perhaps\n<observations>\n</think>\n\n* so it is", "\n\n* so it is"),
        ("* perhaps\n</think>\n* so it is", "\n* so it is"),
        ("<think></think>* so it is", "* so it is"),
        ("* asked what </think> is for\n* and <think>", "* asked what </think> is for\n* and <think>"),
        ("<think> is a tag", "<think> is a tag"),
    ],
)
def test_thinking_left_before_the_answer_is_none_of_it(text: str, said: str) -> None:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}

    assert read_reply(completion(choices=[choice])).text == said


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
