"""Anthropic's content blocks as neutral parts (anthropic SDK 2.12: types/*_block_param.py, types/beta/...).

| block | part |
|---|---|
| tool_use, and every *_tool_use | tool_call: input -> arguments |
| tool_result, and every *_tool_result | tool_result: tool_use_id -> tool_call_id, content -> output |
| thinking, redacted_thinking | reasoning: thinking -> text, signature; data of a redacted one is kept |
| image | image: source -> url, or data and media_type, or file_id |
| document, search_result, container_upload | file: the same; a text inside is ``content``; title -> name |
| compaction | text: content -> text |
| control blocks (a tool added, a listing ...) | text, empty: nothing was said, and nothing is lost |
"""

from collections.abc import Mapping
from typing import Any

from app.sessions.model import Part, PartType
from app.sessions.wire import neutral
from app.sessions.wire.fields import (
    Wire,
    WireError,
    identifier,
    mapping,
    optional_flag,
    optional_string,
    part,
    rest,
    shown,
    string,
)
from app.sessions.wire.neutral import Reader

PROVIDER = "anthropic"


def tool_use(raw: Wire, at: str) -> Part:
    return part(
        PartType.TOOL_CALL,
        raw,
        at,
        used={"type", "id", "name", "input"},
        id=identifier(raw, "id", at),
        name=identifier(raw, "name", at),
        arguments=mapping(raw, "input", at),
        **_native_unless("tool_use", raw),
    )


def tool_result(raw: Wire, at: str) -> Part:
    return part(
        PartType.TOOL_RESULT,
        raw,
        at,
        used={"type", "tool_use_id", "content", "is_error"},
        tool_call_id=identifier(raw, "tool_use_id", at),
        output=_output(raw, at),
        is_error=_is_error(raw, at),
        **_native_unless("tool_result", raw),
    )


def _output(raw: Wire, at: str) -> Any:
    content = raw.get("content")
    if isinstance(content, list):
        return neutral.nested(content, NESTED, f"{at}/content")
    if raw["type"] == "tool_result" and not isinstance(content, (str, type(None))):
        raise WireError(f"{at}/content", f"a string or a list of blocks is expected, not {shown(content)}")
    return "" if content is None else content


def _is_error(raw: Wire, at: str) -> bool | None:
    """The flag as sent; a server tool tells an error by its content's type (web_search_tool_result_error ...)."""
    content = raw.get("content")
    if isinstance(content, dict) and str(content.get("type")).endswith("_error"):
        return True
    return optional_flag(raw, "is_error", at)


def thinking(raw: Wire, at: str) -> Part:
    return part(
        PartType.REASONING,
        raw,
        at,
        used={"type", "thinking", "signature"},
        text=string(raw, "thinking", at),
        signature=optional_string(raw, "signature", at),
        provider=PROVIDER,
    )


def redacted_thinking(raw: Wire, at: str) -> Part:
    string(raw, "data", at)
    return part(PartType.REASONING, raw, at, used={"type"}, text="", **_native(raw))


def image(raw: Wire, at: str) -> Part:
    return part(PartType.IMAGE, raw, at, used={"type", "source"}, **_source(raw, at, IMAGE_SOURCES))


def document(raw: Wire, at: str) -> Part:
    title = optional_string(raw, "title", at)
    return part(PartType.FILE, raw, at, used={"type", "source", "title"}, name=title, **_source(raw, at, FILE_SOURCES))


# A source's type -> our fields and the source's fields they come from (types/*_source_param.py).
IMAGE_SOURCES: Mapping[str, Mapping[str, str]] = {
    "url": {"url": "url"},
    "base64": {"data": "data", "media_type": "media_type"},
    "file": {"file_id": "file_id"},
}
FILE_SOURCES = {
    **IMAGE_SOURCES,
    "text": {"content": "data", "media_type": "media_type"},
    "content": {"content": "content"},
}


def _source(raw: Wire, at: str, sources: Mapping[str, Mapping[str, str]]) -> Wire:
    """The neutral fields of a source; its other fields stay under ``source``."""
    source, at = mapping(raw, "source", at), f"{at}/source"
    kind = source.get("type")
    if not isinstance(kind, str) or kind not in sources:
        raise WireError(f"{at}/type", f"one of {', '.join(sources)} is expected, not {shown(kind)}")
    fields: Wire = {ours: _source_value(source, theirs, at) for ours, theirs in sources[kind].items()}
    return {**fields, "source": rest(source, {"type", *sources[kind].values()}) or None}


def _source_value(source: Wire, key: str, at: str) -> str | list[Any]:
    value = source.get(key)
    if key == "content" and isinstance(value, list):
        return neutral.nested(value, NESTED, f"{at}/{key}")
    return string(source, key, at)


def search_result(raw: Wire, at: str) -> Part:
    content = raw.get("content")
    if not isinstance(content, list):
        raise WireError(f"{at}/content", f"a list of blocks is expected, not {shown(content)}")
    return part(
        PartType.FILE,
        raw,
        at,
        used={"type", "source", "title", "content"},
        url=string(raw, "source", at),
        name=string(raw, "title", at),
        content=neutral.nested(content, NESTED, f"{at}/content"),
        **_native(raw),
    )


def container_upload(raw: Wire, at: str) -> Part:
    file_id = identifier(raw, "file_id", at)
    return part(PartType.FILE, raw, at, used={"type", "file_id"}, file_id=file_id, **_native(raw))


def compaction(raw: Wire, at: str) -> Part:
    text = optional_string(raw, "content", at) or ""
    return part(PartType.TEXT, raw, at, used={"type", "content"}, text=text, **_native(raw))


def control(raw: Wire, at: str) -> Part:
    return part(PartType.TEXT, raw, at, used={"type"}, text="", **_native(raw))


def by_suffix(kind: str) -> Reader | None:
    """The reader of a server tool's block: server_tool_use, web_search_tool_result, and future ones; else None."""
    if kind.endswith("_tool_use"):
        return tool_use
    return tool_result if kind.endswith("_tool_result") else None


PARTS: Mapping[str, Reader] = {
    "tool_use": tool_use,
    "thinking": thinking,
    "redacted_thinking": redacted_thinking,
    "document": document,
    "search_result": search_result,
    "container_upload": container_upload,
    "compaction": compaction,
    "browser_state": control,
    "fallback": control,
    "mcp_tool_listing": control,
    "tool_addition": control,
    "tool_reference": control,
    "tool_removal": control,
}
# Blocks inside a result or a document. Others (web_search_result, tool_reference ...) stay as they are: any JSON may be
# an output.
NESTED: Mapping[str, Reader] = {
    "text": neutral.text,
    "image": image,
    "document": document,
    "search_result": search_result,
}


def _native(raw: Wire) -> dict[str, str]:
    return {"provider": PROVIDER, "native": raw["type"]}


def _native_unless(usual: str, raw: Wire) -> dict[str, str]:
    return {} if raw["type"] == usual else _native(raw)
