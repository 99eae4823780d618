"""The parts of a text that can be checked against another: quotes, dates, identifiers, times, numbers.

They are what a model gets wrong without anyone noticing (memory-rules.md section 4, Gates). Everything works on plain
characters, so a script without spaces or capitals is read as well.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from app.memory.days import DatePhrase, date_phrases

_SOFT_QUOTES: Final = str.maketrans("’‘´", "'''")
_QUOTED: Final = re.compile(
    r'"([^"]{2,300})"|“([^”]{2,300})”|„([^“”]{2,300})[“”]|«([^»]{2,300})»|`([^`]{2,300})`|「([^」]{1,300})」|『([^』]{1,300})』'
)
_WORD: Final = re.compile(r"[A-Za-z0-9_./\\@~#+-]+")
_NAME_OF_CODE: Final = re.compile(r"[a-z][A-Z]|\w_\w|\w@[\w-]+\.\w")  # camelCase, snake_case, an e-mail address
_PLAIN: Final = re.compile(r"[0-9][0-9.]*[A-Za-z]{0,4}|[A-Za-z.]*")  # 3rd, 10k, 30min, old, e.g
_TIME: Final = re.compile(
    r"(?<![0-9:.,])(?P<hour>[01]?[0-9]|2[0-3])"
    r"(?:(?::(?P<minute>[0-5][0-9]))(?::[0-5][0-9])?(?![0-9:])|(?=\s?[ap]\.?m\b))(?:\s?(?P<half>[ap])\.?m\b\.?)?",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(r"#?\d+(?:[.,]\d+)*")
_BY_COMMAS: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_BY_DOTS: Final = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?")
_ENGLISH: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
)
_NUMBER_WORDS: Final = {
    word: str(number) for words in (_ENGLISH, "〇一二三四五六七八九十") for number, word in enumerate(words)
} | {"twice": "2", "dozen": "12"}
_NUMBER_WORD: Final = re.compile(
    rf"\b(?:{'|'.join(w for w in _NUMBER_WORDS if w.isascii())})\b|[〇一二三四五六七八九十]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What a text claims. ``numbers`` are as written, with a ``#`` where they had one; ``times`` are ``HH:MM``."""

    quotes: tuple[str, ...]
    dates: tuple[DatePhrase, ...]
    identifiers: tuple[str, ...]
    times: tuple[str, ...]
    numbers: tuple[str, ...]


def claims(text: str) -> Claims:
    """Each kind of claim, a character counting to one kind only, in the order quotes to numbers."""
    rest = unicodedata.normalize("NFKC", text.translate(_SOFT_QUOTES))
    quotes, rest = _taken(rest, _QUOTED, lambda match: normal(next(filter(None, match.groups()))).strip(" .,;:!?'"))
    dates = tuple(date_phrases(rest))
    for phrase in dates:
        rest = rest[: phrase.start] + " " * (phrase.end - phrase.start) + rest[phrase.end :]
    identifiers, rest = _taken(rest, _WORD, _identifier)
    times, rest = _taken(rest, _TIME, _clock)
    numbers, _ = _taken(rest, _NUMBER, lambda match: match[0])
    return Claims(quotes=quotes, dates=dates, identifiers=identifiers, times=times, numbers=numbers)


def normal(text: str) -> str:
    """The text in the form in which texts are compared: NFKC, no case, single spaces, straight quotes."""
    return " ".join(unicodedata.normalize("NFKC", text.translate(_SOFT_QUOTES)).casefold().split())


def numerals(text: str) -> frozenset[str]:
    """The numbers of a text in one form: ``1,000`` and ``1000.0`` are ``1000``, ``08`` is ``8``, ``two`` is ``2``.

    What may be read in two ways, ``1.000``, is given in both.
    """
    words = _NUMBER_WORD.findall(text.casefold())
    forms = {form for number in _NUMBER.findall(text) for form in _forms(number.lstrip("#"))}
    return frozenset(forms | {_NUMBER_WORDS[word] for word in words})


def clock_times(text: str) -> frozenset[str]:
    """The times of day of a text as ``HH:MM``; ``3:30 pm`` is given as ``03:30`` too, for whoever drops the half."""
    found = {(_clock(match), f"{int(match['hour']):02d}:{match['minute'] or '00'}") for match in _TIME.finditer(text)}
    return frozenset(time for both in found for time in both)


def _taken(text: str, pattern: re.Pattern[str], read: Callable[[re.Match[str]], str]) -> tuple[tuple[str, ...], str]:
    """What ``read`` makes of each match, "" leaving it alone, and the text with the matches taken out."""
    found: list[str] = []

    def replacement(match: re.Match[str]) -> str:
        if value := read(match):
            found.append(value)
            return " "
        return match[0]

    rest = pattern.sub(replacement, text)
    return tuple(found), rest


def _identifier(match: re.Match[str]) -> str:
    """The word if it is an address, a path, a file, a code or a name of code, else ""."""
    word = match[0].strip(".-+#\\").rstrip("/")
    word = word if word.startswith("~/") else word.lstrip("~")
    rooted = word.startswith(("/", "~/")) or "//" in word or "\\" in word
    if rooted and len(word) > 2:  # noqa: PLR2004 - "//" and "~/" alone are none
        return word.casefold()
    return word.casefold() if any(map(_is_code, word.split("/"))) else ""


def _is_code(piece: str) -> bool:
    if _NAME_OF_CODE.search(piece):
        return True
    dotted = piece.split(".")
    if len(dotted) > 1 and all(dotted) and any(len(part) > 2 and part.isalpha() for part in dotted):  # noqa: PLR2004 - not "e.g"
        return True
    return not all(_PLAIN.fullmatch(part) for part in piece.split("-"))


def _clock(match: re.Match[str]) -> str:
    hour = int(match["hour"])
    if match["half"]:
        hour = hour % 12 + (12 if match["half"] in "pP" else 0)
    return f"{hour:02d}:{match['minute'] or '00'}"


def _forms(number: str) -> set[str]:
    forms = {_decimal(number.replace(",", "."))}
    if _BY_COMMAS.fullmatch(number):
        forms = {_decimal(number.replace(",", ""))}
    if _BY_DOTS.fullmatch(number):
        forms.add(_decimal(number.replace(".", "").replace(",", ".")))
    return forms


def _decimal(number: str) -> str:
    whole, point, fraction = number.partition(".")
    whole = whole.lstrip("0") or "0"
    if "." in fraction:  # a version or an address, no number
        return whole + point + fraction
    fraction = fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole
