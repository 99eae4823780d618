"""Examples for the OpenAPI document: a test sends each request and compares the answers."""

from typing import Any

from app.kit.openapi import Examples

STATE: dict[str, Any] = {"city": "Lisbon", "user:name": "Ana", "app:brand": "Acme"}

_PATCH: dict[str, Any] = {
    "set": {"summary": "Set some values", "value": STATE},
    "delete": {"summary": "Delete a value", "value": {"cart": None}},
}
_PUT: dict[str, Any] = {
    "text": {"summary": "A text", "value": "Lisbon"},
    "object": {"summary": "An object", "value": {"name": "Ana", "city": "Lisbon"}},
}
_LINT: dict[str, Any] = {
    "session": {
        "summary": "Check against a session's state",
        "value": {"template": "You help customers of {app:brand}. Your tone is {user:tone}.", "session": "s1"},
    },
    "system": {
        "summary": "Without a session",
        "value": {"system": ["You help {user:name|the customer}.", "Be brief."]},
    },
}


def _finding(severity: str, code: str, message: str, position: int) -> dict[str, Any]:
    return {"text": 0, "position": position, "severity": severity, "code": code, "message": message}


def _cached(name: str, position: int) -> dict[str, Any]:
    message = (
        f"the value of '{name}' is stored and is part of the cached prefix here:"
        " each change of it breaks the provider's cache from here on"
    )
    return _finding("warning", "cached-value", message, position)


_LINTED: dict[str, Any] = {
    "names": {"session": [], "user": ["user:tone"], "app": ["app:brand"], "temp": [], "artifact": []},
    "volatile_from": {"text": 0, "position": 22},
    "findings": [
        _cached("app:brand", 22),
        _finding("error", "unknown-name", "'user:tone' has no value", 48),
        _cached("user:tone", 48),
    ],
    "omitted": 0,
}

EXAMPLES = {
    "getState": Examples(answers={200: STATE}),
    "patchState": Examples(requests=_PATCH, answers={200: STATE}),
    "getStateValue": Examples(answers={200: "Lisbon"}),
    "putStateValue": Examples(requests=_PUT, answers={200: "Lisbon", 201: "Lisbon"}),
    "deleteStateValue": Examples(answers={200: {"user:name": "Ana", "app:brand": "Acme"}}),
    "lintTemplate": Examples(requests=_LINT, answers={200: _LINTED}),
}
