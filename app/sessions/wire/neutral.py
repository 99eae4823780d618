"""Checks Daybook's own parts, and keeps them exactly as they came (api.md, Messages; fields: see PartType)."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from app.sessions.model import Part, PartType
from app.sessions.wire.fields import (
    NEUTRAL_FIELDS,
    Wire,
    WireError,
    identifier,
    optional_flag,
    optional_string,
    shown,
    string,
)

Reader: TypeAlias = Callable[[Wire, str], Part]

IMAGE_SOURCES = ("url", "data", "file_id")
FILE_SOURCES = (*IMAGE_SOURCES, "content")


def text(raw: Wire, at: str) -> Part:
    string(raw, "text", at)
    return raw


def tool_call(raw: Wire, at: str) -> Part:
    identifier(raw, "id", at)
    identifier(raw, "name", at)
    if not isinstance(raw.get("arguments"), (dict, str)):
        raise WireError(f"{at}/arguments", "an object is expected, or the text as the model wrote it if it is not JSON")
    return raw


def tool_result(raw: Wire, at: str) -> Part:
    identifier(raw, "tool_call_id", at)
    optional_flag(raw, "is_error", at)
    if "output" not in raw:
        raise WireError(f"{at}/output", "a string, any JSON or a list of parts is expected, but the field is missing")
    return raw


def reasoning(raw: Wire, at: str) -> Part:
    string(raw, "text", at)
    optional_string(raw, "signature", at)
    return raw


def image(raw: Wire, at: str) -> Part:
    return _sourced(PartType.IMAGE, IMAGE_SOURCES, raw, at)


def file(raw: Wire, at: str) -> Part:
    if not isinstance(raw.get("content"), (str, list, type(None))):
        raise WireError(f"{at}/content", f"a string or a list of parts is expected, not {shown(raw['content'])}")
    return _sourced(PartType.FILE, FILE_SOURCES, raw, at)


def _sourced(kind: PartType, sources: tuple[str, ...], raw: Wire, at: str) -> Part:
    if all(raw.get(key) is None for key in sources):
        raise WireError(at, f"one of {', '.join(sources)} is expected")
    for key in NEUTRAL_FIELDS[kind] - {"content"}:
        optional_string(raw, key, at)
    return raw


def nested(blocks: list[Any], readers: Mapping[str, Reader], at: str) -> list[Any]:
    """Blocks within a result or a document: parts if their type has a reader, else any JSON, as it is."""
    return [_nested(block, readers, f"{at}/{index}") for index, block in enumerate(blocks)]


def _nested(block: Any, readers: Mapping[str, Reader], at: str) -> Any:
    kind = block.get("type") if isinstance(block, dict) else None
    read = readers.get(kind) if isinstance(kind, str) else None
    return read(block, at) if read else block


PARTS: Mapping[str, Reader] = {
    PartType.TEXT.value: text,
    PartType.TOOL_CALL.value: tool_call,
    PartType.TOOL_RESULT.value: tool_result,
    PartType.REASONING.value: reasoning,
    PartType.IMAGE.value: image,
    PartType.FILE.value: file,
}
