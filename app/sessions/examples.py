"""Examples for the OpenAPI document: a test sends each request and compares the answers."""

from typing import Any

from app.kit.openapi import Examples
from app.kit.paging import next_cursor

_APPEND: dict[str, Any] = {
    "neutral": {
        "summary": "One turn",
        "value": {
            "messages": [
                {"id": "m-1", "role": "user", "content": "I moved to Lisbon", "created_at": "2026-08-01T10:00:00Z"},
                {
                    "id": "m-2",
                    "role": "assistant",
                    "content": "Noted. How do you like it there?",
                    "created_at": "2026-08-01T10:00:05Z",
                },
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
        "summary": "In the shape of the OpenAI chat SDK",
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

_PUT: dict[str, Any] = {
    "compact": {"summary": "A small memory", "value": {"config": {"preset": "compact"}, "metadata": {"plan": "pro"}}},
    "unset": {
        "summary": "Reset to the service's defaults",
        "value": {"config": {"preset": None}, "metadata": {"plan": None}},
    },
}

_PUT_RESOURCE: dict[str, Any] = {
    "said": {"summary": "Metadata of the resource", "value": {"metadata": {"plan": "pro"}}},
    "rules": {"summary": "The rules of a shared memory", "value": {"config": {"preset": "compact"}}},
}

_MEMORY: dict[str, Any] = {
    "status": "idle",
    "pending_tokens": 20,
    "observe_at": 16000,
    "observation_tokens": 0,
    "reflect_at": 20000,
}
_LISTED_MEMORY = _MEMORY | {"pending_seconds": 12, "last_error": None}

_STORED: dict[str, Any] = {
    "session": "s1",
    "messages": [
        {"id": "m-1", "seq": 1, "kind": "user_message", "tokens": 8},
        {"id": "m-2", "seq": 2, "kind": "assistant_message", "tokens": 12},
    ],
    "replayed": 0,
    "memory": _MEMORY,
}

_MESSAGE: dict[str, Any] = {
    "id": "m-1",
    "seq": 1,
    "kind": "user_message",
    "role": "user",
    "name": None,
    "content": [{"type": "text", "text": "I moved to Lisbon"}],
    "tokens": 8,
    "created_at": "2026-08-01T10:00:00Z",
    "metadata": {},
    "observe": True,
    "sealed": False,
    "trust": "user",
    "up_to_seq": None,
    "erased_at": None,
}

_SESSION: dict[str, Any] = {
    "session": "s1",
    "resource_id": "user-42",
    "parent": None,
    "last_seq": 2,
    "config": {"preset": "compact"},
    "metadata": {"plan": "pro"},
    "created_at": "2026-08-01T10:00:01Z",
    "last_active_at": "2026-08-01T10:00:06Z",
    "ended_at": None,
}
_RESOURCE: dict[str, Any] = {
    "resource_id": "user-42",
    "config": {},
    "metadata": {"plan": "pro"},
    "created_at": "2026-08-01T10:00:01Z",
    "updated_at": "2026-08-01T10:00:01Z",
}
_CONFIG: dict[str, Any] = {
    "number": 1,
    "changed_at": "2026-08-01T10:00:01Z",
    "from_seq": 1,
    "memory_version": 0,
    "config": {"preset": "compact"},
}
_BRANCH = _SESSION | {"session": "s1-again", "parent": {"key": "s1", "at_seq": 2}}
_NEW_SESSION = _SESSION | {"resource_id": None, "last_seq": 0, "last_active_at": "2026-08-01T10:00:01Z"}

_DELETED_ROWS = {
    "memories": 1,
    "memory_versions": 13,
    "session_cursors": 0,
    "observations": 12,
    "reflections": 1,
    "runs": 13,
    "spending": 1,
    "artifacts": 2,
    "message_terms": 200,
    "message_vectors": 0,
    "state_entries": 3,
    "facts": 2,
    "resources": 0,
    "messages": 200,
    "session_configs": 1,
    "sessions": 1,
}

EXAMPLES = {
    "appendMessages": Examples(requests=_APPEND, answers={201: _STORED, 200: _STORED | {"replayed": 2}}),
    "listMessages": Examples(
        answers={200: {"items": [_MESSAGE], "next_cursor": next_cursor(1, path="/sessions/trip/messages")}}
    ),
    "getMessage": Examples(answers={200: _MESSAGE}),
    "replaceMessage": Examples(
        requests={
            "streamed": {
                "summary": "A streamed turn has grown",
                "value": {"role": "user", "content": "I moved to Lisbon", "created_at": "2026-08-01T10:00:00Z"},
            }
        },
        answers={200: _MESSAGE},
    ),
    "putSession": Examples(requests=_PUT, answers={200: _SESSION, 201: _NEW_SESSION}),
    "listConfigs": Examples(answers={200: {"items": [_CONFIG], "next_cursor": None}}),
    "branchSession": Examples(
        requests={
            "newest": {"summary": "Copy the whole session", "value": {"key": "s1-again"}},
            "earlier": {"summary": "Copy up to a message", "value": {"key": "s1-earlier", "at_seq": 1}},
        },
        answers={201: _BRANCH},
    ),
    "deleteSession": Examples(answers={200: {"session": "s1", "rows": _DELETED_ROWS}}),
    "putResource": Examples(requests=_PUT_RESOURCE, answers={200: _RESOURCE, 201: _RESOURCE}),
    "getResource": Examples(answers={200: _RESOURCE}),
    "deleteResource": Examples(
        answers={200: {"resource_id": "user-42", "sessions": 1, "rows": _DELETED_ROWS | {"resources": 1}}}
    ),
    "endSession": Examples(answers={200: _SESSION | {"ended_at": "2026-08-01T11:00:00Z"}}),
    "getSession": Examples(answers={200: _SESSION}),
    "listSessions": Examples(answers={200: {"items": [_SESSION | {"memory": _LISTED_MEMORY}], "next_cursor": None}}),
}
