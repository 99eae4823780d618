"""The agent's own usage: our names, or what an SDK's response carries, dumped as it is."""

from dataclasses import replace
from typing import Any

import pytest
from anthropic.types import Usage as AnthropicUsage
from hypothesis import given
from hypothesis import strategies as st
from openai.types.completion_usage import CompletionUsage
from openai.types.responses import ResponseUsage

from app.sessions.model import ActorUsage
from app.sessions.schemas import UsageIn
from app.sessions.usage import actor_usage

OURS = {
    "model": "a-model",
    "input_tokens": 900,
    "cached_input_tokens": 700,
    "cache_write_tokens": 100,
    "output_tokens": 80,
}
OPENAI_CHAT = CompletionUsage.model_validate(
    {
        "prompt_tokens": 900,
        "completion_tokens": 80,
        "total_tokens": 980,
        "prompt_tokens_details": {"cached_tokens": 700, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 30},
    }
).model_dump()
OPENAI_RESPONSES = ResponseUsage.model_validate(
    {
        "input_tokens": 900,
        "input_tokens_details": {"cached_tokens": 700, "cache_write_tokens": 0},
        "output_tokens": 80,
        "output_tokens_details": {"reasoning_tokens": 30},
        "total_tokens": 980,
    }
).model_dump()
ANTHROPIC = AnthropicUsage.model_validate(
    {"input_tokens": 50, "cache_creation_input_tokens": 150, "cache_read_input_tokens": 700, "output_tokens": 80}
).model_dump()
GEMINI_REST = {
    "promptTokenCount": 860,
    "toolUsePromptTokenCount": 40,
    "cachedContentTokenCount": 700,
    "candidatesTokenCount": 50,
    "thoughtsTokenCount": 30,
    "totalTokenCount": 980,
}
GEMINI_SDK = {
    "prompt_token_count": 860,
    "tool_use_prompt_token_count": 40,
    "cached_content_token_count": 700,
    "candidates_token_count": 50,
    "thoughts_token_count": 30,
    "total_token_count": 980,
    "prompt_tokens_details": [{"modality": "TEXT", "token_count": 860}],
}
LITELLM = OPENAI_CHAT | {"cache_read_input_tokens": 700, "cache_creation_input_tokens": 150}
DEEPSEEK = {
    "prompt_tokens": 900,
    "completion_tokens": 80,
    "prompt_cache_hit_tokens": 700,
    "prompt_cache_miss_tokens": 200,
}
MOONSHOT = {"prompt_tokens": 900, "completion_tokens": 80, "cached_tokens": 700}


def read(usage: dict[str, Any]) -> ActorUsage:
    """As an append reads it: off the wire first."""
    return actor_usage(UsageIn.model_validate(usage).model_dump(exclude_none=True))


@pytest.mark.parametrize(
    "usage",
    [OURS, OPENAI_CHAT, OPENAI_RESPONSES, ANTHROPIC, GEMINI_REST, GEMINI_SDK, LITELLM, DEEPSEEK, MOONSHOT],
    ids=[
        *("ours", "openai chat", "openai responses", "anthropic", "gemini over rest", "gemini sdk"),
        *("litellm", "deepseek", "moonshot"),
    ],
)
def test_one_call_costs_the_same_whoever_tells_it(usage: dict[str, Any]) -> None:
    counts = ActorUsage(model=usage.get("model"), input_tokens=900, cached_input_tokens=700, output_tokens=80)
    assert replace(read(usage), cache_write_tokens=0) == counts


@pytest.mark.parametrize(
    ("usage", "written"),
    [
        (OURS, 100),
        (ANTHROPIC, 150),
        (OPENAI_RESPONSES | {"input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 60}}, 60),
        (OPENAI_CHAT, 0),
        (GEMINI_SDK, 0),
    ],
    ids=["ours", "anthropic", "openai responses", "openai chat", "gemini sdk"],
)
def test_what_was_written_to_the_cache_is_counted_where_it_is_told(usage: dict[str, Any], written: int) -> None:
    assert read(usage).cache_write_tokens == written


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({}, ActorUsage()),
        ({"input_tokens": 5}, ActorUsage(input_tokens=5)),
        ({"input_tokens": None, "output_tokens": 7}, ActorUsage(output_tokens=7)),
        ({"prompt_tokens": 5, "prompt_tokens_details": None}, ActorUsage(input_tokens=5)),
        ({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": None}}, ActorUsage(input_tokens=5)),
        ({"input_tokens": 5, "cache_read_input_tokens": None}, ActorUsage(input_tokens=5)),
        ({"cache_read_input_tokens": 7}, ActorUsage(input_tokens=7, cached_input_tokens=7)),
        ({"cache_creation_input_tokens": 7}, ActorUsage(input_tokens=7, cache_write_tokens=7)),
        (OURS | {"input_tokens": 40}, replace(read(OURS), input_tokens=800)),
        ({"promptTokenCount": 5, "promptTokensDetails": [{"modality": "TEXT"}]}, ActorUsage(input_tokens=5)),
        ({"prompt_tokens": "many", "completion_tokens": -1, "cache_read_input_tokens": 2**40}, ActorUsage()),
    ],
)
def test_what_is_missing_or_no_count_is_zero_and_the_input_holds_what_was_cached(
    usage: dict[str, Any], expected: ActorUsage
) -> None:
    assert read(usage) == expected


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(list(OPENAI_CHAT)), inner, max_size=2),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from([*OURS, *OPENAI_CHAT, *ANTHROPIC, *GEMINI_REST, *GEMINI_SDK]), ANY_JSON))
def test_any_usage_can_be_counted(usage: dict[str, Any]) -> None:
    counted = actor_usage(usage)
    counts = (
        counted.input_tokens,
        counted.cached_input_tokens,
        counted.cache_write_tokens,
        counted.output_tokens,
    )
    assert all(type(count) is int and 0 <= count < 2**42 for count in counts)
