"""The forms in which people say when something was, each with what it means as seen from a moment. Pure.

A form is a pattern; its named groups are units of time, a count, months and years. The first form that matches a phrase
is taken, so a longer one stands before what is part of it: "this time last year" before "last year".
"""

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from app.kit.days import MONTHS, WEEKDAYS
from app.kit.patterns import lazy_pattern
from app.recall import time_words as words
from app.recall.periods import (
    Stretch,
    ago,
    around_last_year,
    calendar_stretch,
    day_of_month,
    month,
    season,
    since,
    this,
    tomorrow,
)

Meaning: TypeAlias = Callable[[re.Match[str], datetime], Stretch | None]


def units_of(match: re.Match[str]) -> list[str]:
    """The names of the groups that matched."""
    return [name for name, word in match.groupdict().items() if word]


def _unit(match: re.Match[str]) -> str:
    return next(name for name in units_of(match) if name not in {"count", "year_said"})


_COUNTS: Final = {
    word: (count, count)
    for lines in (words.NUMBERS, words.UNSPACED_NUMBERS)
    for count, line in enumerate(lines.split("\n")[1:], start=1)
    for word in line.split()
}
_COUPLE: Final = (2, 3)
_FEW: Final = (2, 5)


def _count(match: re.Match[str]) -> tuple[int, int]:
    """From how many to how many are meant. Raises ValueError of a letter that matches regardless of case alone."""
    said = match["count"].lower()
    for range_meant, form in ((_COUPLE, words.COUPLE), (_FEW, f"{words.FEW}|{words.UNSPACED_FEW}")):
        if re.fullmatch(form, said):
            return range_meant
    return _COUNTS.get(said) or (int(said), int(said))


def _ago(match: re.Match[str], now: datetime) -> Stretch:
    least, most = _count(match)
    return ago(now, most, _unit(match))[0], ago(now, least, _unit(match))[1]


def _since(match: re.Match[str], now: datetime) -> Stretch:
    return since(now, _count(match)[1], _unit(match))


def _rolling(match: re.Match[str], now: datetime) -> Stretch:
    return since(now, 1, _unit(match))


def _before(count: int, unit: str | None = None) -> Meaning:
    return lambda match, now: ago(now, count, unit or _unit(match))


def _this(match: re.Match[str], now: datetime) -> Stretch | None:
    return this(now, _unit(match))


def _never(_match: re.Match[str], _now: datetime) -> None:
    """It says how long or how often, and not when."""


def _season(match: re.Match[str], now: datetime) -> Stretch:
    return season(now, _unit(match), _year(match, "year_said"))


def _season_years_ago(years: int) -> Meaning:
    return lambda match, now: season(now, _unit(match), now.year - years)


