"""The sources that lines of a draft can rest on: messages, or lines that are condensed (memory-rules.md 4, Gates)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, tzinfo
from functools import cached_property
from typing import Final
from zoneinfo import ZoneInfo

from app.kit.days import DatePhrase, date_phrases, days_alone, parse_day, partial_phrases
from app.kit.patterns import lazy_pattern
from app.memory.cited import Cited
from app.memory.grounding import time_words
from app.memory.grounding.claims import degrees, named_days, normal
from app.memory.grounding.clock import clock_times
from app.memory.grounding.numbers import listed_numerals
from app.memory.grounding.spoken import END, START, Spoken, spoken
from app.memory.model import Cite, Item, seqs_of
from app.memory.ranges import Ranges, merged
from app.memory.texts import all_text
from app.sessions.model import Message, Role

NAME_LETTERS: Final = 3
_BEFORE_NAMES: Final = (
    "about|and|are|asked|at|but|by|called|for|from|is|like|met|named|of|or|saw|than|that|to|told|was|were|with"
)
_NO_NAMES: Final = frozenset({"user", "assistant", "agent", "bot", "human"})
_FIRST_WORD: Final = lazy_pattern(r"[^\W\d_]+")
_YEARS_AWAY: Final = lazy_pattern("[0-9]{1,4}")
_MOMENT: Final = lazy_pattern(
    r"(?<![0-9])[0-9]{4}-[0-9]{2}-[0-9]{2}[t ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?"
    r"(?:z|[+-][0-9]{2}:?[0-9]{2})|(?<![\w.,-])1[0-9]{9}(?:[0-9]{3})?(?![\w.,-])"
)
JOINT: Final = lazy_pattern(r"(?<=[a-z])[ -](?=[0-9])")  # in LH 123, covid-19
GROUPING: Final = str.maketrans("", "", " ().-/")

# In a language without words there only computed dates are affected: their lines are kept as uncertain.
_RELATIVE: Final = lazy_pattern(
    rf"{START}(?:{'|'.join(time_words.RELATIVE.split(chr(10))[1:-1])}){END}"
    rf"|{'|'.join(time_words.RELATIVE_UNSPACED.split(chr(10))[1:-1])}"
)


@dataclass(frozen=True, kw_only=True)  # no slots: what a claim needs is computed for the first one, and cached
class Source:
    """One message, or one line being condensed: its text in normal form, and ``day`` and ``time`` of its saying.

    ``speaker``: the first word of the speaker's name, if there is one. ``timezone``: that of its day and time.
    """

    seqs: Ranges
    text: str
    day: date | None
    time: str | None
    uncertain: bool = False
    speaker: str = ""
    timezone: ZoneInfo | None = None

    @cached_property
    def numbers(self) -> frozenset[str]:
        return listed_numerals(self.text, self.spoken)

    @cached_property
    def spoken(self) -> Spoken:
        return spoken(self.text)

    @property
    def _texts(self) -> tuple[str, ...]:
        """Its text, and the same in figures if it has numbers in words: "the third of May", "ten thirty"."""
        return (self.text,) if self.spoken.figures == self.text else (self.text, self.spoken.figures)

    @cached_property
    def times(self) -> frozenset[str]:
        said = frozenset[str]().union(*map(clock_times, self._texts))
        return said | {f"{moment:%H:%M}" for moment in self.moments} | ({self.time} if self.time else set())

    @cached_property
    def moments(self) -> tuple[datetime, ...]:
        """Timestamps of machines, ``2026-08-14T14:30:00Z`` or Unix (milli)seconds, in its time zone and in UTC."""
        if self.timezone is None:
            return ()
        zones = (self.timezone, UTC)
        return tuple(moment for written in set(_MOMENT.findall(self.text)) for moment in _in_zones(written, zones))

    @cached_property
    def dates(self) -> tuple[DatePhrase, ...]:
        """The dates it names. A day alone may be of the month of another: "from October 3 to the 24th"."""
        named = (
            *(phrase for text in self._texts for phrase in date_phrases(text)),
            *(DatePhrase(start=0, end=0, year=at.year, month=at.month, day=at.day) for at in self.moments),
        )
        beside = (replace(said, day=day) for said in named if said.day for day in self.days)
        return (*named, *(phrase for text in self._texts for phrase in partial_phrases(text)), *beside)

    @cached_property
    def days(self) -> frozenset[int]:
        """The days that it names without their month."""
        return frozenset[int]().union(*map(days_alone, self._texts))

    @cached_property
    def relative(self) -> bool:
        """Whether it speaks of time relative to its day."""
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
    """Several sources as one, so that a claim costs no more if there are many of them."""

    sources: Sequence[Source]

    @property
    def uncertain(self) -> bool:
        """Whether all sources are."""
        return all(source.uncertain for source in self.sources)

    @cached_property
    def text(self) -> str:
        """What the sources say, one per line: none of them holds a line break."""
        return "\n".join(source.text for source in self.sources)

    @cached_property
    def ungrouped(self) -> str:
        return self.text.translate(GROUPING)

    @cached_property
    def joined(self) -> str:
        return JOINT.sub("", self.text)

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
        """Month, day and year of each date, and for one without a year that of its saying."""
        return frozenset(
            (said.month, said.day, said.year, None if said.year or source.day is None else source.day.year)
            for source in self.sources
            for said in source.dates
        )

    @cached_property
    def degrees(self) -> frozenset[tuple[bool, str]]:
        return frozenset(degrees(self.text))

    @cached_property
    def named(self) -> frozenset[tuple[str, int, int | None]]:
        return frozenset(
            (word, said.month, said.day) for source in self.sources for word, said in named_days(source.text)
        )

    @cached_property
    def reaches(self) -> dict[date, tuple[bool, frozenset[int]]]:
        """By day of saying: whether something is said relative to it, and the days named without their month."""
        found: dict[date, tuple[bool, frozenset[int]]] = {}
        for source in self.sources:
            if source.day is not None:
                relative, days = found.get(source.day, (False, frozenset[int]()))
                found[source.day] = (relative or source.relative, days | source.days)
        return found


class Grounds:
    """The sources of the lines of a draft, by citation.

    ``anywhere`` is all that the model was shown, uncertain lines apart: the sources and ``known``, the earlier lines.
    """

    def __init__(self, sources: Sequence[Source], *, known: Sequence[Source] = ()) -> None:
        self.anywhere = Ground(sources=[source for source in (*sources, *known) if not source.uncertain])
        self._cited = Cited([source.seqs for source in sources], lambda at: _ground([sources[one] for one in at]))
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
        """The sources that ``cites`` name; all of them if they name none."""
        return self._cited.of(cites)


def _ground(sources: Sequence[Source]) -> Ground:
    """The sources without uncertain ones, unless all are: these are no ground for another line."""
    return Ground(sources=[source for source in sources if not source.uncertain] or sources)


def message_source(message: Message, timezone: ZoneInfo) -> Source:
    said = message.created_at.astimezone(timezone)
    speaker = _FIRST_WORD.match(normal(message.name or "")) if message.role in {Role.USER, Role.ASSISTANT} else None
    return Source(
        seqs=((message.seq, message.seq),),
        text=normal(f"{message.name or ''}\n{all_text(message.parts)}"),
        day=said.date(),
        time=f"{said:%H:%M}",
        timezone=timezone,
        speaker=speaker[0] if speaker and speaker[0] not in _NO_NAMES else "",
    )


def _in_zones(written: str, zones: Sequence[tzinfo]) -> Iterator[datetime]:
    with suppress(ValueError, OverflowError):  # no such day, or before the first of all in a zone further west
        at = float(written[:10]) if written.isdecimal() else datetime.fromisoformat(written.upper()).timestamp()
        yield from (datetime.fromtimestamp(at, tz=zone) for zone in zones)


def item_source(item: Item) -> Source:
    """What a line of the log says, with its details, its header and its own time."""
    return Source(
        seqs=seqs_of(item.all_cites),
        text=normal(f"{item.whole_text}\n{item.day}"),
        day=parse_day(item.day),
        time=item.time,
        uncertain=item.uncertain,
    )
