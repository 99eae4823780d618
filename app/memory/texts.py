"""The texts of a message's parts: all of them, to search and to compare, or a tool's value as it is shown. Pure."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from app.sessions.files import file_content, inline_bytes, is_data_url, without_bytes
from app.sessions.model import Part, PartType

MEDIA = frozenset({PartType.IMAGE, PartType.FILE, "audio", "document", "image_url", "input_file", "input_image"})
WITH_BYTES = (PartType.IMAGE, PartType.FILE, "audio", "base64")  # types of JSON objects whose ``data`` are bytes
READ_LEVELS = 6  # levels of an output that are searched for unreadable data


def all_text(parts: Iterable[Part]) -> str:
    """All text of the parts, of calls and results too, but not of the model's reasoning."""
    return "\n".join(text for part in parts for text in texts_of(part))


def texts_of(part: Part) -> Iterator[str]:
    """Every text in a part."""
    return _texts(_said(part))


def _said(part: Part) -> tuple[Any, ...]:
    match part.get("type"):
        case PartType.TEXT:
            return (part.get("text"),)
        case PartType.TOOL_CALL:
            return (part.get("name"), part.get("arguments"))
        case PartType.TOOL_RESULT:
            return (part.get("output"),)
        case PartType.IMAGE:
            return (part.get("url"), part.get("name"))
        case PartType.FILE:
            return (file_content(part), part.get("url"), part.get("name"))
    return ()


def _texts(values: Sequence[Any]) -> Iterator[str]:
    """Every string, number and key in JSON values, each as a text of its own; bytes only if they are text."""
    pending = list(values)
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            value = _without_bytes(value)
            pending += [*value, *value.values()]
        elif isinstance(value, list | tuple):
            pending += value
        elif value is not None and not (is_data_url(value) and " " not in value):
            yield str(value)


def _without_bytes(value: dict[str, Any]) -> dict[str, Any]:
    """The object with what its bytes say as its ``data``. Base64 has no blanks: other data stay."""
    _, data = inline_bytes(value)
    if value.get("type") not in WITH_BYTES or not isinstance(data, str) or " " in data:
        return value
    return {**without_bytes(value), "data": file_content({**value, "content": None})}


def value_text(value: Any) -> str:
    """A tool's arguments or output as text: a string as it is, a list of parts each as its own, else JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(one, dict) and "type" in one for one in value):
        return "\n".join(map(_part_text, value))
    return json.dumps(_readable(value), ensure_ascii=False)


def _part_text(part: dict[str, Any]) -> str:
    """A part of a tool's output: its text, a label for an image or a file, else its JSON, as of a web search.

    What a file says follows its label.
    """
    if "text" in part:
        return str(part["text"])
    source = part.get("source")
    if part["type"] not in MEDIA or (isinstance(source, dict) and source.get("type") == "text"):
        return json.dumps(_readable(part), ensure_ascii=False)
    names = (part[key] for key in ("title", "name", "filename", "media_type") if isinstance(part.get(key), str))
    label, content = f"[{' '.join((str(part['type']), *names))}]", file_content(part)
    return label if content is None else f"{label}\n{value_text(content)}"


def _readable(value: Any, levels: int = READ_LEVELS) -> Any:
    """The value without encrypted fields, which only its provider can read, and without bytes."""
    if not levels:
        return value
    if isinstance(value, list):
        return [_readable(one, levels - 1) for one in value]
    if not isinstance(value, dict):
        return value
    unread = {"data"} if value.get("type") == "base64" else set()
    told = {key: one for key, one in value.items() if key not in unread and not key.startswith("encrypted_")}
    return {key: _readable(one, levels - 1) for key, one in told.items()}
