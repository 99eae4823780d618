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
from app.kit.patterns import lazy_pattern

NAME_CHARS_MAX = 100
NAME = rf"[A-Za-z_][A-Za-z0-9_]{{0,{NAME_CHARS_MAX - 1}}}"
NAME_PATTERN = rf"^(?:(?:user|app|temp):)?{NAME}$"
TEXT_CHARS_MOST = 16 * 1024 * 1024  # the highest limit that can be set for the characters of a template
LIST_MOST = 10_000  # the highest limit that can be set for the values, texts or messages given to a context
DIGITS_MAX = 18  # of a list's index; Python refuses to read a number of thousands of digits
_STEP = r"\.[A-Za-z0-9_]+"
_ARTIFACT = r"artifact\.(?P<artifact>[A-Za-z0-9._:@~=+-]{1,200})"
_PLACEHOLDER = lazy_pattern(
    rf"\{{(?:{_ARTIFACT}|(?P<name>(?:(?:user|app|temp):)?{NAME})(?P<path>(?:{_STEP})*))"
    r"(?:(?P<optional>\?)|\|(?P<default>[^{}]*))?\}"
)
_BRACE = lazy_pattern(r"[{}]")


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
    reader = _Reader(text)
    while brace := _BRACE.search(text, reader.position):
        reader.keep_until(brace.start())
        if brace[0] == "{":
            reader.open()
        else:
            reader.close()
    reader.keep_until(len(text))
    return reader.template()


class _Reader:
    """Reads from one brace to the next; an opened brace waits on a stack for its pair."""

    def __init__(self, text: str) -> None:
        self.position = 0
        self._text = text
        self._pieces: list[str | Placeholder] = []
        self._opened: list[_Opened] = []
        self._unpaired: list[int] = []

    def template(self) -> Template:
        unpaired = [*self._unpaired, *(brace.position for brace in self._opened)]
        return Template(pieces=tuple(self._pieces), unpaired=tuple(sorted(unpaired)))

    def keep_until(self, end: int) -> None:
        if self.position < end:
            self._pieces.append(self._text[self.position : end])
            self.position = end

    def open(self) -> None:
        """Read a placeholder, or one or two braces that have to be closed."""
        doubled = self._text.startswith("{{", self.position)
        found = None if doubled else _PLACEHOLDER.match(self._text, self.position)
        if found:
            self._pieces.append(_placeholder(found))
            self.position = found.end()
            return
        self._opened.append(_Opened(position=self.position, piece=len(self._pieces), doubled=doubled))
        self.keep_until(self.position + 1 + doubled)

    def close(self) -> None:
        """Close the brace opened last: two braces close two, one closes one."""
        doubled = self._text.startswith("}}", self.position)
        if not self._opened or (self._opened[-1].doubled and not doubled):
            self._unpaired.append(self.position)
        elif (pair := self._opened.pop()).doubled:
            self._pieces[pair.piece] = "{"
            self.position += 1
        self.keep_until(self.position + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    """An opened brace: where it is in the text, which piece it is, and whether it is two."""

    position: int
    piece: int
    doubled: bool


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


def names_of(templates: Iterable[Template]) -> dict[Scope, list[str]]:
    """The names used, by scope and with their prefixes, each once and in order."""
    places = {(place.scope, place.name) for template in templates for place in template.placeholders}
    return {scope: sorted(name for its, name in places if its is scope) for scope in Scope}


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
