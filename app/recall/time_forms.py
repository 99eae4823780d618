"""Patterns of relative times (forms), each with a function from a match and a moment to the time meant. Pure.

The named groups of a pattern are units of time, a count, months and years. The first form that matches a phrase is
taken, so a longer one precedes its parts: "this time last year" comes before "last year".
"""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from app.kit.days import MONTHS, WEEKDAYS
from app.recall import time_words as words
from app.recall.periods import (
    Stretch,
    ago,
    around_last_year,
    calendar_stretch,
    day_of_month,
    decade,
    edge,
    month,
    season,
    since,
    this,
    tomorrow,
)
from app.recall.time_counts import counted_forms
from app.recall.time_patterns import (
    PARTICLE,
    Form,
    Meaning,
    any_of,
    before,
    form,
    never,
    pattern,
    spaced,
    unit_of,
    units_of,
)


def _rolling(match: re.Match[str], now: datetime) -> Stretch:
    return since(now, 1, unit_of(match))


def _this(match: re.Match[str], now: datetime) -> Stretch | None:
    return this(now, unit_of(match))


def _season(match: re.Match[str], now: datetime) -> Stretch:
    return season(now, unit_of(match), _year(match, "year_said"))


def _season_years_ago(years: int) -> Meaning:
    return lambda match, now: season(now, unit_of(match), now.year - years)


def _weekday(weeks: int) -> Meaning:
    """The weekday in the week ``weeks`` before this one."""
    return lambda match, now: calendar_stretch(
        ago(now, weeks, "week")[0] + timedelta(days=WEEKDAYS.index(unit_of(match))), "day"
    )


def _numbered_day(match: re.Match[str], now: datetime) -> Stretch | None:
    weekday = next((WEEKDAYS.index(name) for name in units_of(match) if name in WEEKDAYS), None)
    return day_of_month(now, int(match["count"]), weekday)


def _month_number(name: str) -> int:
    return _MONTHS.get(name.lower()) or int(name)


def _month(match: re.Match[str], now: datetime) -> Stretch:
    return month(now, _month_number(match["month_said"]))


def _since_month(match: re.Match[str], now: datetime) -> Stretch:
    return month(now, _month_number(match["month_said"]), _year(match, "year_said"))[0], tomorrow(now)


def _months(match: re.Match[str], now: datetime) -> Stretch:
    """From one month to the other: the latest of the latter that has begun, and the former before it."""
    first, last = (_month_number(match[name]) for name in ("first", "last"))
    begin, end = month(now, last, _year(match, "last_year"))
    return month(now, first, _year(match, "first_year") or begin.year - (first > last))[0], end


def _dotted_day(match: re.Match[str], now: datetime) -> Stretch:
    number, day = _month_number(match["month_said"]), int(match["count"])
    begun = now.year - ((now.month, now.day) < (number, day))
    return calendar_stretch(now.replace(year=begun, month=number, day=day), "day")


def _year(match: re.Match[str], name: str) -> int | None:
    said = match.groupdict().get(name)
    return int(said) if said else None


def _decade(match: re.Match[str], now: datetime) -> Stretch:
    said = match["decade"].lower()
    return decade(now, words.DECADES.get(said) or int(said))


def _edge_of_month(*, first: bool) -> Meaning:
    return lambda match, now: edge(
        month(now, _month_number(match["month_said"]), _year(match, "year_said")), unit_of(match), first=first
    )


def _around_last_year(_match: re.Match[str], now: datetime) -> Stretch:
    return around_last_year(now)


