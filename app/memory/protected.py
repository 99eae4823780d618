"""The protected lines, which a reflection must not lose, and whether it did (memory-rules.md section 5)."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from typing import Final

from app.kit.days import DatePhrase, date_phrases, days_apart, parse_day
from app.kit.patterns import lazy_pattern
from app.kit.words import terms
from app.memory.grounding.claims import BEFORE, claims, normal, without
from app.memory.grounding.numbers import numerals
from app.memory.log import in_time_order
from app.memory.model import Item, Priority, Tag, seqs_of, touches

KEPT_SHARE: Final = 0.8  # of a line's numbers, dates, names and identifiers: with so many left it may have survived
WORDS_SHARE: Final = 0.5  # and of its words: a name that is left in some other line proves nothing
WORDS_SHARE_AKIN: Final = 0.25  # if both cite the same messages, more may be reworded
EXACT_MIN: Final = 2  # none of its words, if it has so many exact keys and all are left
DONE_SHARE: Final = 0.4  # of the exact keys, if a ✅ line cites all that the line cites

_NAME: Final = lazy_pattern(r"(?<=[^\s.!?:;*] )[^\W\d_][\w'-]+")  # not the first word of a sentence
_CASELESS: Final = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0590-\u06ff\u0900-\u0dff\u0e00-\u0e7f]+")
# German, in which every noun has a capital.
_NOUNS_CAPITALISED: Final = lazy_pattern(
    r"\b(?:und|für|nicht|eine[nrm]?|keine[nr]?|wird|wurde|statt|vom|zum|zur|beim|mit|seit|über|Nutzer(?:in)?|Benutzer(?:in)?)\b"
)
_ENDING: Final = lazy_pattern(r"['’]\w{1,5}$")  # Maria's, Kerem'in
_WEEKDAY: Final = lazy_pattern(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?"
)
_AGO: Final = lazy_pattern(r"\b[0-9]+ (?:day|week|month|year)s? ago\b", re.IGNORECASE)
_YEAR: Final = lazy_pattern(r"\b[12][0-9]{3}\b")
_OPEN: Final = frozenset({Tag.ISSUE, Tag.NEXT_STEP})
_LASTING: Final = frozenset({Tag.DECISION, Tag.PREFERENCE})
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

    @property
    def exact(self) -> int:
        return len(self.values) + len(self.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """What one or several lines say, to look keys up in. ``is_open``: one of them is an open issue or next step."""

    text: str
    values: frozenset[str]
    is_open: bool

    def holds(self, keys: _Keys, *, kept_share: float = KEPT_SHARE, words_share: float = WORDS_SHARE) -> bool:
        """Whether enough of the keys and of the words occur here."""
        return self.kept(keys) >= kept_share * keys.exact and self.words(keys) >= words_share * len(keys.words)

    def holds_akin(self, keys: _Keys, *, is_open: bool) -> bool:
        """The same, for lines that cite the same messages."""
        kept, words = self.kept(keys), self.words(keys)
        if kept < KEPT_SHARE * keys.exact:
            return False
        if kept == keys.exact >= EXACT_MIN or (is_open and self.is_open and words):
            return True
        return words >= WORDS_SHARE_AKIN * len(keys.words)

    def kept(self, keys: _Keys) -> int:
        return len(keys.values & self.values) + sum(name in self.text for name in keys.names)

    def words(self, keys: _Keys) -> int:
        return sum(word in self.text for word in keys.words)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """A line that tells a change: ``before`` is its "(before: ...)", as the observer is asked to write it."""

    subject: str
    said: _Said
    before: _Said

    def replaces(self, item: Item, keys: _Keys) -> bool:
        """Whether ``item`` says what was so before, of the same subject."""
        exact = self.before.kept(keys) if keys.exact else self.before.words(keys)
        return exact > 0 and _subject(item) == self.subject and self.said.holds(keys)


def protected(items: Sequence[Item]) -> tuple[Item, ...]:
    """The lines that have to survive: open issues and next steps, and 🔴 lines with numbers, names or identifiers.

    A line is open until a later ✅ or outcome line says what it said, and valid until a later line gives it as what was
    so before. Names are recognised by their capital; in a script that has none, and in German, where every noun has
    one, every 🔴 line is protected. Uncertain lines are not.
    """
    guarded: list[Item] = []
    done: list[_Said] = []
    changes: list[_Change] = []
    for item in reversed(items):
        if item.priority is Priority.DONE or item.tag is Tag.OUTCOME:
            done.append(_said(item))
            continue
        keys = _keys(item)
        matters = item.tag in _OPEN or (item.priority is Priority.HIGH and keys)
        is_over = any(said.holds(keys) for said in done) or any(change.replaces(item, keys) for change in changes)
        if matters and not item.uncertain and not is_over:
            guarded.append(item)
        if (change := _change(item)) is not None:
            changes.append(change)
    return tuple(reversed(guarded))


def lost(guarded: Iterable[Item], result: Sequence[Item]) -> tuple[Item, ...]:
    """The protected lines held neither by one line of ``result`` nor by all those together that cite the same messages.

    A line that is no decision or preference is also held, with less of its wording, by a ✅ line that cites all that it
    cites: it is settled.
    """
    lines = [(line, _said(line)) for line in result]
    return tuple(item for item in guarded if not _survives(item, lines))


def irreplaceable(item: Item) -> int:
    """How many numbers, dates, names and identifiers a line has, plus one if open and one in a caseless script."""
    keys = _keys(item)
    return len(keys.values) + len(keys.names) + keys.caseless + (item.tag in _OPEN)


def coverage(guarded: Sequence[Item], result: Sequence[Item]) -> float:
    """The share of protected lines that ``result`` still holds; 1.0 if there are none."""
    return 1 - len(lost(guarded, result)) / len(guarded) if guarded else 1.0


def with_lines(items: Sequence[Item], added: Iterable[Item]) -> tuple[Item, ...]:
    """The log with lines inserted verbatim, each within its day or, if the log has none of it, before a later day.

    Within a day a line stands before the first that cites later messages, else at the end.
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


