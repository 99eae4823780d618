"""Templates (memory-rules.md section 7): a text, with the names in its braces replaced by values. Pure.

``{name}`` is replaced once; ``{name?}`` may be missing, ``{name|default}`` has something to fall back to. Doubled
braces that pair up are literal ones: ``{{name}}`` is the text ``{name}``. Everything else is left as it is, so that
JSON and code survive: also the ``}}`` at the end of ``{"a":{"b":1}}``, whose braces were opened one by one.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.kit.json import as_text
from app.kit.names import KEY
from app.kit.patterns import lazy_pattern

NAME_CHARS_MAX = 100
NAME = rf"[A-Za-z_][A-Za-z0-9_]{{0,{NAME_CHARS_MAX - 1}}}"
NAME_PATTERN = rf"^(?:(?:user|app|temp):)?{NAME}$"
TEXT_CHARS_MOST = 16 * 1024 * 1024  # the highest limit that can be set for the characters of a template
LIST_MOST = 10_000  # the highest limit that can be set for the values, texts or messages given to a context
DIGITS_MAX = 18  # of a list's index; Python refuses to read a number of thousands of digits
_STEP = r"\.[A-Za-z0-9_]+"
_ARTIFACT = rf"artifact\.(?P<artifact>{KEY})"
_SIGN = lazy_pattern(
    rf"\{{\{{|\{{(?:{_ARTIFACT}|(?P<name>(?:(?:user|app|temp):)?{NAME})(?P<path>(?:{_STEP})*))"
    r"(?:(?P<optional>\?)|\|(?P<default>[^{}]*))?\}|[{}]"
)


class Scope(StrEnum):
    """Owner of a value: session, user (its resource), app (its tenant), temp (one request), or artifact (its text)."""

    SESSION = "session"
    USER = "user"
    APP = "app"
    TEMP = "temp"
    ARTIFACT = "artifact"


STORED = frozenset({Scope.SESSION, Scope.USER, Scope.APP})


@dataclass(frozen=True, slots=True, kw_only=True)
class Placeholder:
    """A name in braces. ``name`` has its prefix; ``path``: the steps into its value.

    ``default`` replaces a missing value; None: it must not be missing. ``position`` is in characters.
    """

    scope: Scope
    name: str
    path: tuple[str, ...]
    default: str | None
    position: int

    @property
    def wanted(self) -> str:
        """The name and the path, as they are written."""
        return ".".join((self.name, *self.path))


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A parsed text: its literal texts and its placeholders. ``unpaired``: the positions of braces without a pair."""

    pieces: tuple[str | Placeholder, ...]
    unpaired: tuple[int, ...]

    @property
    def placeholders(self) -> Iterator[Placeholder]:
        return (piece for piece in self.pieces if isinstance(piece, Placeholder))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """The text, and the required names without a value, each once."""

    text: str
    missing: tuple[str, ...]


class RenderedTooLarge(ValueError):
    """The values would make the text longer than is allowed."""


def render(text: str, values: Mapping[str, Any], *, chars_max: int | None = None) -> Rendered:
    """``text`` with the ``values``, by prefixed name; null counts as missing. Inserted text is not parsed again.

    Texts are inserted as they are, other values as compact JSON. Raises RenderedTooLarge.
    """
    template = read(text)
    found: dict[str, str | None] = {}
    texts: list[str] = []
    chars = 0
    for piece in template.pieces:
        if isinstance(piece, Placeholder) and piece.wanted not in found:
            found[piece.wanted] = _text(value_at(values, piece))
        texts.append(piece if isinstance(piece, str) else _shown(found[piece.wanted], piece))
        chars += len(texts[-1])
        if chars_max is not None and chars > chars_max:  # checked on the way: thousands of names may insert long texts
            raise RenderedTooLarge(f"a text with its values inserted may have at most {chars_max} characters")
    required = (place.wanted for place in template.placeholders if place.default is None)
    return Rendered(
        text="".join(texts),
        missing=tuple(dict.fromkeys(wanted for wanted in required if found[wanted] is None)),
    )


def read(text: str) -> Template:
    """Parse a text: each brace begins a placeholder, has its pair, or is only itself."""
    pieces: list[str | Placeholder] = []
    opened: list[tuple[int, int | None]] = []  # braces without a pair yet: their position, and of two their piece
    unpaired: list[int] = []
    kept = 0  # the text up to here is in the pieces
    closed = 0  # and up to here it has been read, as two braces may be closed at once
    for found in _SIGN.finditer(text):  # one loop, for a text may have a million braces
        sign, start = found[0], found.start()
        if sign == "{":
            opened.append((start, None))
        elif sign == "{{":
            pieces.append(text[kept:start])
            opened.append((start, len(pieces)))
            pieces.append(sign)
            kept = found.end()
        elif sign != "}":
            pieces += (text[kept:start], _placeholder(found))
            kept = found.end()
        elif start >= closed:
            doubled = text.startswith("}}", start)
            if not opened or (opened[-1][1] is not None and not doubled):
                unpaired.append(start)
            elif (piece := opened.pop()[1]) is not None:
                pieces[piece] = "{"
                pieces.append(text[kept : start + 1])
                kept = closed = start + 2
    pieces.append(text[kept:])
    unpaired += (start for start, _ in opened)
    return Template(pieces=tuple(pieces), unpaired=tuple(sorted(unpaired)))


def _placeholder(found: re.Match[str]) -> Placeholder:
    default = "" if found["optional"] else found["default"]
    if found["artifact"] is not None:
        name = f"artifact.{found['artifact']}"
        return Placeholder(scope=Scope.ARTIFACT, name=name, path=(), default=default, position=found.start())
    return Placeholder(
        scope=scope_of(found["name"]),
        name=found["name"],
        path=tuple(found["path"].split(".")[1:]),
        default=default,
        position=found.start(),
    )


def names_of(texts: Iterable[str]) -> dict[Scope, dict[str, int]]:
    """The names that templates use, by scope and with their prefixes, each with the index of the first text with it."""
    signs: dict[str, int] = {}  # read once each, as most names stand in many places
    for index, text in enumerate(texts):
        for found in _SIGN.finditer(text):
            signs.setdefault(found[0], index)
    names: dict[Scope, dict[str, int]] = {scope: {} for scope in Scope}
    for sign, index in signs.items():
        for place in read(sign).placeholders:
            names[place.scope].setdefault(place.name, index)
    return names


def scope_of(name: str) -> Scope:
    """The scope that a name's prefix says; without one it is the session's."""
    prefix, colon, _ = name.partition(":")
    return Scope(prefix) if colon else Scope.SESSION


def value_at(values: Mapping[str, Any], place: Placeholder) -> Any:
    """The value that a placeholder stands for; None if there is none."""
    value = values.get(place.name)
    for step in place.path:
        value = _within(value, step)
    return value


def _text(value: Any) -> str | None:
    return None if value is None else as_text(value)


def _within(value: Any, step: str) -> Any:
    """An object's field, or a list's item by its number from 0."""
    if isinstance(value, dict):
        return value.get(step)
    if isinstance(value, list) and step.isdecimal() and len(step) <= DIGITS_MAX and int(step) < len(value):
        return value[int(step)]
    return None


def _shown(value: str | None, place: Placeholder) -> str:
    return value if value is not None else place.default or ""
