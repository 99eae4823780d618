"""Examples for the OpenAPI document: a test sends each request and compares the answers."""

from typing import Any

from app.artifacts.model import handle
from app.kit.openapi import Examples

_ARTIFACT: dict[str, Any] = {
    "session": "s1",
    "name": "report.csv",
    "version": 1,
    "handle": handle("s1", "report.csv", 1),
    "media_type": "text/csv",
    "size": 26,
    "sha256": "c4e7f0d2a0a9d4f5e5b8f4f0d9c3a1b2e6d7c8f9a0b1c2d3e4f5061728394a5b",
    "created_at": "2026-08-01T10:00:00Z",
}
_PAGE = {"items": [_ARTIFACT], "next_cursor": None}

_CSV = "city,people\nLisbon,545000\n"
_PUT: dict[str, Any] = {"csv": {"summary": "A table", "value": _CSV}}

_GREP: dict[str, Any] = {
    "one": {"summary": "Find the lines about Lisbon", "value": {"pattern": "^Lisbon,", "neighbours": 1}}
}
_FOUND: dict[str, Any] = {
    "session": "s1",
    "name": "report.csv",
    "version": 1,
    "handle": handle("s1", "report.csv", 1),
    "matches": [{"line": 2, "text": "Lisbon,545000", "before": ["city,people"], "after": []}],
    "truncated": False,
}

EXAMPLES = {
    "putArtifact": Examples(requests=_PUT, answers={200: _ARTIFACT, 201: _ARTIFACT}),
    "getArtifact": Examples(answers={200: _CSV, 206: "Lisbon"}),
    "listArtifacts": Examples(answers={200: _PAGE}),
    "listArtifactVersions": Examples(answers={200: _PAGE}),
    "grepArtifact": Examples(requests=_GREP, answers={200: _FOUND}),
    "deleteArtifact": Examples(answers={200: {"session": "s1", "name": "report.csv", "deleted": 1}}),
}