_WEEKDAY_WORDS: Final = dict(zip(WEEKDAYS, words.WEEKDAYS, strict=True))
_PERIODS: Final = {unit: words.UNITS[unit] for unit in ("weekend", "week", "month", "year")}
_PERIODS_ALONE: Final = {unit: names for unit, names in _PERIODS.items() if unit != "weekend"}
_LONGER: Final = _PERIODS | words.SEASONS | _WEEKDAY_WORDS
_UNSPACED_WEEKDAYS: Final = dict(zip(WEEKDAYS, words.UNSPACED_WEEKDAYS, strict=True))
_SHORTER: Final = frozenset(word for word in MONTHS if len(word) < len("mars")) - {"may", "mai"}  # other words too
_MONTHS: Final = {word: number for word, number in MONTHS.items() if word not in _SHORTER} | words.DUTCH_MONTHS
A_MONTH: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
_A_YEAR: Final = r"(?:,? (?:of |de |del |do )?(?P<{}>(?:19|20)\d\d))?"
_NO_NUMBER: Final = r"(?!,? (?:of |de |del |do )?\d)"
_NO_MONTH: Final = rf"(?!(?: ?(?:of|de|del|di|d'))? ?(?:{A_MONTH})\b)(?! ?[:\d]| ?(?:uhr|am|pm|h|o'clock)\b)"
_END: Final = r"(?=\W*$|[?.,;!])"

_NO_DAYS: Final = "起直共样樣些个個次家本"  # behind one: 上周一起 is no Monday, and 上周日本 no Sunday
_SIGNS: Final = "|".join(f"(?P<{day}>[{signs}])" for day, signs in _UNSPACED_WEEKDAYS.items())
_CHINESE_DAY: Final = rf"(?:{_SIGNS})(?![{_NO_DAYS}])"
_JAPANESE_DAY: Final = rf"(?:{_SIGNS})曜日?"
_KOREAN_DAY: Final = rf"(?:{_SIGNS})요일"
_WEEKS: Final = {"weekend": "(?:週の|주 )?(?:周末|週末|주말)", "week": "周|星期|礼拜|週|주", "month": "月|달"}
_NOT_A_LENGTH: Final = "(?![间間동])"


def _day_forms() -> Iterator[Form]:
    for count, phrases in words.DAYS_BEFORE.items():
        yield pattern(rf"\b(?:{phrases})\b"), before(count, "day")
    for count, phrases in words.UNSPACED_DAYS_BEFORE.items():
        yield pattern(f"(?:{phrases}){PARTICLE}"), before(count, "day")


def _week_day_forms() -> Iterator[Form]:
    """Monday of last week, of this one, and the last Monday. "Every Monday" and "next Monday" are no past times."""
    weeks = "周|週|星期|礼拜|禮拜"
    named = "|".join(_WEEKDAY_WORDS.values())
    yield pattern(rf"\b(?:{words.EVERY}) (?:{named})\b"), never
    yield pattern(rf"\b(?:{'|'.join(WEEKDAYS)})(?:s| (?:morning|afternoon|evening|night)s)\b"), never
    others, day = "[每毎下来來]个?|下個|次の|매|다음 ?", f"[{''.join(words.UNSPACED_WEEKDAYS)}](?:曜日?|요일)?"
    yield pattern(f"(?:{others})(?:{weeks}|주)?の? ?{day}"), never
    yield pattern(f"[周週][一日](?=[{_NO_DAYS}])"), never
    for count, chinese, japanese, korean in ((1, "上个?|上個?", "先", "지난"), (0, "这个?|這個?|本", "今", "이번")):
        yield pattern(f"(?:{chinese})(?:{weeks}){_CHINESE_DAY}"), _weekday(count)
        yield pattern(f"{japanese}週の?{_JAPANESE_DAY}{PARTICLE}"), _weekday(count)
        yield pattern(f"{korean} ?주 ?{_KOREAN_DAY}{PARTICLE}"), _weekday(count)
    yield pattern(f"(?:{weeks}){_CHINESE_DAY}"), before(1)
    yield pattern(f"{_JAPANESE_DAY}(?<=日){PARTICLE}"), before(1)
    yield pattern(f"(?:지난 ?)?{_KOREAN_DAY}{PARTICLE}"), before(1)


