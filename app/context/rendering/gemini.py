"""Renders for Gemini: user and model alternate, and a call's results are the user's.

Shapes are those of the google-genai SDK (``google.genai.types.Content``, with ``system_instruction`` in the config), in
its own snake_case; bytes are base64. Calls and results are paired by place and name if Gemini gave them no id.
"""

from base64 import b64encode
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from app.context.model import Layout, Rendered, Turn
from app.context.rendering import own
from app.context.rendering.gemini_shapes import (
    ANSWERED,
    CODE,
    CODE_RESULT,
    NAMED,
    RESOLUTION,
    TOOL,
    TOOL_CALL,
    TOOL_RESPONSE,
    VIDEO,
)
from app.context.rendering.own import as_they_came
from app.context.rendering.pairing import Pairing, Said
from app.context.rendering.parts import (
    arguments_object,
    identifier,
    media,
    output_text,
    said_by_user,
    stand_in,
    standard_base64,
    visible,
    with_speaker,
)
from app.context.rendering.shape import Shape, fitting
from app.context.rendering.thread import Item, Thread
from app.context.wording import NO_OUTPUT, OPENING, SYSTEM_MESSAGE
from app.kit.patterns import lazy_pattern
from app.sessions.model import Part, PartType, Role
from app.sessions.wire.gemini import ID_PREFIX, MODEL, PROVIDER

BEHIND_PATH = lazy_pattern("[?#]")
NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")  # as Gemini's tools are named (types.FunctionDeclaration)
NAME_LENGTH, ID_LENGTH = 64, 64  # of names and ids that are made to fit
UNSIGNED = b64encode(b"skip_thought_signature_validator").decode()
# Files in these places need no media type.
OWN_STORES = ("gs://", "https://generativelanguage.googleapis.com/", "https://www.youtube.com/", "https://youtu.be/")
BESIDE_MEDIA = (
    ("video_metadata", "videoMetadata", VIDEO),
    ("media_resolution", "media_resolution", RESOLUTION),
    ("media_resolution", "mediaResolution", RESOLUTION),
)
# The media types that Gemini takes, or their beginnings (ai.google.dev: image, video, audio, document understanding).
TAKEN = (
    *("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"),
    *("audio/", "video/", "text/", "application/pdf"),
)
MEDIA_TYPES: Mapping[str, str] = {
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".webp": "image/webp",
}


def render(layout: Layout) -> Rendered:
    contents = _Contents()
    for turn in layout.stable:
        contents.add(turn)
    units = contents.thread.units(layout.system)
    for turn in layout.incoming:
        contents.add(turn)
    if layout.volatile:
        contents.add(said_by_user(layout.volatile))
    contents.end()
    payload: dict[str, Any] = {
        "contents": [{"role": message["role"], "parts": message["content"]} for message in contents.thread.messages]
    }
    if layout.system:
        payload["config"] = {"system_instruction": {"parts": [{"text": block.text} for block in layout.system]}}
    return Rendered(payload=payload, units=units)


class _Contents:
    def __init__(self) -> None:
        self.thread = Thread()
        self._pairing = Pairing(visible=_visible)
        self._names: dict[str, str] = {}  # of the calls shown, by id: a result has to repeat the name

    def add(self, turn: Turn) -> None:
        for said in self._pairing.said(as_they_came(with_speaker(turn), PROVIDER, _own_tool)):
            self._add(said)

    def end(self) -> None:
        for said in self._pairing.ending():
            self._add(said)

    def _add(self, said: Said) -> None:
        role = MODEL if said.role is Role.ASSISTANT else Role.USER
        parts = [item for part in said.parts if (item := self._part(part, said.role))]
        if not parts:
            return
        if role == MODEL and not self.thread.messages:
            self.thread.add(Role.USER, [{"text": OPENING}])
        held = self.thread.messages[-1]["content"] if self.thread.last_role == role else []
        self.thread.add(role, parts if any("function_call" in item for item in held) else _signed(parts))

    def _part(self, part: Part, role: Role) -> Item | None:
        """The part with the signature it came with; None for other providers' reasoning."""
        match part["type"]:
            case own.AS_IT_CAME:
                item: Item = part["item"]
                return item
            case PartType.TEXT:
                text = SYSTEM_MESSAGE.format(part["text"]) if role is Role.SYSTEM else part["text"]
                return {"text": text, **_signature(part)}
            case PartType.TOOL_CALL:
                return {"function_call": self._call(part), **_signature(part)}
            case PartType.TOOL_RESULT:
                return {"function_response": self._response(part)}
            case PartType.REASONING:
                said = {"text": part["text"], "thought": True, **_signature(part)}
                return said if part.get("provider") == PROVIDER else None
            case _:
                signature = _signature(part)
                shown = _media(part) if role is Role.USER or signature else None  # a model signs what it draws
                return {**(shown or {"text": stand_in(part)}), **signature}

    def _call(self, part: Part) -> Item:
        name = part["name"] if NAME.fullmatch(part["name"]) else identifier(part["name"], length=NAME_LENGTH)
        self._names[part["id"]] = name
        return {**_id(part["id"]), "name": name, "args": arguments_object(part)}

    def _response(self, part: Part) -> Item:
        call_id = part["tool_call_id"]
        return {
            **_more(part, "functionResponse", ANSWERED),
            **_id(call_id),
            "name": self._names[call_id],
            "response": _answer(part),
        }


