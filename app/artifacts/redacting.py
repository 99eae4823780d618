"""Redacts an artifact that is a text, in whatever charset. Pure."""

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from contextlib import suppress

from app.artifacts.grep import NotText, check_text
from app.kit.patterns import lazy_pattern
from app.redaction.model import Redact

BYTES = "latin-1"  # a character for each byte; secrets are ASCII, in which every charset but the wide ones agrees
TEXTUAL = lazy_pattern(  # types whose bytes are read, all of them text by their definition
    r"text/|[^;]*;.*\bcharset=|[^/;]+/[^;]*\+(?:json|xml|yaml)\b|application/(?:x-)?(?:"
    r"ecmascript|graphql|javascript|json|json5|jsonlines|json-seq|jsonl|ld-json|ndjson|perl|php|python|sh|shellscript|sql|"
    r"tex|toml|typescript|www-form-urlencoded|xml|yaml)\b",
    re.IGNORECASE,
)
BYTE_ORDER_MARKS = {  # those of four bytes first: one of them begins as one of two does
    BOM_UTF32_LE: "utf-32-le",
    BOM_UTF32_BE: "utf-32-be",
    BOM_UTF16_LE: "utf-16-le",
    BOM_UTF16_BE: "utf-16-be",
}
WIDTHS = {"utf-16": 2, "utf-32": 4}  # bytes of a character, by what a charset's name begins with


def redacted_text(content: bytes, media_type: str, redact: Redact) -> bytes:
    """A text without its secrets; what is no text, an image or an archive, as it is."""
    try:
        return redact(check_text(content)).encode()
    except NotText:
        return _encoded(content, media_type, redact)


def _encoded(content: bytes, media_type: str, redact: Redact) -> bytes:
    """What is a text in no UTF-8, as its type or its first bytes tell: byte by byte, or two or four by four.

    One that was cut within a character is read up to that.
    """
    for charset in _charsets(content, media_type):
        end = len(content) - len(content) % WIDTHS.get(charset[:6], 1)
        with suppress(UnicodeDecodeError):
            text = content[:end].decode(charset)
            redacted = text if "\0" in text else redact(text)
            if redacted != text:
                return redacted.encode(charset, errors="replace") + content[end:]
    return content


def _charsets(content: bytes, media_type: str) -> tuple[str, ...]:
    """How to read the secrets of a text that is no UTF-8; none where nothing tells that it is a text.

    Its bytes tell more than its type. A text of wide characters has noughts where it has a secret, which is ASCII. If
    no byte order mark says which it is, it is read in each order, and has a secret in its own alone.
    """
    for mark, charset in BYTE_ORDER_MARKS.items():
        if content.startswith(mark):
            return (charset,)
    if not TEXTUAL.match(media_type):
        return ()
    return tuple(BYTE_ORDER_MARKS.values()) if 0 in content else (BYTES,)
