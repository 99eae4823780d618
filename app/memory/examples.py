"""Examples for the OpenAPI document: a test sends each request and compares the answers."""

from typing import Any

from app.kit.openapi import Examples

_TEXT = "Date: Aug 1, 2026\n* 🔴 (10:00) [fact] User moved to Lisbon. #81"
_LINE = {
    "text": "User moved to Lisbon.",
    "day": "Aug 1, 2026",
    "time": "10:00",
    "priority": "🔴",
    "tag": "fact",
    "cites": [[81, 81]],
}

OBSERVATION: dict[str, Any] = {
    "id": 41,
    "status": "active",
    "text": _TEXT,
    "items": [_LINE],
    "tokens": 26,
    "message_tokens": 8000,
    "place": 81,
    "from_seq": 81,
    "to_seq": 120,
    "session": "s1",
    "born_version": 12,
    "retired_version": None,
    "retired_by": None,
    "created_at": "2026-08-01T10:05:00Z",
}

REFLECTION: dict[str, Any] = {
    "id": 3,
    "level": 1,
    "generation": 1,
    "status": "active",
    "text": "Date: Jul 2, 2026\n* 🔴 [preference] User likes small towns. #12",
    "items": [
        {
            "text": "User likes small towns.",
            "day": "Jul 2, 2026",
            "priority": "🔴",
            "tag": "preference",
            "cites": [[12, 12]],
        }
    ],
    "tokens": 22,
    "source_tokens": 52000,
    "from_seq": 1,
    "to_seq": 80,
    "session": "s1",
    "sources": [38, 39, 40],
    "born_version": 11,
    "retired_version": None,
    "retired_by": None,
    "created_at": "2026-07-31T18:20:00Z",
}


def _edited(note: dict[str, Any], line: str) -> Examples:
    """An edit of ``note``: its one line gets another text; mark, time, tag and citation stay."""
    said = note["items"][0]
    text = note["text"].replace(said["text"], line)
    edited = note | {"id": note["id"] + 1, "text": text, "items": [said | {"text": line}], "born_version": 13}
    request = {"one": {"summary": "Correct the place", "value": {"text": text}}}
    return Examples(requests=request, answers={200: edited})


_DELETED = Examples(answers={200: {"session": "s1", "version": 13, "retired": 1}})

_ERASED: dict[str, Any] = {
    "session": "s1",
    "id": "m-1",
    "seq": 1,
    "sessions": ["s1", "s1-again"],
    "rows": {"messages": 2, "observations": 3, "reflections": 1, "memory_versions": 4, "runs": 1, "facts": 1},
    "rebuilding": True,
}

_COMPACTED: dict[str, Any] = {
    "session": "s1",
    "version": 13,
    "up_to_seq": 120,
    "summary": {
        "id": "0b9d6f3f6f0c4a53a8c1b1f0c1f7c2de",
        "seq": 201,
        "kind": "summary",
        "role": "user",
        "name": None,
        "content": [{"type": "text", "text": "The user moved to Lisbon and looks for a flat in Alfama."}],
        "tokens": 35,
        "created_at": "2026-08-01T10:05:00Z",
        "metadata": {},
        "observe": False,
        "sealed": False,
        "trust": "operator",
        "up_to_seq": 120,
        "erased_at": None,
    },
}
_COMPACT: dict[str, Any] = {
    "given": {
        "summary": "With the caller's own summary",
        "value": {"up_to_seq": 1, "summary": "The user moved to Lisbon and looks for a flat in Alfama."},
    },
}

EXAMPLES = {
    "compactSession": Examples(requests=_COMPACT, answers={200: _COMPACTED}),
    "editObservation": _edited(OBSERVATION, "User moved to Porto."),
    "deleteMessage": Examples(answers={200: _ERASED}),
    "deleteObservation": _DELETED,
    "deleteObservations": _DELETED,
    "editReflection": _edited(REFLECTION, "User likes large towns."),
    "deleteReflection": _DELETED,
    "deleteReflections": _DELETED,
}
