"""Redacts artifacts that are texts, in whatever charset. Pure."""

import re
from contextlib import suppress

from app.artifacts.grep import NotText, check_text
from app.kit.patterns import lazy_pattern
from app.redaction.model import Redact
from app.sessions.files import BYTE_ORDER_MARKS

BYTES = "latin-1"  # a character for each byte; secrets are ASCII, in which every charset but the wide ones agrees
TEXTUAL = lazy_pattern(  # types whose bytes are read, all of them text by their definition
    r"text/|[^;]*;.*\bcharset=|[^/;]+/[^;]*\+(?:json|xml|yaml)\b|application/(?:x-)?(?:"
    r"ecmascript|graphql|javascript|json|json5|jsonlines|json-seq|jsonl|ld-json|ndjson|perl|php|python|sh|shellscript|sql|"
    r"tex|toml|typescript|www-form-urlencoded|xml|yaml)\b",
    re.IGNORECASE,
)
WIDTHS = {"utf-16": 2, "utf-32": 4}  # bytes of a character, by what a charset's name begins with


def redacted_text(content: bytes, media_type: str, redact: Redact) -> bytes:
    """The content without its secrets if it is a text; anything else, such as an image, as it is."""
    try:
        return redact(check_text(content)).encode()
    except NotText:
        return _encoded(content, media_type, redact)


def _encoded(content: bytes, media_type: str, redact: Redact) -> bytes:
    """A text that is not UTF-8, as its type or byte order mark tells, without its secrets.

    A text that was cut within a character is read up to that.
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
    """The charsets to try for a text that is not UTF-8; none if nothing tells that it is a text.

    Its bytes tell more than its type. A secret is ASCII, and so has zero bytes in UTF-16 and UTF-32. Without a byte
    order mark each of these is tried, and a secret is found in the right one alone.
    """
    for mark, charset in BYTE_ORDER_MARKS.items():
        if content.startswith(mark):
            return (charset,)
    if not TEXTUAL.match(media_type):
        return ()
    return tuple(BYTE_ORDER_MARKS.values()) if 0 in content else (BYTES,)
