"""OpenAI's chat messages as neutral parts (openai SDK 3.54: types/chat/*_message_param.py).

| of the message | part |
|---|---|
| content parts image_url, input_audio, file, refusal | image, file (data is base64), file, text |
| tool_calls, function_call | tool_call; see ``arguments_fields`` |
| a message with tool_call_id, or of role function | one tool_result: content -> output |
| of Ollama: tool_calls without id, a message with tool_name | the same, paired by name as Gemini's are |
| images, of Ollama, OpenRouter and LiteLLM | image |
| refusal, audio | text, file (transcript -> content) |
| annotations | a field of the first text part |
| ASSISTANT_FIELDS, not of an assistant | refused |
| REASONED of compatible servers, Ollama, Cohere and LiteLLM; a part thinking that is a list, of Mistral | reasoning |
"""

from collections.abc import Mapping
from typing import Any

import orjson

from app.sessions.model import Part, PartType
from app.sessions.wire import gemini
from app.sessions.wire.fields import (
    Wire,
    WireError,
    identifier,
    items,
    mapping,
    objects,
    optional_string,
    part,
    rest,
    shown,
    string,
)
from app.sessions.wire.neutral import Reader
from app.sessions.wire.storable import first_flaw

PROVIDER, MISTRAL = "openai", "mistral"
FILE_FIELDS = ("file_data", "file_id", "file_url", "filename")
DATA_URL, BASE64 = "data:", ";base64,"
REASONED = ("reasoning_content", "reasoning", "thinking", "tool_plan")


def data_url(url: str) -> Wire | None:
    """``data:image/png;base64,iVBO`` as data and media_type; None if it is not exactly of that form."""
    head, found, data = url.partition(BASE64)
    media_type = head.removeprefix(DATA_URL)
    return {"data": data, "media_type": media_type} if found and media_type not in ("", head) else None


def image_url(raw: Wire, at: str) -> Part:
    """The usual object, or the bare URL that many clients send."""
    if isinstance(raw.get("image_url"), str):
        return part(PartType.IMAGE, raw, at, used={"type", "image_url"}, **_url_fields(raw["image_url"]))
    image = mapping(raw, "image_url", at)
    fields = _url_fields(string(image, "url", f"{at}/image_url"))
    more = rest(image, {"url"}) or None
    return part(PartType.IMAGE, raw, at, used={"type", "image_url"}, **fields, image_url=more)


def _url_fields(url: str) -> Wire:
    return data_url(url) or {"url": url}


def input_audio(raw: Wire, at: str) -> Part:
    audio, inside = mapping(raw, "input_audio", at), f"{at}/input_audio"
    return part(
        PartType.FILE,
        raw,
        at,
        used={"type", "input_audio"},
        data=string(audio, "data", inside),
        media_type=f"audio/{identifier(audio, 'format', inside)}",
        input_audio=rest(audio, {"data", "format"}) or None,
        **_native("input_audio"),
    )


def file(raw: Wire, at: str) -> Part:
    inside = mapping(raw, "file", at)
    fields = file_fields(inside, f"{at}/file")
    more = rest(inside, FILE_FIELDS) or None
    return part(PartType.FILE, raw, at, used={"type", "file"}, **fields, file=more)


def file_fields(raw: Wire, at: str) -> Wire:
    """Neutral fields of OpenAI's FILE_FIELDS. Data that is not a data URL is kept without a media_type."""
    data, file_id, url, name = (optional_string(raw, key, at) for key in FILE_FIELDS)
    if data is None and file_id is None and url is None:
        raise WireError(at, "a file must have file_data, a file_id or a file_url")
    held = {} if data is None else data_url(data) or {"data": data}
    return {**held, "file_id": file_id, "url": url, "name": name}


def refusal(raw: Wire, at: str) -> Part:
    text = string(raw, "refusal", at)
    return part(PartType.TEXT, raw, at, used={"type", "refusal"}, text=text, **_native("refusal"))


def thinking(raw: Wire, at: str) -> Part:
    """Mistral's thinking, a list of texts; references in it are left out."""
    texts = [string(block, "text", inside) for block, inside in objects(raw, "thinking", at) if "text" in block]
    return part(
        PartType.REASONING,
        raw,
        at,
        used={"type", "thinking", "signature"},
        text="".join(texts),
        signature=optional_string(raw, "signature", at),
        provider=MISTRAL,
    )


def images(raw: Wire) -> list[Part]:
    """The images beside the content: base64 for Ollama, or image_url objects that a model drew."""
    sent = [] if raw.get("images") is None else items(raw, "images", "")
    return [_image(image, f"/images/{index}") for index, image in enumerate(sent)]


def _image(raw: Any, at: str) -> Part:
    told = {"url": raw} if isinstance(raw, str) else raw
    if isinstance(told, dict) and "image_url" in told:
        return {**image_url({**told, "type": "image_url"}, at), **_native("images")}
    if not isinstance(told, dict) or "url" not in told:
        raise WireError(at, f"base64, or an object with an image_url or a url, is expected, not {shown(raw)}")
    url = string(told, "url", at)
    fields = _url_fields(url) if ":" in url else {"data": url}
    return {**part(PartType.IMAGE, told, at, used={"url"}, **fields), **_native("images")}


PARTS: Mapping[str, Reader] = {"image_url": image_url, "input_audio": input_audio, "refusal": refusal}


def tool_result(raw: Wire, output: str | list[Part]) -> Part:
    """The one part of a tool message. ``output`` is its content: the string, or the parts of the list."""
    if raw.get("role") == "function":
        call_id = function_call_id(identifier(raw, "name", ""))
        return {"type": "tool_result", "tool_call_id": call_id, "output": output, **_native("function_call")}
    if raw.get("tool_call_id") is None:
        call_id = gemini.numbering()("result", identifier(raw, "tool_name", ""))
    else:
        call_id = identifier(raw, "tool_call_id", "")
    return {"type": "tool_result", "tool_call_id": call_id, "output": output}


def function_call_id(name: str) -> str:
    """An id for a legacy function_call, which has none: call and result are paired by the function's name."""
    return f"function:{name}"


def assistant_parts(raw: Wire, said: list[Part]) -> list[Part]:
    """The parts of an assistant's message: reasoning, content, and then what stands beside the content."""
    called = {part["id"] for part in said if part["type"] == PartType.TOOL_CALL}  # LangChain has a call in both places
    calls = [call for call in _calls(raw) if call["id"] not in called]
    return [*_reasoning(raw), *_annotated(raw, said), *_beside(raw), *calls]


ASSISTANT_FIELDS = ("tool_calls", "function_call", "refusal", "audio", *REASONED)


def _reasoning(raw: Wire) -> list[Part]:
    """The reasoning, also if empty beside calls: a server that wants the reasoning behind a call wants the field."""
    held = [key for key in REASONED if raw.get(key) or (raw.get(key) == "" and raw.get("tool_calls"))]
    parts: list[Part] = [{"type": "reasoning", "text": string(raw, key, ""), **_native(key)} for key in held]
    details = [key for key in ("reasoning_details", "thinking_blocks") if raw.get(key)]
    return parts + [{"type": "reasoning", "text": "", **_native(key), "details": raw[key]} for key in details]


def _annotated(raw: Wire, said: list[Part]) -> list[Part]:
    notes = raw.get("annotations")
    if not notes or not said or said[0]["type"] != PartType.TEXT:
        return said
    return [{**said[0], "annotations": notes}, *said[1:]]


def _beside(raw: Wire) -> list[Part]:
    parts: list[Part] = []
    if raw.get("refusal"):
        parts.append({"type": "text", "text": string(raw, "refusal", ""), **_native("refusal")})
    if raw.get("audio") is not None:
        parts.append(_audio(mapping(raw, "audio", "")))
    return parts


def _audio(raw: Wire) -> Part:
    """The assistant's speech: ``content`` is the transcript; the bytes have no media type."""
    at = "/audio"
    return part(
        PartType.FILE,
        raw,
        at,
        used={"id", "data", "transcript"},
        file_id=identifier(raw, "id", at),
        data=optional_string(raw, "data", at),
        content=optional_string(raw, "transcript", at) or None,
        **_native("audio"),
    )


def _calls(raw: Wire) -> list[Part]:
    calls = [] if raw.get("tool_calls") is None else objects(raw, "tool_calls", "")
    numbered = gemini.numbering()
    parts = [_call(call, at, numbered) for call, at in calls]
    if raw.get("function_call") is not None:
        parts.append(_function_call(mapping(raw, "function_call", ""), "/function_call"))
    return parts


def _call(raw: Wire, at: str, numbered: gemini.Numbered) -> Part:
    kind = raw.get("type", "function")
    if kind == "custom":
        return _custom_call(raw, at)
    if kind != "function":
        raise WireError(f"{at}/type", f"function or custom is expected, not {shown(kind)}")
    function, inside = mapping(raw, "function", at), f"{at}/function"
    name = identifier(function, "name", inside)
    of_ollama = raw.get("id") is None and isinstance(function.get("arguments"), dict)
    return part(
        PartType.TOOL_CALL,
        raw,
        at,
        used={"type", "id", "function"},
        id=numbered("call", name) if of_ollama else identifier(raw, "id", at),
        name=name,
        **arguments_fields(function, inside),
        function=rest(function, {"name", "arguments"}) or None,
    )


def _custom_call(raw: Wire, at: str) -> Part:
    custom, inside = mapping(raw, "custom", at), f"{at}/custom"
    return part(
        PartType.TOOL_CALL,
        raw,
        at,
        used={"type", "id", "custom"},
        id=identifier(raw, "id", at),
        name=identifier(custom, "name", inside),
        arguments=string(custom, "input", inside),
        custom=rest(custom, {"name", "input"}) or None,
        **_native("custom"),
    )


def _function_call(raw: Wire, at: str) -> Part:
    name = identifier(raw, "name", at)
    return part(
        PartType.TOOL_CALL,
        raw,
        at,
        used={"name", "arguments"},
        id=function_call_id(name),
        name=name,
        **arguments_fields(raw, at),
        **_native("function_call"),
    )


def arguments_fields(raw: Wire, at: str) -> Wire:
    """The arguments as an object, or the string as sent if it is not the JSON of an object that can be stored.

    ``arguments_json`` is the string as sent, kept only if it is not the compact JSON of the object.
    """
    if isinstance(raw.get("arguments"), dict):  # some compatible servers send the object
        return {"arguments": raw["arguments"]}
    text = string(raw, "arguments", at)
    try:
        parsed = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {"arguments": text}
    if not isinstance(parsed, dict) or first_flaw(parsed):
        return {"arguments": text}
    same = orjson.dumps(parsed) == text.encode()
    return {"arguments": parsed} if same else {"arguments": parsed, "arguments_json": text}


def _native(kind: str) -> dict[str, Any]:
    return {"provider": PROVIDER, "native": kind}
