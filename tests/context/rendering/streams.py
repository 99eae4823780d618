"""One turn of an agent as each provider streams it: it thinks, speaks, and calls a tool twice."""

from typing import Any

RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "m",
    "status": "completed",
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "output": [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "hm"}],
            "encrypted_content": "gAAA",
        },
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Let me look.", "annotations": []}],
        },
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "c1",
            "name": "search",
            "arguments": '{"q":"Lisbon"}',
            "status": "completed",
        },
        {
            "type": "function_call",
            "id": "fc_2",
            "call_id": "c2",
            "name": "search",
            "arguments": '{"q": "Porto"}',
            "status": "completed",
        },
    ],
}


def _block(index: int, block: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def _use(index: int, call_id: str, arguments: str) -> list[dict[str, Any]]:
    return _block(
        index,
        {"type": "tool_use", "id": call_id, "name": "search", "input": {}},
        {"type": "input_json_delta", "partial_json": arguments[:5]},
        {"type": "input_json_delta", "partial_json": arguments[5:]},
    )


MESSAGES: list[dict[str, Any]] = [
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [],
            "usage": {"input_tokens": 1, "output_tokens": 1},
        },
    },
    *_block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "hm"},
        {"type": "signature_delta", "signature": "c2ln"},
    ),
    *_block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Let me look."}),
    *_use(2, "c1", '{"q": "Lisbon"}'),
    *_use(3, "c2", '{"q": "Porto"}'),
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}},
    {"type": "message_stop"},
]


def _chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def _delta(index: int, call_id: str, arguments: str) -> list[dict[str, Any]]:
    begun = {"index": index, "id": call_id, "type": "function", "function": {"name": "search", "arguments": ""}}
    rest = {"index": index, "function": {"arguments": arguments}}
    return [_chunk({"tool_calls": [begun]}), _chunk({"tool_calls": [rest]})]


CHUNKS: list[dict[str, Any]] = [
    _chunk({"role": "assistant", "content": "Let me "}),
    _chunk({"content": "look."}),
    *_delta(0, "c1", '{"q":"Lisbon"}'),
    *_delta(1, "c2", '{"q": "Porto"}'),
    _chunk({}, "tool_calls"),
]

EVENTS: list[dict[str, Any]] = [
    {"type": "response.created", "sequence_number": 0, "response": {**RESPONSE, "status": "in_progress", "output": []}},
    {"type": "response.completed", "sequence_number": 1, "response": RESPONSE},
]


def _candidate(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}}]}


CONTENTS: list[dict[str, Any]] = [
    _candidate({"text": "hm", "thought": True}),
    _candidate({"text": "Let me look."}),
    _candidate(
        {"functionCall": {"name": "search", "args": {"q": "Lisbon"}}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "search", "args": {"q": "Porto"}}},
    ),
    _candidate({"text": "", "thoughtSignature": "c2lnMg=="}),
]
