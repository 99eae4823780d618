"""Examples for the OpenAPI document: a test sends each request and compares the answers."""

from typing import Any

from app.kit.openapi import Examples

_FACT: dict[str, Any] = {
    "id": 7,
    "resource_id": "user-42",
    "text": "User prefers a window seat.",
    "category": "preference",
    "trust": "operator",
    "author": "caller",
    "sources": [{"session": "s1", "from_seq": 12, "to_seq": 14, "cites": [12, 14], "observations": []}],
    "valid_from": "2026-08-01T10:00:00Z",
    "valid_to": None,
    "replaced_by": None,
    "created_at": "2026-08-01T10:00:06Z",
    "updated_at": "2026-08-01T10:00:06Z",
}
_ADD: dict[str, Any] = {
    "preference": {
        "summary": "A preference known from elsewhere",
        "value": {"text": "User prefers a window seat.", "category": "preference"},
    },
    "while": {
        "summary": "A fact that held for a limited time",
        "value": {
            "text": "User lives in Porto.",
            "category": "profile",
            "valid_from": "2020-05-01T00:00:00Z",
            "valid_to": "2026-07-20T00:00:00Z",
        },
    },
}
_EDIT: dict[str, Any] = {
    "words": {"summary": "Change the wording", "value": {"text": "User prefers an aisle seat."}},
    "ended": {"summary": "End the fact at a time", "value": {"valid_to": "2030-01-01T00:00:00Z"}},
}
_DELETED = {"resource_id": "user-42", "deleted": 1}

EXAMPLES = {
    "listFacts": Examples(answers={200: {"items": [_FACT], "next_cursor": None}}),
    "appendFact": Examples(requests=_ADD, answers={200: _FACT, 201: _FACT}),
    "getFact": Examples(answers={200: _FACT}),
    "editFact": Examples(requests=_EDIT, answers={200: _FACT}),
    "deleteFact": Examples(answers={200: _DELETED}),
    "deleteFacts": Examples(answers={200: _DELETED}),
}
