"""What several renderings share: parts as text, arguments, media, base64 and ids."""

import re
from hashlib import sha256
from typing import Any, NamedTuple

from app.context.model import Block, Turn
from app.context.wording import SPEAKER
from app.kit.json import as_text, loads
from app.kit.patterns import lazy_pattern
from app.sessions.files import file_content
from app.sessions.model import Part, PartType, Role, text_part
from app.sessions.wire import first_flaw

SHOWN_IN_OUTPUT = (PartType.TEXT, PartType.IMAGE, PartType.FILE)  # not a set: the type to look up may be any JSON
DATA_URL = lazy_pattern(r"data:(?P<media_type>[^;,]*+)[^,]*;base64,(?P<data>.*)", re.DOTALL)
IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})  # that Anthropic and OpenAI accept
MISNAMED = {"image/jpg": "image/jpeg"}
NAMED_BY = ("media_type", "mimeType", "mime_type")  # by us, by MCP, and by Gemini and many more
BEGINS = {"iVBORw0KGgo": "image/png", "/9j/": "image/jpeg", "R0lGOD": "image/gif", "UklGR": "image/webp"}  # in base64
BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
PADDING_MAX = 2
URL_SAFE = str.maketrans("-_", "+/")
UNSAFE = lazy_pattern(r"[^A-Za-z0-9_-]")


class Media(NamedTuple):
    """The media type of an image or a file, and its URL or its bytes (base64)."""

    media_type: str
    url: str | None
    data: str | None


def said_by_user(block: Block) -> Turn:
    """The volatile part as a turn: like any word of the user it closes the calls before it."""
    return Turn(id=block.id, role=Role.USER, parts=(text_part(block.text),), tokens=block.tokens)


def with_speaker(turn: Turn) -> Turn:
    """The turn with its user's name as a text before what they say, so that several in one chat can be told apart.

    For the shapes that have no field for it, or none that takes this name.
    """
    name = " ".join((turn.name or "").split())
    if not name or turn.role is not Role.USER or not any(map(_is_words, turn.parts)):
        return turn
    return turn._replace(parts=(text_part(SPEAKER.format(name)), *turn.parts))


def _is_words(part: Part) -> bool:
    return part["type"] != PartType.TOOL_RESULT and visible(part)


def is_shown(value: Any) -> bool:
    """Whether a piece of a tool's output, any JSON otherwise, is one of our parts."""
    return (
        isinstance(value, dict)
        and value.get("type") in SHOWN_IN_OUTPUT
        and (value["type"] != PartType.TEXT or isinstance(value.get("text"), str))
    )


def visible(part: Part) -> bool:
    """Whether the part is not a blank text, which providers refuse."""
    return part["type"] != PartType.TEXT or bool(part["text"].strip())


def output_parts(output: Any) -> list[Part]:
    """A tool's output as parts: a list of parts as it is, a string as text, any other JSON as its text."""
    if isinstance(output, list) and output and all(map(is_shown, output)):
        return [part for part in output if visible(part)]
    text = as_text(output)
    return [text_part(text)] if text.strip() else []


def output_text(output: Any) -> str:
    return "\n".join(stand_in(part) for part in output_parts(output))


def arguments_text(part: Part) -> str:
    """A call's arguments as JSON: byte for byte as the model wrote them, if that is known."""
    return as_text(part.get("arguments_json", part["arguments"]))


def function_arguments(part: Part) -> str:
    """A function's arguments as the JSON of an object: as the model wrote them, if they are one.

    OpenAI takes any text here, but vLLM, SGLang and llama.cpp refuse the whole request for arguments that broke off.
    """
    text = arguments_text(part)
    return text if _is_object(text) else as_text(arguments_object(part))


def _is_object(text: str) -> bool:
    try:
        return isinstance(loads(text.encode()), dict)
    except ValueError:
        return False


def arguments_object(part: Part) -> dict[str, Any]:
    """A call's arguments as the object some providers want.

    Broken JSON is kept as text under ``arguments``, and so is JSON that can be read but not written again: orjson
    reads objects four times as deep as it writes.
    """
    value = part["arguments"]
    value = _read(value) if isinstance(value, str) else value
    return value if isinstance(value, dict) else {"arguments": value}


def _read(text: str) -> Any:
    try:
        value = loads(text.encode() or b"{}")
    except ValueError:
        return text
    return text if first_flaw(value) else value


def late_result(part: Part) -> Part:
    """A result as text, if its call is not open: not shown yet, already answered, or closed before the result."""
    return text_part(f"[result of tool call {part['tool_call_id']}]\n{output_text(part['output'])}")


def stand_in(part: Part) -> str:
    """A part as text, if its own shape cannot be shown."""
    if part["type"] == PartType.TEXT:
        return str(part["text"])
    name = part.get("name") or part.get("media_type")
    label = f"[{part['type']}: {name}]" if name else f"[{part['type']}]"
    content = file_content(part)
    return label if content is None else f"{label}\n{output_text(content)}"


def media(part: Part) -> Media:
    """The media of a part, whose fields may be any JSON in a tool's output.

    An image is of the type that its bytes are, if they tell it: Anthropic refuses it under any other.
    """
    url, data = part.get("url"), part.get("data")
    media_type = next((part[key] for key in NAMED_BY if part.get(key)), None)
    if isinstance(url, str) and (inline := DATA_URL.fullmatch(url)):
        media_type, url, data = inline["media_type"], None, inline["data"]
    written = standard_base64(_text(data))
    named = (_text(media_type) or "").lower()
    if written and part.get("type") == PartType.IMAGE:
        named = next((kind for begins, kind in BEGINS.items() if written.startswith(begins)), named)
    return Media(MISNAMED.get(named, named), _text(url), written)


def own_file_id(part: Part, begins: str) -> str | None:
    """The id of a file in a provider's own store, if it ``begins`` as that provider's do."""
    file_id = part.get("file_id")
    return file_id if isinstance(file_id, str) and file_id.startswith(begins) else None


def standard_base64(data: str | None) -> str | None:
    """Base64 as every provider takes it; None for other text, for which Anthropic and OpenAI refuse the whole request.

    Gemini's SDK writes the URL-safe kind; others break it into lines, or leave the padding out.
    """
    if not data:
        return data
    if not _is_base64(data):
        written = "".join(data.split()).translate(URL_SAFE).rstrip("=")
        data = written + "=" * (-len(written) % 4)
    return _ended(data) if data and _is_base64(data) else None


def _ended(data: str) -> str:
    """The base64 with the unused bits of its last digit set to 0: Gemini's SDK refuses others."""
    digits = data.rstrip("=")
    padding = len(data) - len(digits)
    last = BASE64.index(digits[-1].encode())
    zeroed = last & (0xFF << 2 * padding)
    return data if zeroed == last else digits[:-1] + chr(BASE64[zeroed]) + "=" * padding


def _is_base64(data: str) -> bool:
    digits = data.rstrip("=")
    return len(data) % 4 == 0 and len(data) - len(digits) <= PADDING_MAX and not digits.encode().translate(None, BASE64)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def identifier(text: str, *, length: int) -> str:
    """``text`` as providers accept a name or an id: A-Z a-z 0-9 _ - and at most ``length`` of them, still distinct."""
    safe = UNSAFE.sub("_", text)
    if safe == text and 0 < len(text) <= length:
        return text
    return f"{safe[: length - 9]}_{sha256(text.encode()).hexdigest()[:8]}"
