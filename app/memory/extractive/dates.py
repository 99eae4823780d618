"""Relative dates made absolute: "yesterday" said on 8 May 2023 becomes "yesterday (7 May 2023)".

Only what follows from the time of the message is resolved; a phrase that could mean two days is left alone.
"""

import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import partial

from app.kit.days import SHORT_MONTHS

_NUMBER_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS = {word: number for number, word in enumerate(_NUMBER_WORDS, start=1)}
_NUMBERS |= {"a": 1, "an": 1, "a couple of": 2, "couple of": 2}
_SHORT_DAYS = {day: index for index, day in enumerate(("mon", "tue", "wed", "thu", "fri", "sat", "sun"))}
_YEARS_MAX = 150
_SATURDAY = 5

_COUNT = r"(\d{1,3}|a couple of|couple of|an?|one|two|three|four|five|six|seven|eight|nine|ten)"
_UNIT = r"(day|week|month|year)s?"
_WEEKDAY = r"(mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"


def resolved(text: str, said_on: date) -> str:
    """The text with each relative date followed by the date it stands for, in brackets."""
    for pattern, meaning in _RULES:
        text = pattern.sub(partial(_with_date, meaning=meaning, said_on=said_on), text)
    return text


def _with_date(match: re.Match[str], *, meaning: "Meaning", said_on: date) -> str:
    try:
        return f"{match[0]} ({meaning(match, said_on)})"
    except (OverflowError, ValueError):  # outside the calendar, or it could mean two days: the phrase says all there is
        return match[0]


def _full(day: date) -> str:
    return f"{day.day} {SHORT_MONTHS[day.month - 1]} {day.year}"


def _days(count: int) -> "Meaning":
    return lambda _match, said_on: _full(said_on + timedelta(days=count))


def _month(said_on: date, count: int) -> str:
    year, month = divmod(said_on.year * len(SHORT_MONTHS) + said_on.month - 1 + count, len(SHORT_MONTHS))
    return f"{SHORT_MONTHS[month]} {date(year, 1, 1).year}"


def _week(said_on: date, count: int) -> str:
    return f"week of {_full(said_on - timedelta(days=said_on.weekday()) + timedelta(weeks=count))}"


def _away(said_on: date, unit: str, count: int) -> str:
    match unit:
        case "day":
            return _full(said_on + timedelta(days=count))
        case "week":
            return _week(said_on, count)
        case "month":
            return _month(said_on, count)
        case _ if abs(count) <= _YEARS_MAX:
            return str(date(said_on.year + count, 1, 1).year)
    raise ValueError(unit)


def _step(match: re.Match[str], said_on: date) -> str:
    steps = {"last": -1, "this past": -1, "past": -1, "previous": -1, "this": 0, "next": 1, "this coming": 1}
    return _away(said_on, match[2].lower(), steps[match[1].lower()])


def _counted(match: re.Match[str], said_on: date, sign: int) -> str:
    count = match[1].lower()
    return _away(said_on, match[2].lower(), sign * (int(count) if count.isdigit() else _NUMBERS[count]))


def _last_weekday(match: re.Match[str], said_on: date) -> str:
    back = (said_on.weekday() - _SHORT_DAYS[match[1][:3].lower()]) % 7 or 7
    if back == 1:
        raise ValueError(match[0])  # "last Tuesday" on a Wednesday: that would be called yesterday, so perhaps not
    return _full(said_on - timedelta(days=back))


def _coming_weekday(match: re.Match[str], said_on: date) -> str:
    ahead = (_SHORT_DAYS[match[1][:3].lower()] - said_on.weekday()) % 7 or 7
    return _full(said_on + timedelta(days=ahead))


def _weekend(match: re.Match[str], said_on: date) -> str:
    saturday = said_on - timedelta(days=said_on.weekday() - _SATURDAY)
    if match[1].lower() == "next":
        saturday += timedelta(weeks=1)
    elif match[1].lower() != "this":
        saturday -= timedelta(weeks=1)
    return f"weekend of {_full(saturday)}"


Meaning = Callable[[re.Match[str], date], str]


def _rule(pattern: str, meaning: Meaning) -> tuple[re.Pattern[str], Meaning]:
    return re.compile(pattern, re.IGNORECASE), meaning


# An absolute date already given behind the phrase ends it: "(?!\s*\()" keeps a second reading from doubling it.
_ONCE = r"(?!\s*[(（])"
_RULES: tuple[tuple[re.Pattern[str], Meaning], ...] = (
    _rule(rf"\bthe day before yesterday\b{_ONCE}|그저께|그제(?![가-힣])|前天|一昨日|おととい", _days(-2)),
    _rule(rf"(?<!before )\b(?:yesterday|last night)\b{_ONCE}|어제|어젯밤|昨天|昨晚|昨日|昨夜|きのう", _days(-1)),
    _rule(rf"\bthe day after tomorrow\b{_ONCE}|모레|后天|後天|明後日|あさって", _days(2)),
    _rule(rf"(?<!after )\btomorrow\b{_ONCE}|내일|明天|明日(?!後)", _days(1)),
    _rule(rf"\b(last|this past|past|previous|next|this coming|this) (week|month|year)\b{_ONCE}", _step),
    _rule(rf"\b(last|this past|past|this|next) weekend\b{_ONCE}", _weekend),
    _rule(rf"\b(?:last|this past|past) {_WEEKDAY}\b{_ONCE}", _last_weekday),
    _rule(rf"\bthis coming {_WEEKDAY}\b{_ONCE}", _coming_weekday),
    _rule(rf"\b{_COUNT} {_UNIT} ago\b{_ONCE}", lambda match, said_on: _counted(match, said_on, -1)),
    _rule(rf"\bin {_COUNT} {_UNIT}(?:' time)?\b{_ONCE}", lambda match, said_on: _counted(match, said_on, 1)),
    _rule(r"지난주|上周|上星期|上個星期|先週", lambda _match, said_on: _week(said_on, -1)),
    _rule(r"다음 ?주|下周|下星期|下個星期|来週", lambda _match, said_on: _week(said_on, 1)),
    _rule(r"지난 ?달|上个月|上個月|先月", lambda _match, said_on: _month(said_on, -1)),
    _rule(r"다음 ?달|下个月|下個月|来月", lambda _match, said_on: _month(said_on, 1)),
    _rule(r"작년|지난해|去年|昨年", lambda _match, said_on: str(said_on.year - 1)),
    _rule(r"내년|明年|来年", lambda _match, said_on: str(said_on.year + 1)),
)
