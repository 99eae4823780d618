"""Reads requests and writes replies and errors in the wire formats of the model APIs.

Sources: the types of the installed SDKs (anthropic.types.Message, openai.types.chat.ChatCompletion) and the error
bodies both providers document.
"""

import json
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from tests.model_replies import Asked, ToolCall

CACHED_TOKENS, CACHE_WRITE_TOKENS = 8, 4  # of every input
PATHS = {"/v1/messages": "anthropic", "/v1/chat/completions": "openai", "/v1/embeddings": "embeddings"}


class Ending(StrEnum):
    END = "end"
    LENGTH = "length"
    REFUSAL = "refusal"
    CALL = "call"


STOP_REASONS = {
    Ending.END: "end_turn",
    Ending.LENGTH: "max_tokens",
    Ending.REFUSAL: "refusal",
    Ending.CALL: "tool_use",
}
FINISH_REASONS = {Ending.END: "stop", Ending.LENGTH: "length", Ending.REFUSAL: "stop", Ending.CALL: "tool_calls"}
ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def asked(api: str, body: dict[str, Any]) -> Asked:
    if api == "embeddings":
        return Asked(model=body["model"], system="", prompt="", max_tokens=0, texts=tuple(body["input"]))
    if api == "anthropic":
        system = _text(body.get("system", ""))
        limit = body["max_tokens"]
    else:
        system = "\n".join(_text(one["content"]) for one in body["messages"] if one["role"] == "system")
        limit = body.get("max_completion_tokens", body.get("max_tokens", 0))
    prompt = "\n".join(_text(one["content"]) for one in body["messages"] if one["role"] == "user")
    results = tuple(_results(body["messages"]))
    return Asked(model=body["model"], system=system, prompt=prompt, max_tokens=limit, results=results)


def _results(messages: list[dict[str, Any]]) -> Iterator[str]:
    """The results of tools: OpenAI's messages of role tool, Anthropic's tool_result blocks."""
    for message in messages:
        if message["role"] == "tool":
            yield _text(message["content"])
        elif isinstance(message["content"], list):
            yield from (_text(part["content"]) for part in message["content"] if part["type"] == "tool_result")


def reply(api: str, question: Asked, text: str, ending: Ending) -> dict[str, Any]:
    whole, out = max(16, (len(question.system) + len(question.prompt)) // 4), len(text) // 4 + 1
    return (_anthropic if api == "anthropic" else _openai)(question.model, text, ending, whole, out)


def vectors(question: Asked, made: list[list[float]]) -> dict[str, Any]:
    """The reply to a request for embeddings, in reverse order, which the API allows."""
    data = [{"object": "embedding", "index": index, "embedding": made[index]} for index in reversed(range(len(made)))]
    tokens = sum(map(len, question.texts)) // 4
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": question.model, "data": data, "usage": usage}


def call(api: str, question: Asked, asked_for: ToolCall) -> dict[str, Any]:
    """A reply that calls a tool. Its id is numbered after the results so far, so that it is unique."""
    body = reply(api, question, "", Ending.CALL)
    name, number = asked_for.name, f"call_{len(question.results) + 1}"
    if api == "anthropic":
        body["content"].append({"type": "tool_use", "id": number, "name": name, "input": asked_for.arguments})
    else:
        function = {"name": name, "arguments": json.dumps(asked_for.arguments)}
        called = {"content": None, "tool_calls": [{"id": number, "type": "function", "function": function}]}
        body["choices"][0]["message"] |= called
    return body


def error(api: str, status: int) -> dict[str, Any]:
    kind = ERROR_TYPES.get(status, "api_error")
    if api == "anthropic":
        return {"type": "error", "error": {"type": kind, "message": f"scripted {status}"}, "request_id": "req_1"}
    return {"error": {"message": f"scripted {status}", "type": kind, "param": None, "code": None}}


def _text(content: str | list[dict[str, Any]]) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _anthropic(model: str, text: str, ending: Ending, whole: int, out: int) -> dict[str, Any]:
    """A reply of Anthropic's, whose ``input_tokens`` excludes cache reads and writes."""
    thought = [{"type": "thinking", "thinking": "", "signature": "c2ln"}]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": thought + ([{"type": "text", "text": text}] if text else []),
        "stop_reason": STOP_REASONS[ending],
        "stop_sequence": None,
        "usage": {
            "input_tokens": whole - CACHED_TOKENS - CACHE_WRITE_TOKENS,
            "cache_read_input_tokens": CACHED_TOKENS,
            "cache_creation_input_tokens": CACHE_WRITE_TOKENS,
            "output_tokens": out,
        },
    }


def _openai(model: str, text: str, ending: Ending, whole: int, out: int) -> dict[str, Any]:
    """A reply of OpenAI's, in which a refusal is a field beside the content, which is then null."""
    refused = ending is Ending.REFUSAL
    message = {"role": "assistant", "content": None if refused else text, "refusal": text if refused else None}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_785_578_400,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": FINISH_REASONS[ending], "logprobs": None}],
        "usage": {
            "prompt_tokens": whole,
            "completion_tokens": out,
            "total_tokens": whole + out,
            "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS, "cache_write_tokens": CACHE_WRITE_TOKENS},
        },
    }
