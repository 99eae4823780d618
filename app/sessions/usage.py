"""Reads the token usage of the agent's own model call, in our names or as an SDK's object (api.md, Messages)."""

from collections.abc import Mapping
from typing import Any

from app.sessions.model import ActorUsage

# The first name that is present counts. Gemini's are spelled as in its REST API and as in its Python SDK.
INPUT = ("input_tokens", "prompt_tokens", "promptTokenCount", "prompt_token_count")
CACHED = (
    "cached_input_tokens",
    "cache_read_input_tokens",
    "cachedContentTokenCount",
    "cached_content_token_count",
    "prompt_cache_hit_tokens",  # DeepSeek
    "cached_tokens",  # Moonshot
)
TOOL_RESULTS = ("toolUsePromptTokenCount", "tool_use_prompt_token_count")
ANTHROPICS = ("cache_read_input_tokens", "cache_creation_input_tokens")
WRITTEN = ("cache_write_tokens", "cache_creation_input_tokens")
OUTPUT = ("output_tokens", "completion_tokens", "candidatesTokenCount", "candidates_token_count")
THOUGHTS = ("thoughtsTokenCount", "thoughts_token_count")
TOKENS_MAX = 2**40 - 1  # of one call; sums stay far below what a column holds


def actor_usage(usage: Mapping[str, Any]) -> ActorUsage:
    """Read our names, OpenAI's chat and Responses usage, Anthropic's, and Gemini's; a missing count is 0.

    So is an invalid count in an SDK's object; under our own names it was refused (``UsageIn``).

    Anthropic reports cache reads and writes beside ``input_tokens``; the others include them, also those that report
    Anthropic's counts beside ``prompt_tokens`` (LiteLLM). Gemini reports its thoughts beside the answer, and the
    results of its own tools beside the prompt; the others include them. Less input than was cached contradicts itself,
    and is raised to what was cached.
    """
    beside = 0 if "prompt_tokens" in usage else sum(_number(usage, name) for name in ANTHROPICS)
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
    within = details if isinstance(details, Mapping) else {}
    cached = _first(usage, *CACHED) or _number(within, "cached_tokens")
    written = _first(usage, *WRITTEN) or _number(within, "cache_write_tokens")
    model = usage.get("model")
    return ActorUsage(
        model=model if isinstance(model, str) else None,
        input_tokens=max(beside + _first(usage, *INPUT) + _first(usage, *TOOL_RESULTS), cached + written),
        cached_input_tokens=cached,
        cache_write_tokens=written,
        output_tokens=_first(usage, *OUTPUT) + _first(usage, *THOUGHTS),
    )


def _first(usage: Mapping[str, Any], *names: str) -> int:
    return next((_number(usage, name) for name in names if name in usage), 0)


def _number(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name)
    return value if type(value) is int and 0 <= value <= TOKENS_MAX else 0
