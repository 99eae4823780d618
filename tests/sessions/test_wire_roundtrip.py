"""The convention of message.py loses nothing: the plainest renderers give back what came, part by part."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kit.json import dumps
from app.sessions.model import Part, PartType
from app.sessions.wire import normalise

TRANSCRIPTS = Path(__file__).parents[3] / "shared/data/tools/conversations.jsonl"
OURS = {"type", "provider", "native"}
USUAL = {"text": "text", "tool_call": "tool_use", "tool_result": "tool_result", "image": "image", "file": "document"}


def beside(part: Part, *fields: str) -> dict[str, Any]:
    return {key: value for key, value in part.items() if key not in {*OURS, *fields}}


def as_anthropic(part: Any) -> dict[str, Any]:
    """One block of Anthropic's from its neutral part."""
    if part.get("type") not in USUAL and part.get("type") != "reasoning":
        return dict(part)
    kind = part.get("native") or USUAL.get(part["type"], "thinking")
    return {"type": kind, **anthropic_fields(part, kind)}


def anthropic_fields(part: Part, kind: str) -> dict[str, Any]:
    match PartType(part["type"]):
        case PartType.TOOL_CALL:
            return {"input": part["arguments"], **beside(part, "arguments")}
        case PartType.TOOL_RESULT:
            own = () if kind in ("tool_result", "mcp_tool_result") else ("is_error",)
            output = part["output"]
            content = [as_anthropic(block) for block in output] if isinstance(output, list) else output
            return {
                "tool_use_id": part["tool_call_id"],
                "content": content,
                **beside(part, "tool_call_id", "output", *own),
            }
        case PartType.REASONING:
            return beside(part, "text") if "native" in part else {"thinking": part["text"], **beside(part, "text")}
        case PartType.TEXT if kind == "compaction":
            return {"content": part["text"], **beside(part, "text")}
        case PartType.TEXT:
            return beside(part) if kind == "text" else beside(part, "text")
        case _:
            return anthropic_file(part, kind)


def anthropic_file(part: Part, kind: str) -> dict[str, Any]:
    content = part.get("content")
    blocks = [as_anthropic(block) for block in content] if isinstance(content, list) else content
    if kind == "search_result":
        return {
            "source": part["url"],
            "title": part["name"],
            "content": blocks,
            **beside(part, "url", "name", "content"),
        }
    if kind == "container_upload":
        return beside(part)
    media = {"media_type": part.get("media_type")}
    source: dict[str, Any]
    if "url" in part:
        source = {"type": "url", "url": part["url"]}
    elif "file_id" in part:
        source = {"type": "file", "file_id": part["file_id"]}
    elif "data" in part:
        source = {"type": "base64", "data": part["data"], **media}
    else:
        source = (
            {"type": "text", "data": blocks, **media}
            if "media_type" in part
            else {"type": "content", "content": blocks}
        )
    title = {"title": part["name"]} if "name" in part else {}
    rest = beside(part, "url", "file_id", "data", "media_type", "content", "name", "source")
    return {"source": {**source, **part.get("source", {})}, **title, **rest}


def as_chat(role: str, parts: list[Part]) -> dict[str, Any]:
    """A chat message from neutral parts, its content a list."""
    if role == "tool":
        return {"role": "tool", "tool_call_id": parts[0]["tool_call_id"], "content": parts[0]["output"]}
    calls = [chat_call(part) for part in parts if part["type"] == "tool_call"]
    content = [chat_part(part) for part in parts if part["type"] != "tool_call"]
    return {"role": role, "content": content, "tool_calls": calls}


def chat_call(part: Part) -> dict[str, Any]:
    fields = beside(part, "id", "name", "arguments", "arguments_json", "function", "custom")
    if part.get("native") == "custom":
        custom = {"name": part["name"], "input": part["arguments"], **part.get("custom", {})}
        return {"id": part["id"], "type": "custom", "custom": custom, **fields}
    arguments = part["arguments"]
    sent = part.get("arguments_json", arguments if isinstance(arguments, str) else dumps(arguments).decode())
    function = {"name": part["name"], "arguments": sent, **part.get("function", {})}
    return {"id": part["id"], "type": "function", "function": function, **fields}


def chat_part(part: Part) -> dict[str, Any]:
    match part:
        case {"native": "refusal"}:
            return {"type": "refusal", "refusal": part["text"], **beside(part, "text")}
        case {"native": "input_audio"}:
            audio = {"data": part["data"], "format": part["media_type"].removeprefix("audio/")}
            rest = beside(part, "data", "media_type", "input_audio")
            return {"type": "input_audio", "input_audio": {**audio, **part.get("input_audio", {})}, **rest}
        case {"type": "image"}:
            image = {"url": chat_url(part), **part.get("image_url", {})}
            return {"type": "image_url", "image_url": image, **beside(part, "url", "data", "media_type", "image_url")}
        case {"type": "file"}:
            names = {"file_id": "file_id", "name": "filename", "url": "file_url"}
            file = {theirs: part[ours] for ours, theirs in names.items() if ours in part}
            data = {"file_data": chat_url(part)} if "data" in part else {}
            rest = beside(part, "data", "media_type", "file", *names)
            return {"type": "file", "file": {**file, **data, **part.get("file", {})}, **rest}
        case _:
            return {"type": "text", **beside(part)}


def chat_url(part: Part) -> Any:
    return (
        f"data:{part['media_type']};base64,{part['data']}"
        if "media_type" in part
        else part.get("url", part.get("data"))
    )


