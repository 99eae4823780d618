"""The parts of a text that can be checked against another: quotes, dates, identifiers, times, numbers.

They are what a model gets wrong without anyone noticing (memory-rules.md section 4, Gates). Everything works on plain
characters, so a script without spaces or capitals is read as well.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from app.kit.days import DatePhrase, date_phrases, days_apart, figure_phrases
from app.kit.words import normalized
from app.memory.numbers import CODE, NUMBER, TIME, clock

DAY_OFFSETS: Final = {"today": 0, "tonight": 0, "yesterday": -1, "tomorrow": 1}
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SOFT_QUOTES: Final = str.maketrans("’‘´", "'''")
_ESCAPING: Final = re.compile(r"\\++(?![^\W_])")  # \" and \_
_ESCAPED: Final = re.compile(r"\\{2,}+")
_QUOTED: Final = re.compile(
    r'"([^"]{2,300})"|“([^”]{2,300})”|„([^“”]{2,300})[“”]|«([^»]{2,300})»|`([^`]{2,300})`|「([^」]{1,300})」|『([^』]{1,300})』'
)
# Of letters alone it is the name of nothing, but in camelCase.
_WORD: Final = re.compile(
    r"(?<![A-Za-z0-9_./\\@~#+-])(?=[A-Za-z]*(?:[a-z][A-Z]|[0-9_./\\@~#+-]))[A-Za-z0-9_./\\@~#+-]+"
)
DAY_WORD_CHARACTERS: Final = 14
_DAY_WORD: Final = re.compile(rf"\b({'|'.join((*DAY_OFFSETS, *WEEKDAYS))}),? ?\(?$", re.IGNORECASE)
_NAME_OF_CODE: Final = re.compile(r"[a-z][A-Z]|\w_\w|\w@[\w-]+\.\w")  # camelCase, snake_case, an e-mail address
# Possessive: blanks behind one that nothing closes would else be divided among the three in every way there is.
BEFORE: Final = re.compile(  # what a line says of the state that it replaces
    r"[(（](?:before|previously|until then|früher|antes|avant|prima|이전|之前|以前)\s*+[:：]?\s*+([^)）]++)[)）]"
)
_SHORT_ENDINGS: Final = frozenset({"cc", "cs", "go", "js", "kt", "md", "py", "rb", "rs", "sh", "ts"})  # of files: ui.js
_PLAIN: Final = re.compile(r"[0-9][0-9.]*[A-Za-z]{0,4}|[A-Za-z.]*")  # 3rd, 10k, 30min, old, e.g


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """What a text claims. ``numbers`` are as written, with a ``#`` or a scale (``10k``); ``times`` are ``HH:MM``.

    ``figures``: dates in figures alone, each as it may be read. ``named``: a date with the day before it, ``yesterday``
    or a weekday. ``codes`` are whole numbers of four digits or more that nothing tells to be amounts.
    """

    quotes: tuple[str, ...]
    dates: tuple[DatePhrase, ...]
    figures: tuple[tuple[DatePhrase, ...], ...]
    named: tuple[tuple[str, DatePhrase], ...]
    identifiers: tuple[str, ...]
    times: tuple[str, ...]
    codes: tuple[str, ...]
    numbers: tuple[str, ...]


def claims(text: str) -> Claims:
    """Each kind of claim, a character counting to one kind only, in the order quotes to numbers."""
    rest = days_apart(normalized(_unescaped(text), "NFKC"))
    quotes, rest = _taken(rest, _QUOTED, _quote)
    dates, figures, named = tuple(date_phrases(rest)), tuple(figure_phrases(rest)), tuple(named_days(rest))
    for phrase in (*dates, *(read[0] for read in figures)):
        rest = rest[: phrase.start] + " " * (phrase.end - phrase.start) + rest[phrase.end :]
    identifiers, rest = _taken(rest, _WORD, _identifier)
    times, rest = _taken(rest, TIME, clock)
    codes, rest = _taken(rest, CODE, lambda match: match[0])
    numbers, _ = _taken(rest, NUMBER, lambda match: match[0])
    return Claims(
        quotes=quotes,
        dates=dates,
        figures=figures,
        named=named,
        identifiers=identifiers,
        times=times,
        codes=codes,
        numbers=numbers,
    )


def named_days(text: str) -> Iterator[tuple[str, DatePhrase]]:
    """The dates right behind the word for their day: ``yesterday (May 7, 2026)``, ``Friday, May 8``."""
    for phrase in date_phrases(text):
        before = _DAY_WORD.search(text, max(0, phrase.start - DAY_WORD_CHARACTERS), phrase.start)
        if phrase.day is not None and before:
            yield before[1].casefold(), phrase


def normal(text: str) -> str:
    """The text in the form in which texts are compared: NFKC, no case, single spaces, straight quotes."""
    return " ".join(normalized(_unescaped(text), "NFKC").casefold().split())


def _unescaped(text: str) -> str:
    """Straight quotes, and no more backslashes than the text had before it was shown as JSON or as Markdown."""
    plain = text.translate(_SOFT_QUOTES)
    return _ESCAPED.sub(r"\\", _ESCAPING.sub("", plain)) if "\\" in plain else plain


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


def _quote(match: re.Match[str]) -> str:
    """What is quoted; "" of a name, which is one with quotation marks too."""
    text: str = next(filter(None, match.groups()))
    word = _WORD.fullmatch(text)
    return "" if word and _identifier(word) else normal(text).strip(" .,;:!?'")


def _identifier(match: re.Match[str]) -> str:
    """The word if it is an address, a path, a file, a code or a name of code, else ""."""
    word = match[0].strip(".-+#\\").rstrip("/")
    word = word if word.startswith("~/") else word.lstrip("~")
    rooted = word.startswith(("/", "~/")) or "//" in word or "\\" in word
    if rooted and any(map(str.isalpha, word)):  # not "~/", nor what is left of "May 13/14"
        return word.casefold()
    return word.casefold() if any(map(_is_code, word.split("/"))) else ""


def _is_code(piece: str) -> bool:
    if _NAME_OF_CODE.search(piece):
        return True
    dotted = piece.split(".")
    if len(dotted) > 1 and all(dotted) and (dotted[-1].casefold() in _SHORT_ENDINGS or any(map(_is_word, dotted))):
        return True
    return not all(_PLAIN.fullmatch(part) for part in piece.split("-"))


def _is_word(part: str) -> bool:
    return len(part) > 2 and part.isalpha()  # noqa: PLR2004 - not "e.g"
