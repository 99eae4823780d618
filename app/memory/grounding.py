"""Whether what a line claims occurs in its source (memory-rules.md section 4, Gates)."""

import re
from bisect import bisect_right
from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property, partial
from math import inf
from typing import Any, Final
from zoneinfo import ZoneInfo

from app.kit.days import DatePhrase, date_phrases, days_alone, figure_phrases, parse_day, partial_phrases
from app.memory import time_words
from app.memory.cited import Cited
from app.memory.claims import (
    BEFORE,
    DAY_OFFSETS,
    PHONE_DIGITS_MIN,
    TRIMMED,
    WEEKDAYS,
    Claims,
    claims,
    named_days,
    normal,
)
from app.memory.clock import clock_times
from app.memory.model import Cite, Item, Ranges, seqs_of
from app.memory.numbers import NUMBER, forms, groups, listed_numerals
from app.memory.spans import merged
from app.sessions.model import Message, Part, PartType, Role

COMPUTED_DAYS_MAX: Final = 366  # how far "last May", "next week" and the like may lead from the day they are said on
DAY_ALONE_DAYS_MAX: Final = 31  # and "the 14th"
NAME_LETTERS: Final = 3
_BEFORE_NAMES: Final = (
    "about|and|are|asked|at|but|by|called|for|from|is|like|met|named|of|or|saw|than|that|to|told|was|were|with"
)
_NO_NAMES: Final = frozenset({"user", "assistant", "agent", "bot", "human"})
_FIRST_WORD: Final = re.compile(r"[^\W\d_]+")
_YEAR: Final = re.compile("[12][0-9]{3}")
_YEARS_AWAY: Final = re.compile("[0-9]{1,4}")
# Of a class or a module, ``TimeDelta._serialize``; no file. And codes that are told at once: ``HAT030/HAT223``.
_ENDINGS: Final = "cfg|css|csv|html|ini|json|lock|log|sql|toml|txt|xml|yaml|yml"
_MEMBER: Final = re.compile(rf"\w{{3,}}(?:\.(?!(?:{_ENDINGS})$)\w{{3,}})+")
_CODES: Final = re.compile(r"(?=\w*\d)\w++(?:[/+](?=\w*\d)\w++)+")
_MEMBERS: Final = re.compile(r"\.")
_TOGETHER: Final = re.compile("[/+]")
_VERSION: Final = re.compile(r"v[0-9][0-9.]*")
_JOINT: Final = re.compile(r"(?<=[a-z])[ -](?=[0-9])")  # in LH 123, covid-19
_GROUPING: Final = str.maketrans("", "", " ().-/")

# Of a language whose words are missing there only the computed dates are affected: their lines are kept as uncertain.
_RELATIVE: Final = re.compile(
    rf"(?<![\w\u0900-\u0963])(?:{'|'.join(time_words.RELATIVE.split(chr(10))[1:-1])})(?![\w\u0900-\u0963])"
    rf"|{'|'.join(time_words.RELATIVE_UNSPACED.split(chr(10))[1:-1])}"
)


@dataclass(frozen=True, kw_only=True)  # no slots: what a claim asks for is found when the first asks for it, and kept
class Source:
    """One message, or one line being condensed: what it says, in one form, and ``day`` and ``time``, of its saying.

    ``speaker``: the first word of the name of who says it, where there is one.
    """

    seqs: Ranges
    text: str
    day: date | None
    time: str | None
    uncertain: bool = False
    speaker: str = ""

    @cached_property
    def numbers(self) -> frozenset[str]:
        return listed_numerals(self.text)

    @cached_property
    def times(self) -> frozenset[str]:
        return clock_times(self.text) | ({self.time} if self.time else set())

    @cached_property
    def dates(self) -> tuple[DatePhrase, ...]:
        """With a day alone it may be of the month of another: "from October 3 to the 24th"."""
        named = tuple(date_phrases(self.text))
        beside = (replace(said, day=day) for said in named if said.day for day in self.days)
        return (*named, *partial_phrases(self.text), *beside)

    @cached_property
    def days(self) -> frozenset[int]:
        """Those that it names without their month."""
        return days_alone(self.text)

    @cached_property
    def relative(self) -> bool:
        """Whether it speaks of time as seen from its day."""
        return _RELATIVE.search(self.text) is not None

    @cached_property
    def years(self) -> frozenset[str]:
        """Its own year, and those that "last year" or "3 years ago" lead to from it."""
        if self.day is None:
            return frozenset()
        away = {0}
        if self.relative:
            away |= {1, *(int(number) for number in self.numbers if _YEARS_AWAY.fullmatch(number))}
        return frozenset(str(self.day.year + sign * years) for years in away for sign in (-1, 1))