EXTRA = st.dictionaries(st.sampled_from(["cache_control", "citations", "x", "tokens"]), st.none() | st.integers(0, 9))
TEXT = st.text("ab{}\\\"'é漢😀 \n", max_size=8)
ID = st.text("abc_-1", min_size=1, max_size=4)
DATA = st.binary(max_size=4).map(lambda data: base64.b64encode(data).decode())
MEDIA = st.sampled_from(["image/png", "application/pdf", "text/plain"])
JSON = st.dictionaries(TEXT, st.integers(-(2**63), 2**64 - 1) | TEXT, max_size=2)


def blocks(kind: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    given_fields = st.fixed_dictionaries({"type": st.just(kind), **fields})
    return st.builds(lambda extra, block: {**extra, **block}, EXTRA, given_fields)


SOURCE = (
    blocks("url", url=TEXT) | blocks("base64", data=DATA, media_type=MEDIA) | blocks("file", file_id=ID)
)  # fmt: skip
TEXTS = st.lists(blocks("text", text=TEXT), max_size=2)
DOCUMENT_SOURCE = SOURCE | blocks("text", data=TEXT, media_type=MEDIA) | blocks("content", content=TEXT | TEXTS)
NESTED = st.lists(
    blocks("text", text=TEXT)
    | blocks("image", source=SOURCE)
    | blocks("document", source=DOCUMENT_SOURCE)
    | blocks("tool_reference", tool_name=TEXT),
    max_size=3,
)
ANTHROPIC = (
    blocks("text", text=TEXT)
    | blocks("thinking", thinking=TEXT, signature=TEXT)
    | blocks("redacted_thinking", data=DATA)
    | blocks("tool_use", id=ID, name=ID, input=JSON)
    | blocks("server_tool_use", id=ID, name=ID, input=JSON)
    | blocks("tool_result", tool_use_id=ID, content=TEXT | NESTED)
    | blocks("tool_result", tool_use_id=ID, content=TEXT, is_error=st.booleans())
    | blocks("mcp_tool_result", tool_use_id=ID, content=NESTED, is_error=st.booleans())
    | blocks("bash_code_execution_tool_result", tool_use_id=ID, content=blocks("a_result") | blocks("an_error"))
    | blocks("image", source=SOURCE)
    | blocks("document", source=DOCUMENT_SOURCE, title=TEXT)
    | blocks("search_result", source=TEXT, title=TEXT, content=TEXTS)
    | blocks("container_upload", file_id=ID)
    | blocks("compaction", content=TEXT)
    | blocks("tool_addition", tool=JSON)
)


@given(ANTHROPIC)
def test_an_anthropic_block_can_be_given_back(block: dict[str, Any]) -> None:
    (part,) = normalise({"role": "assistant", "content": [block]}).parts

    assert as_anthropic(part) == block


URL = st.builds("data:{};base64,{}".format, MEDIA, DATA) | TEXT.map("https://example.org/{}".format)
CHAT_PART = (
    blocks("text", text=TEXT)
    | blocks("refusal", refusal=TEXT)
    | blocks("image_url", image_url=st.fixed_dictionaries({"url": URL}, optional={"detail": TEXT}))
    | blocks("input_audio", input_audio=st.fixed_dictionaries({"data": DATA, "format": ID}, optional={"y": ID}))
    | blocks("file", file=st.fixed_dictionaries({"file_data": URL | DATA}, optional={"filename": TEXT, "y": ID}))
    | blocks("file", file=st.fixed_dictionaries({"file_id": ID}))
)
FUNCTION = st.fixed_dictionaries({"name": ID, "arguments": TEXT | JSON.map(json.dumps)}, optional={"y": ID})
CHAT_CALL = blocks("function", id=ID, function=FUNCTION) | blocks(
    "custom", id=ID, custom=st.fixed_dictionaries({"name": ID, "input": TEXT}, optional={"y": ID})
)


@given(st.lists(CHAT_PART, max_size=3), st.lists(CHAT_CALL, max_size=2))
def test_an_openai_chat_message_can_be_given_back(content: list[Any], calls: list[Any]) -> None:
    message = {"role": "assistant", "content": content, "tool_calls": calls}

    assert as_chat("assistant", list(normalise(message).parts)) == message


def transcripts() -> list[dict[str, Any]]:
    if not TRANSCRIPTS.exists():
        pytest.skip("shared/data/tools is not here")
    return [json.loads(line) for line in TRANSCRIPTS.read_text(encoding="utf-8").splitlines()]


def test_the_blocks_of_recorded_anthropic_traffic_can_be_given_back() -> None:
    recorded = [message for line in transcripts() if line["format"] == "anthropic" for message in line["messages"]]

    for raw in recorded:
        content = raw["content"]
        said = [content] if isinstance(content, str) and content else content
        sent = [{"type": "text", "text": block} if isinstance(block, str) else block for block in said]
        given_back = [as_anthropic(part) for part in normalise(raw).parts]
        assert given_back == sent


def test_the_messages_of_recorded_openai_traffic_can_be_given_back() -> None:
    recorded = [message for line in transcripts() if line["format"] == "openai" for message in line["messages"]]

    for raw in recorded:
        message = normalise(raw)
        content = raw.get("content") or []
        said = [{"type": "text", "text": content}] if isinstance(content, str) else content
        sent = {"content": said, "tool_calls": raw.get("tool_calls") or []}
        if message.role == "tool":
            sent = {"tool_call_id": raw["tool_call_id"], "content": content or ""}
        assert as_chat(message.role, list(message.parts)) == {"role": message.role, **sent}
