"""The lines a reflection must not lose, and whether it did (memory-rules.md section 5)."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Final

from app.kit.days import date_phrases, parse_day
from app.memory.claims import claims, normal, numerals
from app.memory.log import in_time_order
from app.memory.model import Item, Priority, Tag, seqs_of, touches

KEPT_SHARE: Final = 0.8  # of a line's numbers, dates, names and identifiers: with so many left it may have survived
WORDS_SHARE: Final = 0.5  # and of its words: a name that is left in some other line proves nothing
WORDS_SHARE_AKIN: Final = 0.25  # where both cite the same, more may be reworded

_NAME: Final = re.compile(r"(?<=[^\s.!?:;*] )[^\W\d_][\w'-]+")  # not the first word of a sentence
_CASELESS: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0590-\u06ff\u0900-\u0dff\u0e00-\u0e7f]+")
_LONG_WORD: Final = re.compile(r"\w{4,}")
_OPEN: Final = frozenset({Tag.ISSUE, Tag.NEXT_STEP})
_SPEAKERS: Final = frozenset({"user", "assistant", "agent"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Keys:
    """What makes a line irreplaceable: ``values`` are its numbers and dates, ``names`` its names and identifiers."""

    values: frozenset[str]
    names: frozenset[str]
    words: frozenset[str]
    caseless: bool

    def __bool__(self) -> bool:
        return bool(self.values or self.names or self.caseless)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """What a line says, or several do, to look keys up in."""

    text: str
    values: frozenset[str]

    def holds(self, keys: _Keys, *, words_share: float = WORDS_SHARE) -> bool:
        """Whether enough of the keys and of the words are here."""
        kept = len(keys.values & self.values) + sum(name in self.text for name in keys.names)
        if kept < KEPT_SHARE * (len(keys.values) + len(keys.names)):
            return False
        return sum(word in self.text for word in keys.words) >= words_share * len(keys.words)


def protected(items: Sequence[Item]) -> tuple[Item, ...]:
    """The lines that have to survive: open issues and next steps, and 🔴 lines with numbers, names or identifiers.

    A line is open until a later line that tells of something done says what it said. Names are told by their capital;
    in a script that has none every 🔴 line is protected.
    """
    guarded: list[Item] = []
    done: list[_Said] = []
    for item in reversed(items):
        if item.priority is Priority.DONE or item.tag is Tag.OUTCOME:
            done.append(_said(item))
            continue
        keys = _keys(item)
        matters = item.tag in _OPEN or (item.priority is Priority.HIGH and keys)
        if matters and not any(said.holds(keys) for said in done):
            guarded.append(item)
    return tuple(reversed(guarded))


def lost(guarded: Iterable[Item], result: Sequence[Item]) -> tuple[Item, ...]:
    """The protected lines that neither one line of ``result`` holds nor all those together that cite the same."""
    lines = [(line, _said(line)) for line in result]
    return tuple(item for item in guarded if not _survives(item, lines))


def irreplaceable(item: Item) -> int:
    """How many numbers, dates, names and identifiers a line holds; being open, or in a script without them, is one."""
    keys = _keys(item)
    return len(keys.values) + len(keys.names) + keys.caseless + (item.tag in _OPEN)


def coverage(guarded: Sequence[Item], result: Sequence[Item]) -> float:
    """The share of protected lines that ``result`` still holds; 1.0 where there are none."""
    return 1 - len(lost(guarded, result)) / len(guarded) if guarded else 1.0


def with_lines(items: Sequence[Item], added: Iterable[Item]) -> tuple[Item, ...]:
    """The log with lines put in verbatim, each within its day or, where there is none of it, before a later day.

    Within a day it stands before what cites later messages, else at the end.
    """
    lines, read = list(items), cache(parse_day)
    for item in added:
        lines.insert(_place(lines, item, read), item)
    return in_time_order(lines)


def _place(lines: Sequence[Item], item: Item, read: Callable[[str], date | None]) -> int:
    of_day = [at for at, line in enumerate(lines) if line.day == item.day]
    if of_day:
        return next((at for at in of_day if _cites_later(lines[at], item)), of_day[-1] + 1)
    day = read(item.day)
    days = ((at, read(line.day)) for at, line in enumerate(lines))
    return next((at for at, other in days if day and other and other > day), len(lines))


def _cites_later(line: Item, item: Item) -> bool:
    return bool(line.cites and item.cites) and line.cites[0].first > item.cites[0].first


def _survives(item: Item, lines: Sequence[tuple[Item, _Said]]) -> bool:
    keys = _keys(item)
    if any(said.holds(keys) for _, said in lines):
        return True
    akin = [said for line, said in lines if touches(seqs_of(line.cites), item.cites)]
    return bool(akin) and _together(akin).holds(keys, words_share=WORDS_SHARE_AKIN)


def _together(said: Sequence[_Said]) -> _Said:
    return _Said(text="\n".join(one.text for one in said), values=frozenset[str]().union(*(one.values for one in said)))


def _keys(item: Item) -> _Keys:
    found = claims(item.text)
    names = {word.group().casefold() for word in _NAME.finditer(item.text) if word.group()[0].isupper()}
    plain = normal(item.text)
    return _Keys(
        values=frozenset(form for n in found.numbers for form in numerals(n)) | _days(item.text) | set(found.times),
        names=frozenset(names - _SPEAKERS) | set(found.identifiers),
        words=_words(plain),
        caseless=_CASELESS.search(plain) is not None,
    )


def _said(item: Item) -> _Said:
    text = "\n".join((item.text, *(detail.text for detail in item.details)))
    return _Said(text=normal(text), values=numerals(text) | _days(text) | set(claims(text).times))


def _days(text: str) -> frozenset[str]:
    return frozenset(f"{phrase.month}/{phrase.day}" for phrase in date_phrases(text))


def _words(plain: str) -> frozenset[str]:
    """The words of a text that carry meaning, long ones; of scripts without spaces every two characters."""
    runs = _CASELESS.findall(plain)
    pairs = {run[at : at + 2] for run in runs for at in range(max(1, len(run) - 1))}
    return frozenset(pairs | set(_LONG_WORD.findall(_CASELESS.sub(" ", plain))) - _SPEAKERS)