@dataclass(frozen=True, kw_only=True)
class Ground:
    """Sources asked as one, so that a claim costs no more where there are many of them."""

    sources: Sequence[Source]

    @property
    def uncertain(self) -> bool:
        """Whether all of them are."""
        return all(source.uncertain for source in self.sources)

    @cached_property
    def text(self) -> str:
        """What they say, a line each: none of them holds a line break."""
        return "\n".join(source.text for source in self.sources)

    @cached_property
    def ungrouped(self) -> str:
        return self.text.translate(_GROUPING)

    @cached_property
    def joined(self) -> str:
        return _JOINT.sub("", self.text)

    @cached_property
    def seqs(self) -> Ranges:
        return merged(span for source in self.sources for span in source.seqs)

    @cached_property
    def numbers(self) -> frozenset[str]:
        return frozenset[str]().union(*(source.numbers for source in self.sources))

    @cached_property
    def times(self) -> frozenset[str]:
        return frozenset[str]().union(*(source.times for source in self.sources))

    @cached_property
    def years(self) -> frozenset[str]:
        return frozenset[str]().union(*(source.years for source in self.sources))

    @cached_property
    def dates(self) -> frozenset[tuple[int, int | None, int | None, int | None]]:
        """Month, day and year of each, and where it names no year that of its saying."""
        return frozenset(
            (said.month, said.day, said.year, None if said.year or source.day is None else source.day.year)
            for source in self.sources
            for said in source.dates
        )

    @cached_property
    def named(self) -> frozenset[tuple[str, int, int | None]]:
        return frozenset(
            (word, said.month, said.day) for source in self.sources for word, said in named_days(source.text)
        )

    @cached_property
    def reaches(self) -> dict[date, tuple[bool, frozenset[int]]]:
        """Of each day on which something was said, whether relative to it, and the days named without their month."""
        found: dict[date, tuple[bool, frozenset[int]]] = {}
        for source in self.sources:
            if source.day is not None:
                relative, days = found.get(source.day, (False, frozenset[int]()))
                found[source.day] = (relative or source.relative, days | source.days)
        return found


class Grounds:
    """What the lines of a draft can rest on, by what they cite.

    ``anywhere`` is all that the model was shown: the sources and ``known``, lines that it was to go on from.
    """

    def __init__(self, sources: Sequence[Source], *, known: Sequence[Source] = ()) -> None:
        self.anywhere = Ground(sources=[source for source in (*sources, *known) if not source.uncertain])
        self._cited = Cited(sources)
        self._sources = sources
        self._all = _ground(sources)
        self._by_cite: dict[Cite, Ground] = {}
        self._speakers = frozenset(source.speaker for source in sources if len(source.speaker) >= NAME_LETTERS)

    def misattributed(self, text: str, cites: Iterable[Cite]) -> bool:
        """Whether the text begins with one of several speakers who neither says what it cites nor is spoken of there.

        To be spoken to is not enough: "Thanks, Mel!" is no word of hers.
        """
        begun = _FIRST_WORD.match(normal(text))
        if begun is None or len(self._speakers) < 2 or begun[0] not in self._speakers:  # noqa: PLR2004 - nobody else is meant
            return False
        cited = self.of(cites)
        if any(source.speaker == begun[0] for ground in cited for source in ground.sources):
            return False
        name = rf"\b{begun[0][:NAME_LETTERS]}\w*"
        spoken_of = re.compile(rf"{name}(?:'s| \w)|\b(?:{_BEFORE_NAMES}) {name}")
        return not any(spoken_of.search(ground.text) for ground in cited)

    def of(self, cites: Iterable[Cite]) -> Sequence[Ground]:
        """The sources that ``cites`` name; all of them where it names none."""
        return [ground for cite in dict.fromkeys(cites) if (ground := self._by(cite)).sources] or [self._all]

    def _by(self, cite: Cite) -> Ground:
        found = self._by_cite.get(cite)
        if found is None:
            found = self._by_cite[cite] = _ground([self._sources[at] for at in self._cited.places(cite)])
        return found


