"""Reads one field of a wire object: its value, or a WireError that says where and what was expected."""

import json
from collections.abc import Collection, Mapping
from typing import Any, NoReturn, TypeAlias

from app.sessions.model import Part, PartType

Wire: TypeAlias = dict[str, Any]

# The fields of each neutral type. A provider's own field of the same name would be overwritten, so it is
# refused; width and height are missing here because they mean the same wherever they come from.
NEUTRAL_FIELDS: Mapping[PartType, frozenset[str]] = {
    PartType.TEXT: frozenset({"text"}),
    PartType.TOOL_CALL: frozenset({"id", "name", "arguments"}),
    PartType.TOOL_RESULT: frozenset({"tool_call_id", "output", "is_error"}),
    PartType.REASONING: frozenset({"text", "signature"}),
    PartType.IMAGE: frozenset({"url", "data", "media_type", "file_id"}),
    PartType.FILE: frozenset({"url", "data", "media_type", "file_id", "name", "content"}),
}
OURS = frozenset({"type", "provider", "native", "arguments_json", "item_id"})
SHOWN_CHARS_MAX = 40


class WireError(ValueError):
    """A message that is not understood. ``pointer`` is a JSON pointer relative to the message, "" is its root."""

    def __init__(self, pointer: str, detail: str) -> None:
        super().__init__(pointer, detail)
        self.pointer = pointer
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.pointer or 'message'}: {self.detail}"


def shown(value: object) -> str:
    """The caller's value, short enough for an error text: a string in quotes, all else as JSON."""
    text = repr(value[:SHOWN_CHARS_MAX]) if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= SHOWN_CHARS_MAX else text[:SHOWN_CHARS_MAX] + "..."


def string(raw: Wire, key: str, at: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else refuse(raw, key, at, "a string")


def identifier(raw: Wire, key: str, at: str) -> str:
    return string(raw, key, at) or refuse(raw, key, at, "a string that is not empty")


def optional_string(raw: Wire, key: str, at: str) -> str | None:
    return None if raw.get(key) is None else string(raw, key, at)


def optional_flag(raw: Wire, key: str, at: str) -> bool | None:
    value = raw.get(key)
    return value if value is None or isinstance(value, bool) else refuse(raw, key, at, "true or false")


def mapping(raw: Wire, key: str, at: str) -> Wire:
    value = raw.get(key)
    return value if isinstance(value, dict) else refuse(raw, key, at, "an object")


def items(raw: Wire, key: str, at: str) -> list[Any]:
    value = raw.get(key)
    return value if isinstance(value, list) else refuse(raw, key, at, "a list")


def objects(raw: Wire, key: str, at: str) -> list[tuple[Wire, str]]:
    """The objects of a list, each with its pointer."""
    found = [(item, f"{at}/{key}/{index}") for index, item in enumerate(items(raw, key, at))]
    for item, pointer in found:
        if not isinstance(item, dict):
            raise WireError(pointer, f"an object is expected, not {shown(item)}")
    return found


def rest(raw: Wire, used: Collection[str]) -> Wire:
    """The fields of an object that are not ``used``."""
    return {key: value for key, value in raw.items() if key not in used}


def part(kind: PartType, raw: Wire, at: str, *, used: Collection[str], **fields: Any) -> Part:
    """A neutral part: ``fields`` (a None is left out), then the other fields of the provider's part.

    Raises WireError if one of these has a neutral name.
    """
    extra = rest(raw, used)
    for key in extra.keys() & (NEUTRAL_FIELDS[kind] | OURS):
        raise WireError(f"{at}/{key}", "unknown field, whose name Daybook reserves")
    return {"type": kind.value, **{key: value for key, value in fields.items() if value is not None}, **extra}


def refuse(raw: Wire, key: str, at: str, expected: str) -> NoReturn:
    """Raise WireError: what was ``expected`` under ``key`` of the object at the pointer ``at``."""
    found = f"not {shown(raw[key])}" if key in raw else "but the field is missing"
    raise WireError(f"{at}/{key}", f"{expected} is expected, {found}")