def _signed(parts: list[Item]) -> list[Item]:
    """The parts with a signature on the first call: from Gemini 3 on a content without one is refused.

    Calls of other models, and of Gemini's before, have none; the placeholder is that of Google's documents on thought
    signatures.
    """
    first = next((index for index, part in enumerate(parts) if "function_call" in part), None)
    if first is None or any("thought_signature" in part for part in parts):
        return parts
    return [*parts[:first], {**parts[first], "thought_signature": UNSIGNED}, *parts[first + 1 :]]


def _own_tool(call: Part, result: Part) -> list[Item]:
    """The call and result of a tool that Gemini runs, such as code, as parts; none if Gemini cannot have sent them."""
    match call["native"], result["native"]:
        case "executableCode", "codeExecutionResult":
            shown = (
                {"executable_code": fitting(CODE, call["arguments"])},
                {"code_execution_result": fitting(CODE_RESULT, result["output"])},
            )
        case "toolCall", "toolResponse":
            own_id = {"id": call["id"]} if _id(call["id"]) else {}
            asked = {**own_id, **_tool_type(call, "toolCall"), "args": call["arguments"]}
            answered = {**own_id, **_tool_type(result, "toolResponse"), "response": result["output"]}
            shown = {"tool_call": fitting(TOOL_CALL, asked)}, {"tool_response": fitting(TOOL_RESPONSE, answered)}
        case _:
            return []
    if None in (*shown[0].values(), *shown[1].values()):
        return []
    return [{**shown[0], **_signature(call)}, {**shown[1], **_signature(result)}]


def _tool_type(part: Part, key: str) -> Item:
    told = _more(part, key, TOOL).get("toolType")
    return {} if told is None else {"tool_type": told}


def _visible(part: Part) -> bool:
    """Whether a part is shown, also an empty text with a signature: Gemini ends a stream with one."""
    return visible(part) or bool(_signature(part))


def _id(call_id: str) -> Item:
    """The field ``id``; empty if Gemini gave none (``sessions/wire/gemini.py``)."""
    return {} if call_id.startswith(ID_PREFIX) else {"id": identifier(call_id, length=ID_LENGTH)}


def _more(part: Part, key: str, shape: Shape) -> Item:
    """The fields of Gemini's own object beside the neutral ones, as far as they fit the shape."""
    return fitting(shape, part.get(key)) or {}


def _signature(part: Part) -> Item:
    """The thought signature: bytes as base64, as the SDK or the API wrote them."""
    signature = part.get("thoughtSignature")
    written = standard_base64(signature) if isinstance(signature, str) else None
    return {"thought_signature": written} if written else {}


def _answer(part: Part) -> Item:
    """An object as it is; anything else, and an error that does not say so itself, under Gemini's own keys."""
    output = part["output"]
    if isinstance(output, dict) and (not part.get("is_error") or "error" in output):
        return output
    return {"error" if part.get("is_error") else "output": output_text(output) or NO_OUTPUT}


def _media(part: Part) -> Item | None:
    """The bytes, or a URL with a media type that is known or not needed; None for what Gemini does not take."""
    media_type, url, data = media(part)
    beside = {shown: more for shown, sent, shape in BESIDE_MEDIA if (more := _more(part, sent, shape))}
    if media_type and not media_type.startswith(TAKEN):
        return None
    if data and media_type:
        return {"inline_data": {**_more(part, "inlineData", NAMED), "mime_type": media_type, "data": data}, **beside}
    if not url or part.get("content") is not None:
        return None
    told = media_type or MEDIA_TYPES.get(PurePosixPath(BEHIND_PATH.split(url)[0]).suffix.lower())
    if told:
        return {"file_data": {**_more(part, "fileData", NAMED), "file_uri": url, "mime_type": told}, **beside}
    return {"file_data": {"file_uri": url}, **beside} if url.startswith(OWN_STORES) else None