def _ground(sources: Sequence[Source]) -> Ground:
    """Without the uncertain ones, unless there are no others: what they say is no ground for another line."""
    return Ground(sources=[source for source in sources if not source.uncertain] or sources)


def message_source(message: Message, timezone: ZoneInfo) -> Source:
    """What a message says: its texts, calls and results, not the model's reasoning."""
    said = message.created_at.astimezone(timezone)
    told = "\n".join(text for part in message.parts for text in texts_of(part))
    speaker = _FIRST_WORD.match(normal(message.name or "")) if message.role in {Role.USER, Role.ASSISTANT} else None
    return Source(
        seqs=((message.seq, message.seq),),
        text=normal(f"{message.name or ''}\n{told}"),
        day=said.date(),
        time=f"{said:%H:%M}",
        speaker=speaker[0] if speaker and speaker[0] not in _NO_NAMES else "",
    )


def item_source(item: Item) -> Source:
    """What a line of the log says, with its details, its header and its own time."""
    text = "\n".join([item.text, item.day, *(detail.text for detail in item.details)])
    return Source(
        seqs=seqs_of(item.all_cites),
        text=normal(text),
        day=parse_day(item.day),
        time=item.time,
        uncertain=item.uncertain,
    )


def stands_on(text: str, grounds: Sequence[Ground], *, anywhere: Ground | None = None) -> bool:
    """Whether every claim of ``text`` occurs in one of the sources, or is a date that follows from its day.

    ``anywhere`` may hold the names and what was "(before: ...)": a line calls a thing by its name where the message
    that it cites says "it", and the former state was told before.
    """
    return next(unfounded(text, grounds, anywhere=anywhere), None) is None


def unfounded(text: str, grounds: Sequence[Ground], *, anywhere: Ground | None = None) -> Iterator[str]:
    """The claims of ``text`` that no source holds."""
    wide = grounds if anywhere is None else (*grounds, anywhere)
    yield from _unheld(claims(BEFORE.sub(" ", text)), grounds, named=wide)
    for before in BEFORE.findall(text):
        yield from _unheld(claims(before), wide, named=wide)


def _unheld(found: Claims, grounds: Sequence[Ground], *, named: Sequence[Ground]) -> Iterator[str]:
    checks: tuple[tuple[Sequence[Any], Callable[[Any, Ground], bool], Sequence[Ground]], ...] = (
        (found.quotes, _quotes, grounds),
        (found.dates, _dates, grounds),
        (found.figures, _figures, grounds),
        (found.short, _short, grounds),
        (found.named, _named, grounds),
        (found.identifiers, _names, named),
        (found.times, _times, grounds),
        (found.hours, _hours, grounds),
        (found.codes, _counts, named),
        (found.numbers, _counts, grounds),
    )
    for values, holds, among in checks:
        for value in values:
            if not any(map(partial(holds, value), among)):
                yield str(value)


def _quotes(quote: str, ground: Ground) -> bool:
    """Whether one source says the quote, or each piece of it between dots of omission, word by word."""
    pieces = [piece.strip(TRIMMED) for piece in quote.split("...")]
    if not all(piece in ground.text for piece in pieces):
        return False
    return len(pieces) == 1 or any(all(piece in source.text for piece in pieces) for source in ground.sources)


def _names(name: str, ground: Ground) -> bool:
    """Whether the name is there, also joined otherwise, without its dot, or in its parts.

    Who says "nextjs" means Next.js, and who says "flight LH 123" LH123.
    """
    if name in ground.text or ("." in name and name.replace(".", "") in ground.text):
        return True
    if _VERSION.fullmatch(name):
        return name[1:] in ground.text
    if re.search(rf"(?<![a-z0-9]){re.escape(_JOINT.sub('', name))}(?![a-z0-9])", ground.joined):
        return True
    parts = _MEMBERS.split(name) if _MEMBER.fullmatch(name) else _TOGETHER.split(name) if _CODES.fullmatch(name) else ()
    return bool(parts) and all(_is_apart(part, ground.text) for part in parts)


def _is_apart(part: str, text: str) -> bool:
    """Whether the part stands there as a word of its own."""
    return re.search(rf"(?<![\w.]){re.escape(part)}(?![\w]|\.\w)", text) is not None


def _times(time: str, ground: Ground) -> bool:
    return time in ground.times


def _hours(hours: str, ground: Ground) -> bool:
    return bool(clock_times(hours) & ground.times) or all(_counts(number, ground) for number in NUMBER.findall(hours))


