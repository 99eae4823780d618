"""Reveals what a reader or a model could make out of a text with invisible characters, look-alikes and simple codes.

Only for comparing: what is stored and shown stays as it was written.
"""

import re
import unicodedata
from base64 import b64decode
from html import unescape
from typing import Final
from urllib.parse import unquote

from app.kit.patterns import lazy_pattern
from app.kit.words import normalized

# Letters of other scripts that look like Latin ones (the part of Unicode's confusables.txt that words are forged with).
_LOOK_ALIKES: Final = str.maketrans(
    "аеорсухіјѕԁһкмтвнгіαεορυικντβ",
    "aeopcyxijsdhkmtbhriaeopuikvtb",
)
_TAGS: Final = {0xE0000 + code: code for code in range(0x20, 0x7F)}  # ASCII written in invisible "tag" characters
_INVISIBLE: Final = frozenset({"Mn", "Cf"})
_SPACED: Final = lazy_pattern(r"\b(?:\w[ ._*-]){4,}\w\b")  # i g n o r e
_BASE64: Final = lazy_pattern(r"[A-Za-z0-9+/]{24,}={0,2}")
_CODED_MAX: Final = 20  # runs that are decoded; more are a file, not a hidden message


def unmarked(text: str) -> str:
    """The text without accents, invisible characters and width variants."""
    if text.isascii():
        return text
    decomposed = normalized(text.translate(_TAGS), "NFKD")
    seen = "".join(c for c in decomposed if unicodedata.category(c) not in _INVISIBLE)
    return unicodedata.normalize("NFKC", seen).replace("’", "'")


def readings(text: str) -> str:
    """The text in lower case on one line, and below it other readings of its disguises, each once."""
    opened = unquote(unescape(text)) if "%" in text or "&" in text else text
    plain = " ".join(unmarked("\n".join((opened, *_decoded(opened)))).casefold().split())
    found = dict.fromkeys((plain, plain.translate(_LOOK_ALIKES), _SPACED.sub(_joined, plain)))
    return "\n".join(found)


def _joined(match: re.Match[str]) -> str:
    return re.sub(r"[ ._*-]", "", match[0])


def _decoded(text: str) -> list[str]:
    """The texts that are encoded in the text as base64."""
    found = []
    for run in _BASE64.findall(text)[:_CODED_MAX]:
        try:
            plain = b64decode(run + "=" * (-len(run) % 4)).decode()
        except ValueError:  # no base64, or no text in it
            continue
        if plain.isprintable():
            found.append(plain)
    return found
