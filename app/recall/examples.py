"""Examples for the OpenAPI document: a test sends each request and compares the answers."""

from typing import Any

from app.kit.openapi import Examples
from app.recall.tools import tools

_ASKED: dict[str, Any] = {
    "words": {"summary": "Search by words, in any language", "value": {"query": "Lisbon", "limit": 5}},
    "time": {
        "summary": "Messages from last May, each with its neighbours",
        "value": {"query": "the dentist last May", "kinds": ["messages"], "neighbours": 1},
    },
}
_HITS: dict[str, Any] = {
    "hits": [
        {
            "kind": "message",
            "session": "s1",
            "from_seq": 1,
            "to_seq": 1,
            "score": 0.7192,
            "text": "I moved to Lisbon",
            "role": "user",
            "name": None,
            "trust": "user",
            "created_at": "2026-08-01T10:00:00Z",
            "cites": [],
            "neighbours": [],
        }
    ]
}

_TOOLS = {"tools": tools("openai")}

EXAMPLES = {
    "recallSession": Examples(requests=_ASKED, answers={200: _HITS}),
    "listTools": Examples(answers={200: _TOOLS}),
    "recallResource": Examples(requests=_ASKED, answers={200: _HITS}),
}