def _counts(number: str, ground: Ground) -> bool:
    """Whether it is there in some form; several that stand together, if each of them is."""
    if number.startswith("#") and _is_seq(number[1:], ground.seqs):
        return True
    meant = forms(number)
    if meant & ground.numbers or any(_YEAR.fullmatch(form) and form in ground.years for form in meant):
        return True
    digits = number.translate(_GROUPING)
    if len(digits) >= PHONE_DIGITS_MIN and digits.isdecimal() and digits in ground.ungrouped:
        return True
    parts = groups(number) or [part for part in NUMBER.findall(number) if part != number]
    return bool(parts) and all(_counts(part, ground) for part in parts)


def _is_seq(number: str, seqs: Ranges) -> bool:
    if re.fullmatch("[0-9]{1,9}", number) is None:
        return False
    at = bisect_right(seqs, int(number), key=lambda span: span[0]) - 1
    return at >= 0 and int(number) <= seqs[at][1]


def _dates(phrase: DatePhrase, ground: Ground) -> bool:
    if any(_is_said(phrase, *said) for said in ground.dates):
        return True
    return any(_is_computed(phrase, day, *reach) for day, reach in ground.reaches.items())


def _figures(read: Sequence[DatePhrase], ground: Ground) -> bool:
    return any(_dates(phrase, ground) for phrase in read)


def _short(written: str, ground: Ground) -> bool:
    """Whether it is there as a date or, as it may be none, by its numbers."""
    if any(_figures(read, ground) for read in figure_phrases(written)):
        return True
    return _counts(written.rstrip(".月월 "), ground)


def _named(named: tuple[str, DatePhrase], ground: Ground) -> bool:
    """Whether the date is that of its word, ``yesterday`` or a weekday, if it is not the source that says so."""
    word, phrase = named
    if (word, phrase.month, phrase.day) in ground.named or not ground.reaches:
        return True
    days = [day for said in ground.reaches for year in _years(phrase, said) if (day := phrase.on(year))]
    if word in DAY_OFFSETS:
        return any((day - said).days == DAY_OFFSETS[word] for said in ground.reaches for day in days)
    return any(WEEKDAYS[day.weekday()] == word for day in days)


def _is_said(phrase: DatePhrase, month: int, day: int | None, year: int | None, near: int | None) -> bool:
    """Whether a date says this one; without a year it means one near that of its saying."""
    if phrase.month != month or phrase.day not in {None, day}:
        return False
    if phrase.year is None or year is not None:
        return phrase.year in {None, year}
    return near is None or abs(phrase.year - near) <= 1


def _is_computed(phrase: DatePhrase, said: date, relative: bool, alone: frozenset[int]) -> bool:  # noqa: FBT001 - of a tuple
    """Whether the date is the day of saying, or near it where something is said relative to that."""
    near = DAY_ALONE_DAYS_MAX if phrase.day in alone else 0
    reach = COMPUTED_DAYS_MAX if relative else near
    return any(_days_between(phrase, year, said) <= reach for year in _years(phrase, said))


def _years(phrase: DatePhrase, said: date) -> Sequence[int]:
    """Those that the date may mean."""
    return range(said.year - 1, said.year + 2) if phrase.year is None else (phrase.year,)


def _days_between(phrase: DatePhrase, year: int, day: date) -> float:
    """Days from ``day`` to what the phrase means in ``year``: to the nearest day of the month if it names no day."""
    first = phrase.on(year)
    if first is None:
        return inf
    length = 0 if phrase.day else monthrange(year, phrase.month)[1] - 1
    return max(0, (first - day).days, (day - first).days - length)


def texts_of(part: Part) -> Iterator[str]:
    """Every text in what a part says."""
    return _texts(_said(part))


def _said(part: Part) -> tuple[Any, ...]:
    match part.get("type"):
        case PartType.TEXT:
            return (part.get("text"),)
        case PartType.TOOL_CALL:
            return (part.get("name"), part.get("arguments"))
        case PartType.TOOL_RESULT:
            return (part.get("output"),)
        case PartType.IMAGE | PartType.FILE:
            return (part.get("url"), part.get("name"))
    return ()


def _texts(values: Sequence[Any]) -> Iterator[str]:
    """Every string, number and key in JSON values, each as a text of its own."""
    pending = list(values)
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            pending += [*value, *value.values()]
        elif isinstance(value, list | tuple):
            pending += value
        elif value is not None:
            yield str(value)
