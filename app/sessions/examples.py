"""Examples of requests, for the OpenAPI document; a test sends each of them."""

from typing import Any

APPEND_EXAMPLES: dict[str, Any] = {
    "neutral": {
        "summary": "One turn",
        "value": {
            "messages": [
                {"id": "m-1", "role": "user", "content": "I moved to Lisbon", "created_at": "2026-08-01T10:00:00Z"},
                {"id": "m-2", "role": "assistant", "content": "Noted. How do you like it there?"},
            ],
            "resource_id": "user-42",
        },
    },
    "tools": {
        "summary": "A tool call and its result",
        "value": {
            "messages": [
                {
                    "role": "assistant",
                    "content": [
                        {"type": "text", "text": "Let me look."},
                        {"type": "tool_call", "id": "c1", "name": "search", "arguments": {"q": "Lisbon"}},
                    ],
                },
                {
                    "role": "tool",
                    "content": [{"type": "tool_result", "tool_call_id": "c1", "output": "Sunny", "is_error": False}],
                },
            ]
        },
    },
    "openai": {
        "summary": "As the OpenAI chat SDK produces it",
        "value": {
            "messages": [
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q": "Lisbon"}'}}
                    ],
                },
                {"role": "tool", "tool_call_id": "c1", "content": "Sunny"},
            ],
            "usage": {"prompt_tokens": 900, "completion_tokens": 80, "prompt_tokens_details": {"cached_tokens": 700}},
        },
    },
}

SESSION_EXAMPLES: dict[str, Any] = {
    "compact": {"summary": "A small memory", "value": {"config": {"preset": "compact"}, "metadata": {"plan": "pro"}}}
}
