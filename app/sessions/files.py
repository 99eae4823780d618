"""What an attached file says, and where its bytes are (docs/decisions/0075-what-files-say.md). Pure."""

import re
from base64 import b64decode
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from typing import Any, TypeGuard

from app.sessions.model import Part, PartType

TEXT_TYPES = frozenset({"application/json", "application/xml", "application/yaml", "application/javascript"})
TEXT_SUFFIXES = ("+json", "+xml", "+yaml")  # of media types, as in image/svg+xml
UTF_8 = "utf-8"
BYTE_ORDER_MARKS = {  # those of four bytes first: that of UTF-32-LE begins with that of UTF-16-LE
    BOM_UTF32_LE: "utf-32-le",
    BOM_UTF32_BE: "utf-32-be",
    BOM_UTF16_LE: "utf-16-le",
    BOM_UTF16_BE: "utf-16-be",
}
MARK = "\ufeff"  # a byte order mark, once decoded
DECLARED = re.compile(  # the charsets in which texts are sent; any other name is taken for UTF-8
    r""";\s*charset\s*=\s*["']?(utf-16(?:[lb]e)?|utf-32(?:[lb]e)?|iso-8859-\d\d?|windows-125\d|windows-874|koi8-[ru]|"""
    r"shift[_-]jis|euc-jp|euc-kr|iso-2022-jp|gb2312|gbk|gb18030|big5)\b",
    re.IGNORECASE,
)
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
    said = encoded_text(part)
    return None if said is None else said[0].removeprefix(MARK)


def encoded_text(part: Part) -> tuple[str, str] | None:
    """The text of the file's bytes, with its byte order mark, and its charset; None if they are of no type of text."""
    media_type, data = inline_bytes(part)
    if not isinstance(media_type, str) or not isinstance(data, str) or not _is_text(media_type):
        return None
    try:
        written = b"".join(data.encode("ascii").split()).translate(STANDARD_BASE64).rstrip(b"=")
        content = b64decode(written + b"=" * (-len(written) % 4), validate=True)
        charset = _charset(content, media_type)
        text = content.decode(charset)
    except (ValueError, LookupError):
        return None
    return None if "\0" in text else (text, charset)


def _charset(content: bytes, media_type: str) -> str:
    """That of the byte order mark, else the one that the type declares; UTF-8 if neither tells."""
    for mark, charset in BYTE_ORDER_MARKS.items():
        if content.startswith(mark):
            return charset
    declared = DECLARED.search(media_type)
    return declared[1] if declared else UTF_8


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
