"""Examples for the OpenAPI document: a test sends each request and compares the answers."""

from typing import Any

from app.kit.openapi import Examples

_REQUESTS: dict[str, Any] = {
    "agent": {
        "summary": "An agent's own prompt and a document",
        "value": {
            "system": "You are a helpful assistant of {app:brand|Acme}.",
            "state": {"temp:page": "opening hours"},
            "knowledge": [{"title": "Opening hours", "text": "Monday to Friday, 9-17.", "placement": "prefix"}],
            "channel": "mobile app",
            "incoming": [{"role": "user", "content": "When do you open tomorrow?"}],
            "now": "2026-08-01T10:00:00Z",
        },
    }
}

_COMPILED: dict[str, Any] = {
    "session": "s1",
    "as_of_seq": 0,
    "memory_version": 0,
    "format": "neutral",
    "payload": {
        "system": [
            {"type": "text", "text": "You are a helpful assistant of Acme."},
            {"type": "text", "text": "## Opening hours\n\nMonday to Friday, 9-17."},
        ],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "When do you open tomorrow?"},
                    {
                        "type": "text",
                        "text": "<context>\nToday is Saturday, August 1, 2026.\n"
                        'State temp:page = "opening hours"\nChannel: mobile app\n</context>',
                    },
                ],
            }
        ],
    },
    "tokens": {
        "total": 61,
        "system": 8,
        "guide": 0,
        "knowledge": 12,
        "reflections": 0,
        "observations": 0,
        "messages": 10,
        "volatile": 31,
    },
    "cache": {
        "epoch": "0:2026-08-01:1",
        "prefix_sha256": "0c0917bae382f9c0c974ee150c5dd5de4f4cefd446835043d2855c584413b1d5",
        "stable_tokens": 20,
        "shared_with_previous_tokens": None,
        "break_reason": None,
    },
    "omitted": {"messages": 0, "unobserved_messages": 0, "observations": 0, "reflections": 0},
    "notices": [],
}

_DIFF: dict[str, Any] = {
    "session": "s1",
    "from_version": 11,
    "to_version": 12,
    "entered": [
        {
            "kind": "observation",
            "id": 41,
            "version": 12,
            "why": "activated",
            "text": "Date: Aug 1, 2026\n* 🔴 (10:00) [fact] User moved to Lisbon. #81",
            "tokens": 26,
            "from_seq": 81,
            "to_seq": 120,
        }
    ],
    "left": [],
    "messages": {"entered": [{"from": 127, "to": 130}], "left": [{"from": 69, "to": 108}]},
}

EXAMPLES = {
    "getContext": Examples(answers={200: _COMPILED}),
    "diffContexts": Examples(answers={200: _DIFF}),
    "compileContext": Examples(requests=_REQUESTS, answers={200: _COMPILED}),
}