def _weekday(weeks: int) -> Meaning:
    """That of the week so many before this one."""
    return lambda match, now: calendar_stretch(
        ago(now, weeks, "week")[0] + timedelta(days=WEEKDAYS.index(_unit(match))), "day"
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
    """From one to the other: the last time that the latter was, and of the former that before it."""
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


def _around_last_year(_match: re.Match[str], now: datetime) -> Stretch:
    return around_last_year(now)


def _pattern(text: str) -> re.Pattern[str]:
    return lazy_pattern(text, re.IGNORECASE)


def _any(units: dict[str, str]) -> str:
    return "|".join(f"(?P<{unit}>{names})" for unit, names in units.items())


def _form(before: str, after: str, units: dict[str, str], *, between: str = "[ -]", count: str = "") -> re.Pattern[str]:
    counted = rf"(?<![\d一二三四五六七八九十百])(?P<count>\d{{1,3}}|{count}){between}" if count else ""
    return _pattern(f"{before}{counted}(?:{_any(units)}){after}")


def _spaced(before: str, after: str, units: dict[str, str], *, count: str = "") -> re.Pattern[str]:
    return _form(rf"\b(?:{before}) " if before else r"\b", rf" (?:{after})\b" if after else r"\b", units, count=count)


_PARTICLE: Final = "(?:에는?|には?|の|的)?"  # that would be left alone
_ANY: Final = "|".join((words.COUPLE, words.FEW, *" ".join(words.NUMBERS.split()).split()))
_ANY_UNSPACED: Final = "|".join((words.UNSPACED_FEW, *words.UNSPACED_NUMBERS.split()))
_WEEKDAY_WORDS: Final = dict(zip(WEEKDAYS, words.WEEKDAYS, strict=True))
_PERIODS: Final = {unit: words.UNITS[unit] for unit in ("weekend", "week", "month", "year")}
_PERIODS_ALONE: Final = {unit: names for unit, names in _PERIODS.items() if unit != "weekend"}
_LONGER: Final = _PERIODS | words.SEASONS | _WEEKDAY_WORDS
_UNSPACED_WEEKDAYS: Final = dict(zip(WEEKDAYS, words.UNSPACED_WEEKDAYS, strict=True))
_SHORTER: Final = frozenset(word for word in MONTHS if len(word) < len("mars")) - {"may", "mai"}  # other words too
_MONTHS: Final = {word: number for word, number in MONTHS.items() if word not in _SHORTER} | words.DUTCH_MONTHS
_A_MONTH: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
_A_YEAR: Final = r"(?:,? (?:of |de |del |do )?(?P<{}>(?:19|20)\d\d))?"
_NO_NUMBER: Final = r"(?!,? (?:of |de |del |do )?\d)"
_NO_MONTH: Final = rf"(?!(?: ?(?:of|de|del|di|d'))? ?(?:{_A_MONTH})\b)(?! ?[:\d]| ?(?:uhr|am|pm|h|o'clock)\b)"
_END: Final = r"(?=\W*$|[?.,;!])"

_NO_DAYS: Final = "起直共样樣些个個次家本"  # behind one: 上周一起 is no Monday, and 上周日本 no Sunday
_SIGNS: Final = "|".join(f"(?P<{day}>[{signs}])" for day, signs in _UNSPACED_WEEKDAYS.items())
_CHINESE_DAY: Final = rf"(?:{_SIGNS})(?![{_NO_DAYS}])"
_JAPANESE_DAY: Final = rf"(?:{_SIGNS})曜日?"
_KOREAN_DAY: Final = rf"(?:{_SIGNS})요일"
_WEEKS: Final = {"weekend": "(?:週の|주 )?(?:周末|週末|주말)", "week": "周|星期|礼拜|週|주", "month": "月|달"}
_NOT_A_LENGTH: Final = "(?![间間동])"


def _day_forms() -> Iterator[tuple[re.Pattern[str], Meaning]]:
    for count, phrases in words.DAYS_BEFORE.items():
        yield _pattern(rf"\b(?:{phrases})\b"), _before(count, "day")
    for count, phrases in words.UNSPACED_DAYS_BEFORE.items():
        yield _pattern(f"(?:{phrases}){_PARTICLE}"), _before(count, "day")


def _week_day_forms() -> Iterator[tuple[re.Pattern[str], Meaning]]:
    """Monday of last week, of this one; and the last Monday. Every Monday is no time, and the next one is not over."""
    weeks = "周|週|星期|礼拜|禮拜"
    named = "|".join(_WEEKDAY_WORDS.values())
    yield _pattern(rf"\b(?:{words.EVERY}) (?:{named})\b"), _never
    yield _pattern(rf"\b(?:{'|'.join(WEEKDAYS)})(?:s| (?:morning|afternoon|evening|night)s)\b"), _never
    others, day = "[每毎下来來]个?|下個|次の|매|다음 ?", f"[{''.join(words.UNSPACED_WEEKDAYS)}](?:曜日?|요일)?"
    yield _pattern(f"(?:{others})(?:{weeks}|주)?の? ?{day}"), _never
    yield _pattern(f"[周週][一日](?=[{_NO_DAYS}])"), _never
    for count, chinese, japanese, korean in ((1, "上个?|上個?", "先", "지난"), (0, "这个?|這個?|本", "今", "이번")):
        yield _pattern(f"(?:{chinese})(?:{weeks}){_CHINESE_DAY}"), _weekday(count)
        yield _pattern(f"{japanese}週の?{_JAPANESE_DAY}{_PARTICLE}"), _weekday(count)
        yield _pattern(f"{korean} ?주 ?{_KOREAN_DAY}{_PARTICLE}"), _weekday(count)
    yield _pattern(f"(?:{weeks}){_CHINESE_DAY}"), _before(1)
    yield _pattern(f"{_JAPANESE_DAY}(?<=日){_PARTICLE}"), _before(1)
    yield _pattern(f"(?:지난 ?)?{_KOREAN_DAY}{_PARTICLE}"), _before(1)


def _season_forms() -> Iterator[tuple[re.Pattern[str], Meaning]]:
    said, unspaced = f"(?:{_any(words.SEASONS)})", f"(?:{_any(words.UNSPACED_SEASONS)})"
    yield _pattern(rf"\b{said}(?: of| de| del| do)? (?P<year_said>(?:19|20)\d\d)\b"), _season
    yield _pattern(rf"(?P<year_said>(?:19|20)\d\d) ?[年년](?:の|的| )?{unspaced}{_PARTICLE}"), _season
    yield _pattern(rf"\b{said} (?:{words.OF_LAST_YEAR})\b"), _season_years_ago(1)
    yield _pattern(rf"\blast year's {said}\b"), _season_years_ago(1)
    for years, names in words.UNSPACED_YEARS_BEFORE.items():
        yield _pattern(f"(?:{names})(?:の|的| )?{unspaced}{_PARTICLE}"), _season_years_ago(years)
    yield _pattern(f"(?:上个|上個|지난 ?){unspaced}{_PARTICLE}"), _before(1)
    yield _pattern(rf"\b(?:{words.LAST}) {said}\b"), _before(1)
    yield _pattern(rf"\b{said} (?:{words.LAST_BEHIND})\b"), _before(1)
    yield _pattern(rf"\b(?:{words.THIS}) {said}\b"), _this
    yield _pattern(rf"\b(?:{words.IN})(?: |(?<=['’])){said}\b(?! (?-i:[A-Z]))"), _season
    yield _pattern(f"(?:[每毎]年の?|매년 ){unspaced}"), _never
    yield _pattern(f"(?:在|整个){unspaced}(?<=[天季])"), _season
    yield _pattern(f"(?:この|이번 ?){unspaced}(?:の間)?{_PARTICLE}"), _season
    yield _pattern(f"{unspaced}(?:には?|の間|에는?|동안)"), _season


def _month_forms() -> Iterator[tuple[re.Pattern[str], Meaning]]:
    first, last = rf"(?P<first>{_A_MONTH})", rf"(?P<last>{_A_MONTH})"
    one = rf"(?P<month_said>{_A_MONTH})"
    both = f"{first}{_A_YEAR.format('first_year')} (?:{words.TO}|{words.AND}) {last}{_A_YEAR.format('last_year')}"
    yield _pattern(rf"\b(?:{words.BETWEEN}) {both}\b"), _months
    to = f" ?(?:[-–—]|(?<= )(?:{words.TO})(?= )) ?"
    yield _pattern(rf"\b{first}{_A_YEAR.format('first_year')}{to}{last}{_A_YEAR.format('last_year')}\b"), _months
    yield (
        _pattern(
            r"(?<!\d)(?P<first>\d{1,2})[月월] ?(?:到|至|から|부터|[-~〜～]) ?(?P<last>\d{1,2})[月월](?:まで|까지)?"
        ),
        _months,
    )
    yield _pattern(rf"\b(?:{words.SINCE}) {one}\b(?! \d{{1,2}}\b){_A_YEAR.format('year_said')}"), _since_month
    yield _pattern(rf"\b(?:{words.IN_MONTH}) {one}\b{_NO_NUMBER}"), _month
    yield _pattern(rf"\b{one} (?:{words.LAST_BEHIND})\b"), _month


def _numbered_day_forms() -> Iterator[tuple[re.Pattern[str], Meaning]]:
    dotted = rf"(?P<count>\d{{1,2}})\. (?P<month_said>{_A_MONTH})\b{_NO_NUMBER}"
    yield _pattern(rf"(?<![\d.])(?:\b(?:am|vom) )?{dotted}"), _dotted_day
    english = "|".join(f"(?P<{day}>{day})" for day in WEEKDAYS)
    others = "|".join(f"(?P<{day}>{names})" for day, names in _WEEKDAY_WORDS.items())
    yield _pattern(rf"\b(?:{english}),? (?:the )?(?P<count>\d{{1,2}})(?:st|nd|rd|th)\b{_NO_MONTH}"), _numbered_day
    yield (
        _pattern(
            rf"\b(?:{others}),? (?:(?:de[mnr]|le|el|il|dia|de) )?(?P<count>\d{{1,2}})(?:\.|e|º)?{_NO_MONTH}{_END}"
        ),
        _numbered_day,
    )
    yield (
        _pattern(rf"\bon the (?P<count>\d{{1,2}})(?:st|nd|rd|th)(?:{_END}|(?= (?:i|we|you|he|she|they)\b))"),
        _numbered_day,
    )
    yield _pattern(rf"\b(?:am|le|el|il|dia|op de) (?P<count>\d{{1,2}})(?:\.|e|º)?{_END}"), _numbered_day
    yield _pattern(r"\bam (?P<count>\d{1,2})\.(?= (?-i:[a-zäöü]))" + _NO_MONTH), _numbered_day
    yield _pattern(r"(?<![\d月第])(?P<count>\d{1,2})[号號](?![线線楼樓门門房店桌间間码碼馆館])"), _numbered_day


def _counted_forms() -> Iterator[tuple[re.Pattern[str], Meaning]]:
    yield _pattern(rf"\b(?:{words.HALF_A_YEAR_AGO})\b"), _before(1, "half_year")
    yield _pattern(f"(?:{words.UNSPACED_HALF_A_YEAR_AGO}){_PARTICLE}"), _before(1, "half_year")
    yield (
        _pattern(f"(?:{words.UNSPACED_FEW_DAYS_AGO}){_PARTICLE}"),
        lambda _, now: (ago(now, 5, "day")[0], ago(now, 2, "day")[1]),
    )
    yield _spaced(words.AGO_BEFORE, "", words.UNITS, count=_ANY), _ago
    yield _spaced("", words.AGO_BEHIND, words.UNITS, count=_ANY), _ago
    yield _form("", rf" ?(?:之|以)?[前전]{_PARTICLE}", words.UNSPACED_UNITS, between=" ?", count=_ANY_UNSPACED), _ago
    yield _spaced(words.THE_LAST, "", words.UNITS, count=_ANY), _since
    yield _form(r"\b", r"\b", words.UNITS, between=" derni[eè]re?s ", count=_ANY), _since
    yield (
        _form(
            "(?:最近|过去|過去|この|지난|최근|(?<![가-힣])요) ?",
            "",
            words.UNSPACED_UNITS,
            between=" ?",
            count=_ANY_UNSPACED,
        ),
        _since,
    )
    yield _form(r"\b", r"\b", words.UNITS, count=_ANY), _never
    yield _spaced(words.THE_LAST_FEW, "", words.PLURALS), lambda match, now: since(now, _FEW[1], _unit(match))


def _before_last_forms() -> Iterator[tuple[re.Pattern[str], Meaning]]:
    yield _spaced(words.BEFORE_LAST, "", _LONGER), _before(2)
    yield _spaced("", words.BEFORE_LAST_BEHIND, _LONGER), _before(2)


def _last_forms() -> Iterator[tuple[re.Pattern[str], Meaning]]:
    yield _form("(?:上上个?|上上個?|先々|지지난 ?)", _NOT_A_LENGTH + _PARTICLE, _WEEKS), _before(2)
    yield _form(rf"\b(?:{words.ROLLING}) ", r"\b(?! of\b)", _PERIODS_ALONE), _rolling
    yield _spaced(words.LAST, "", _LONGER), _before(1)
    yield _spaced("", words.LAST_BEHIND, _LONGER), _before(1)
    yield _form("(?:上一?个?|上一?個?|先|지난 ?)", _NOT_A_LENGTH + _PARTICLE, _WEEKS), _before(1)
    for years, names in words.UNSPACED_YEARS_BEFORE.items():
        yield _pattern(f"(?:{names}){_PARTICLE}"), _before(years, "year")
    yield _spaced(words.THIS, "", _PERIODS), _this
    yield _spaced(words.THIS, "", _WEEKDAY_WORDS), _weekday(0)
    yield _form("(?:这个?|這個?|本|今|이번 ?)", _NOT_A_LENGTH + _PARTICLE, _WEEKS), _this


FORMS: Final = (
    (_pattern(rf"\b(?:{words.THIS_TIME_LAST_YEAR})\b"), _around_last_year),
    (_pattern(f"(?:{words.UNSPACED_THIS_TIME_LAST_YEAR}){_PARTICLE}"), _around_last_year),
    *_day_forms(),
    *_before_last_forms(),  # before those that the first of their words alone would be
    *_season_forms(),
    *_month_forms(),
    *_numbered_day_forms(),
    *_week_day_forms(),
    *_counted_forms(),
    *_last_forms(),
)
