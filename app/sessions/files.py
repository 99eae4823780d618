"""What an attached file says, and where its bytes are (docs/decisions/0075-what-files-say.md). Pure."""

from base64 import b64decode
from typing import Any, TypeGuard

from app.sessions.model import Part, PartType

TEXT_TYPES = frozenset({"application/json", "application/xml", "application/yaml", "application/javascript"})
TEXT_SUFFIXES = ("+json", "+xml", "+yaml")  # of media types, as in image/svg+xml
DATA_URL, IN_BASE64 = "data:", ";base64,"
STANDARD_BASE64 = bytes.maketrans(b"-_", b"+/")


def file_content(part: Part) -> Any:
    """What a file says: its ``content``, else the text of its bytes if they are of a type of text; None if no words.

    Its fields may be any JSON in a tool's output. An image, even one that is written as text (SVG), says nothing: it
    counts as an image.
    """
    if part.get("type") == PartType.IMAGE:
        return None
    if part.get("content") is not None:
        return part["content"]
    media_type, data = inline_bytes(part)
    if not isinstance(media_type, str) or not isinstance(data, str) or not _is_text(media_type):
        return None
    try:
        written = b"".join(data.encode("ascii").split()).translate(STANDARD_BASE64).rstrip(b"=")
        text = b64decode(written + b"=" * (-len(written) % 4), validate=True).decode("utf-8-sig")
    except ValueError:
        return None
    return None if "\0" in text else text


def inline_bytes(part: Part) -> tuple[Any, Any]:
    """The media type and the base64 of an image or a file: in its URL, if that is a data URL, else in its fields."""
    url = part.get("url")
    if not is_data_url(url):
        return part.get("media_type"), part.get("data")
    head, _, data = url.partition(IN_BASE64)
    return head.removeprefix(DATA_URL), data


def without_bytes(part: Part) -> Part:
    return {key: value for key, value in part.items() if key != "data" and not (key == "url" and is_data_url(value))}


def is_data_url(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and value.startswith(DATA_URL) and IN_BASE64 in value


def _is_text(media_type: str) -> bool:
    named = media_type.partition(";")[0].strip().lower()
    return named.startswith("text/") or named.endswith(TEXT_SUFFIXES) or named in TEXT_TYPES