def _season_forms() -> Iterator[Form]:
    said, unspaced = f"(?:{any_of(words.SEASONS)})", f"(?:{any_of(words.UNSPACED_SEASONS)})"
    yield pattern(rf"\b{said}(?: of| de| del| do)? (?P<year_said>(?:19|20)\d\d)\b"), _season
    yield pattern(rf"(?P<year_said>(?:19|20)\d\d) ?[年년](?:の|的| )?{unspaced}{PARTICLE}"), _season
    yield pattern(rf"\b{said} (?:{words.OF_LAST_YEAR})\b"), _season_years_ago(1)
    yield pattern(rf"\blast year's {said}\b"), _season_years_ago(1)
    for years, names in words.UNSPACED_YEARS_BEFORE.items():
        yield pattern(f"(?:{names})(?:の|的| )?{unspaced}{PARTICLE}"), _season_years_ago(years)
    yield pattern(f"(?:上个|上個|지난 ?){unspaced}{PARTICLE}"), before(1)
    yield pattern(rf"\b(?:{words.LAST}) {said}\b"), before(1)
    yield pattern(rf"\b{said} (?:{words.LAST_BEHIND})\b"), before(1)
    yield pattern(rf"\b(?:{words.THIS}) {said}\b"), _this
    yield pattern(rf"\b(?:{words.IN})(?: |(?<=['’])){said}\b(?! (?-i:[A-Z]))"), _season
    yield pattern(f"(?:[每毎]年の?|매년 ){unspaced}"), never
    yield pattern(f"(?:在|整个){unspaced}(?<=[天季])"), _season
    yield pattern(f"(?:この|이번 ?){unspaced}(?:の間)?{PARTICLE}"), _season
    yield pattern(f"{unspaced}(?:には?|の間|에는?|동안)"), _season


def _decade_forms() -> Iterator[Form]:
    said = r"(?P<decade>(?:19|20)?\d0)"
    named = f"(?:19|20)?\\d0['’]?s|{'|'.join(words.DECADES)}"
    yield pattern(rf"\b(?:my|your|his|her|our|their) (?:early |late |mid[- ]?)?(?:{named})\b"), never
    yield pattern(rf"\bthe (?:early |late |mid[- ]?)?(?P<decade>{'|'.join(words.DECADES)})\b"), _decade
    yield pattern(rf"\bthe (?:early |late |mid[- ]?)?['’]?{said}['’]?s\b"), _decade
    yield pattern(r"\b(?P<decade>(?:19|20)\d0)['’]?s\b"), _decade
    yield pattern(r"(?<!\w)['’]?\d0['’]?s\b(?! ago\b)"), never
    yield pattern(rf"\b(?:de[nr]|die) (?:frühen |späten )?{said}ern?(?: jahren?)?\b"), _decade
    yield pattern(rf"\b(?:{words.DECADE_BEHIND}) ['’]?{said}\b(?! ?[\d:])"), _decade
    yield pattern(rf"(?<!\d){said} ?(?:年代|년대|-[хе]\b){PARTICLE}"), _decade


def _month_forms() -> Iterator[Form]:
    first, last = rf"(?P<first>{A_MONTH})", rf"(?P<last>{A_MONTH})"
    one = rf"(?P<month_said>{A_MONTH})"
    week = {unit: words.UNITS[unit] for unit in ("weekend", "week")}
    for said, is_first in ((words.FIRST, True), (f"{words.LAST}|laatste", False)):
        part = rf"\b(?:{said}) (?:{any_of(week)})(?:{words.PART_OF}){one}\b{_A_YEAR.format('year_said')}"
        yield pattern(part), _edge_of_month(first=is_first)
    both = f"{first}{_A_YEAR.format('first_year')} (?:{words.TO}|{words.AND}) {last}{_A_YEAR.format('last_year')}"
    yield pattern(rf"\b(?:{words.BETWEEN}) {both}\b"), _months
    to = f" ?(?:[-–—]|(?<= )(?:{words.TO})(?= )) ?"
    yield pattern(rf"\b{first}{_A_YEAR.format('first_year')}{to}{last}{_A_YEAR.format('last_year')}\b"), _months
    yield (
        pattern(
            r"(?<!\d)(?P<first>\d{1,2})[月월] ?(?:到|至|から|부터|[-~〜～]) ?(?P<last>\d{1,2})[月월](?:まで|까지)?"
        ),
        _months,
    )
    yield pattern(rf"\b(?:{words.SINCE}) {one}\b(?! \d{{1,2}}\b){_A_YEAR.format('year_said')}"), _since_month
    yield pattern(rf"\b(?:{words.IN_MONTH}) {one}\b{_NO_NUMBER}"), _month
    yield pattern(rf"\b{one} (?:{words.LAST_BEHIND})\b"), _month


