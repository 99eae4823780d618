"""Whether what a line claims occurs in its source (memory-rules.md section 4, Gates)."""

import re
from calendar import monthrange
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property, partial
from math import inf
from typing import Any, Final
from zoneinfo import ZoneInfo

from app.kit.days import DatePhrase, date_phrases, days_alone, parse_day, partial_phrases
from app.memory.claims import claims, clock_times, normal, numerals
from app.memory.model import Item, Ranges, seqs_of
from app.sessions.model import Message, Part, PartType

COMPUTED_DAYS_MAX: Final = 366  # how far "last May", "next week" and the like may lead from the day they are said on
DAY_ALONE_DAYS_MAX: Final = 31  # and "the 14th"
PHONE_DIGITS_MIN: Final = 7  # a number of so many is the same however its digits are grouped
_GROUPING: Final = str.maketrans("", "", " ().-/")

# Words that place something in time from the day they are said on. Of a language missing here only the computed dates
# are affected: their lines are kept as uncertain.
_RELATIVE: Final = re.compile(
    r"\b(?:today|tonight|yesterday|tomorrow|ago|last|past|next|this|coming|since|recently|lately|later|soon|before|after"
    r"|previous|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekends?|weeks?|months?|years?|days|morning|evening"
    r"|heute|gestern|morgen|vorgestern|letzte[nrs]?|nächste[nrs]?|vor|seit"
    r"|aujourd'hui|hier|demain|prochaine?s?|derni(?:er|ère)s?"
    r"|hoy|ayer|mañana|pasad[oa]s?|próxim[oa]s?|hace"
    r"|hoje|ontem|amanhã|passad[oa]s?|oggi|ieri|domani|scors[oa]|prossim[oa])\b"
    r"|오늘|어제|그제|내일|모레|지난|작년|올해|내년|다음|이번|전에|후에|뒤"
    r"|今天|今日|昨天|昨日|前天|明天|明日|后天|後天|[上下]个|[上下]個|[上下]周|[上下]週|[去今明]年|[来來]年|[先今来][週月]"
    r"|前に|後に|之前|之后|之後"
)


@dataclass(frozen=True, kw_only=True)  # no slots: what a claim asks for is found when the first asks for it, and kept
class Source:
    """One message, or one line being condensed: what it says, in one form, and ``day`` and ``time``, of its saying."""

    seqs: Ranges
    first_seq: int
    last_seq: int
    text: str
    day: date | None
    time: str | None
    uncertain: bool = False

    @cached_property
    def numbers(self) -> frozenset[str]:
        return numerals(self.text)

    @cached_property
    def times(self) -> frozenset[str]:
        return clock_times(self.text) | ({self.time} if self.time else set())

    @cached_property
    def dates(self) -> tuple[DatePhrase, ...]:
        return (*date_phrases(self.text), *partial_phrases(self.text))

    @cached_property
    def days(self) -> frozenset[int]:
        """Those that it names without their month."""
        return days_alone(self.text)

    @cached_property
    def relative(self) -> bool:
        """Whether it speaks of time as seen from its day."""
        return _RELATIVE.search(self.text) is not None


def message_source(message: Message, timezone: ZoneInfo) -> Source:
    """What a message says: its texts, calls and results, not the model's reasoning."""
    said = message.created_at.astimezone(timezone)
    text = "\n".join([message.name or "", *(text for part in message.parts for text in texts_of(part))])
    return _source(text, seqs=((message.seq, message.seq),), day=said.date(), time=f"{said:%H:%M}")


def item_source(item: Item) -> Source:
    """What a line of the log says, with its details, its header and its own time."""
    text = "\n".join([item.text, item.day, *(detail.text for detail in item.details)])
    return _source(
        text, seqs=seqs_of(item.all_cites), day=parse_day(item.day), time=item.time, uncertain=item.uncertain
    )


def is_grounded(text: str, sources: Sequence[Source]) -> bool:
    """Whether every claim of ``text`` occurs in one of the sources, or is a date that follows from its day."""
    return next(unfounded(text, sources), None) is None


def unfounded(text: str, sources: Sequence[Source]) -> Iterator[str]:
    """The claims of ``text`` that no source holds."""
    found = claims(text)
    checks: tuple[tuple[Sequence[Any], Callable[[Any, Source], bool]], ...] = (
        (found.quotes, _quotes),
        (found.dates, _dates),
        (found.identifiers, _names),
        (found.times, _times),
        (found.numbers, _counts),
    )
    for values, holds in checks:
        for value in values:
            if not any(map(partial(holds, value), sources)):
                yield str(value)


def _source(text: str, *, seqs: Ranges, day: date | None, time: str | None, uncertain: bool = False) -> Source:
    return Source(
        seqs=seqs,
        first_seq=min((first for first, _ in seqs), default=0),
        last_seq=max((last for _, last in seqs), default=-1),
        text=normal(text),
        day=day,
        time=time,
        uncertain=uncertain,
    )


def _quotes(quote: str, source: Source) -> bool:
    """Whether the quote, or each piece of it between dots of omission, is there word by word."""
    return all(piece.strip(" .,;:!?'") in source.text for piece in quote.split("..."))


def _names(name: str, source: Source) -> bool:
    """Whether the name is there, also without its dot: who says "nextjs" means Next.js."""
    return name in source.text or ("." in name and name.replace(".", "") in source.text)


def _times(time: str, source: Source) -> bool:
    return time in source.times


def _counts(number: str, source: Source) -> bool:
    if number.startswith("#") and _is_seq(number[1:], source):
        return True
    forms = numerals(number)
    if forms & source.numbers or any(_is_computed_year(form, source) for form in forms):
        return True
    return len(number) >= PHONE_DIGITS_MIN and number.isdecimal() and number in source.text.translate(_GROUPING)


def _is_seq(number: str, source: Source) -> bool:
    return re.fullmatch("[0-9]{1,9}", number) is not None and any(a <= int(number) <= b for a, b in source.seqs)


def _is_computed_year(number: str, source: Source) -> bool:
    """Whether a bare year is the source's own, or is reached by "last year" or "3 years ago"."""
    if source.day is None or not re.fullmatch("[12][0-9]{3}", number):
        return False
    away = abs(source.day.year - int(number))
    return away == 0 or (source.relative and (away == 1 or str(away) in source.numbers))


def _dates(phrase: DatePhrase, source: Source) -> bool:
    return any(_is_said(phrase, other, source.day) for other in source.dates) or _is_computed(phrase, source)


def _is_said(phrase: DatePhrase, other: DatePhrase, day: date | None) -> bool:
    """Whether ``other``, of a text said on ``day``, says the date; without a year it means one near that day."""
    if phrase.month != other.month or phrase.day not in {None, other.day}:
        return False
    if phrase.year is None or other.year is not None:
        return phrase.year in {None, other.year}
    return day is None or abs(phrase.year - day.year) <= 1


def _is_computed(phrase: DatePhrase, source: Source) -> bool:
    """Whether the date is the source's day, or near it in a source that speaks of time relative to its day."""
    if source.day is None:
        return False
    years = range(source.day.year - 1, source.day.year + 2) if phrase.year is None else (phrase.year,)
    alone = DAY_ALONE_DAYS_MAX if phrase.day in source.days else 0
    reach = COMPUTED_DAYS_MAX if source.relative else alone
    return any(_days_between(phrase, year, source.day) <= reach for year in years)


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