def _change(item: Item) -> _Change | None:
    """The change that a line tells; None if there is none, or the line is foreign or uncertain: it replaces nothing."""
    found = BEFORE.search(item.text)
    if found is None or item.uncertain or item.origin is not None:
        return None
    before = replace(item, text=found.group(), details=())
    return _Change(subject=_subject(item), said=_said(item), before=_said(before))


def _subject(item: Item) -> str:
    """Whom or what a line is about: its first word, as a rule."""
    return item.text.partition(" ")[0].casefold()


def _survives(item: Item, lines: Sequence[tuple[Item, _Said]]) -> bool:
    keys = _keys(item)
    if any(said.holds(keys) for _, said in lines):
        return True
    akin = [(line, said) for line, said in lines if touches(seqs_of(line.cites), item.cites)]
    if akin and _together([said for _, said in akin]).holds_akin(keys, is_open=item.tag in _OPEN):
        return True
    done = (said for line, said in akin if line.priority is Priority.DONE and _rests_on_all(line, item))
    return item.tag not in _LASTING and any(
        said.holds(keys, kept_share=DONE_SHARE, words_share=WORDS_SHARE_AKIN) for said in done
    )


def _rests_on_all(line: Item, item: Item) -> bool:
    """Whether the line cites all that the item cites."""
    return all(any(own.first <= cite.first and cite.last <= own.last for own in line.cites) for cite in item.cites)


def _together(said: Sequence[_Said]) -> _Said:
    return _Said(
        text="\n".join(one.text for one in said),
        values=frozenset[str]().union(*(one.values for one in said)),
        is_open=any(one.is_open for one in said),
    )


def _keys(item: Item) -> _Keys:
    """The keys of a line, without its "(before: ...)", a weekday beside a date, and "... ago" beside a year."""
    text = BEFORE.sub("", item.text)
    text = _AGO.sub(" ", text) if _YEAR.search(text) else text
    found = claims(text)
    undated = without(text, date_phrases(text))
    caseless = _CASELESS.search(undated) is not None or _NOUNS_CAPITALISED.search(undated) is not None
    named = () if caseless else (word.group() for word in _NAME.finditer(undated) if word.group()[0].isupper())
    names = {_ENDING.sub("", name.casefold()) for name in named}
    if found.dates:
        names = {name for name in names if not _WEEKDAY.fullmatch(name)}
    return _Keys(
        values=frozenset(form for n in (*found.short, *found.codes, *found.numbers) for form in numerals(n))
        | _days(text)
        | set(found.times),
        names=frozenset(names - _SPEAKERS) | set(found.identifiers),
        words=_words(normal(undated)),
        caseless=caseless,
    )


def _said(item: Item) -> _Said:
    """What a line says; a day also counts as its month."""
    text = item.whole_text
    days = {form for phrase in _dates(text) for form in (_day(phrase), _day(replace(phrase, day=None)))}
    return _Said(
        text=normal(text),
        values=numerals(text) | days | set(claims(text).times),
        is_open=item.tag in _OPEN and item.priority is not Priority.DONE,
    )


def _days(text: str) -> frozenset[str]:
    return frozenset(map(_day, _dates(text)))


def _dates(text: str) -> Iterator[DatePhrase]:
    return date_phrases(days_apart(text))


def _day(phrase: DatePhrase) -> str:
    return f"{phrase.month}/{phrase.day}"


def _words(plain: str) -> frozenset[str]:
    """The words of a text that carry meaning; in scripts without capitals every two adjacent characters."""
    runs = _CASELESS.findall(plain)
    pairs = {run[at : at + 2] for run in runs for at in range(max(1, len(run) - 1))}
    return frozenset(pairs | set(terms(_CASELESS.sub(" ", plain))) - _SPEAKERS)