def _numbered_day_forms() -> Iterator[Form]:
    dotted = rf"(?P<count>\d{{1,2}})\. (?P<month_said>{A_MONTH})\b{_NO_NUMBER}"
    yield pattern(rf"(?<![\d.])(?:\b(?:am|vom) )?{dotted}"), _dotted_day
    english = "|".join(f"(?P<{day}>{day})" for day in WEEKDAYS)
    others = "|".join(f"(?P<{day}>{names})" for day, names in _WEEKDAY_WORDS.items())
    yield pattern(rf"\b(?:{english}),? (?:the )?(?P<count>\d{{1,2}})(?:st|nd|rd|th)\b{_NO_MONTH}"), _numbered_day
    yield (
        pattern(rf"\b(?:{others}),? (?:(?:de[mnr]|le|el|il|dia|de) )?(?P<count>\d{{1,2}})(?:\.|e|º)?{_NO_MONTH}{_END}"),
        _numbered_day,
    )
    yield (
        pattern(rf"\bon the (?P<count>\d{{1,2}})(?:st|nd|rd|th)(?:{_END}|(?= (?:i|we|you|he|she|they)\b))"),
        _numbered_day,
    )
    yield pattern(rf"\b(?:am|le|el|il|dia|op de) (?P<count>\d{{1,2}})(?:\.|e|º)?+{_NO_MONTH}{_END}"), _numbered_day
    yield pattern(r"\bam (?P<count>\d{1,2})\.(?= (?-i:[a-zäöü]))" + _NO_MONTH), _numbered_day
    yield pattern(r"(?<![\d月第])(?P<count>\d{1,2})[号號](?![线線楼樓门門房店桌间間码碼馆館])"), _numbered_day


def _before_last_forms() -> Iterator[Form]:
    yield spaced(words.BEFORE_LAST, "", _LONGER), before(2)
    yield spaced("", words.BEFORE_LAST_BEHIND, _LONGER), before(2)


def _last_forms() -> Iterator[Form]:
    yield form("(?:上上个?|上上個?|先々|지지난 ?)", _NOT_A_LENGTH + PARTICLE, _WEEKS), before(2)
    yield form(rf"\b(?:{words.ROLLING}) ", r"\b(?! of\b)", _PERIODS_ALONE), _rolling
    yield spaced(words.LAST, "", _LONGER), before(1)
    yield spaced("", words.LAST_BEHIND, _LONGER), before(1)
    yield form("(?:上一?个?|上一?個?|先|지난 ?)", _NOT_A_LENGTH + PARTICLE, _WEEKS), before(1)
    for years, names in words.UNSPACED_YEARS_BEFORE.items():
        yield pattern(f"(?:{names}){PARTICLE}"), before(years, "year")
    yield spaced(words.THIS, "", _PERIODS), _this
    yield spaced(words.THIS, "", _WEEKDAY_WORDS), _weekday(0)
    yield form("(?:这个?|這個?|本|今|이번 ?)", _NOT_A_LENGTH + PARTICLE, _WEEKS), _this


FORMS: Final = (
    (pattern(rf"\b(?:{words.THIS_TIME_LAST_YEAR})\b"), _around_last_year),
    (pattern(f"(?:{words.UNSPACED_THIS_TIME_LAST_YEAR}){PARTICLE}"), _around_last_year),
    *_day_forms(),
    *_before_last_forms(),  # before the forms that match their first word alone
    *_decade_forms(),
    *_season_forms(),
    *_month_forms(),
    *_numbered_day_forms(),
    *_week_day_forms(),
    *counted_forms(),
    *_last_forms(),
)
