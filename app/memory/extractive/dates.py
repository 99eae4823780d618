"""Makes relative dates absolute: "yesterday" said on 8 May 2023 becomes "yesterday (7 May 2023)".

Only what follows from the time of the message is resolved. A phrase that could mean two days is left alone, and so is
one that says how long: "the past month" is no month of the calendar.
"""

import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import partial
from typing import TypeAlias

from app.kit.days import SHORT_MONTHS, WEEKDAYS
from app.kit.patterns import lazy_pattern

Meaning: TypeAlias = Callable[[re.Match[str], date], str]
"""The date that a phrase stands for, as it is written. Raises ValueError or OverflowError if it stands for none."""
Rule: TypeAlias = tuple[re.Pattern[str], Meaning]

_NUMBER_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS = {word: number for number, word in enumerate(_NUMBER_WORDS, start=1)}
_NUMBERS |= {"a": 1, "an": 1, "a couple of": 2, "couple of": 2}
_SHORT_DAYS = {day[:3]: index for index, day in enumerate(WEEKDAYS)}
_YEARS_MAX = 150
_SATURDAY = 5
_SUNDAY = 6

_COUNT = rf"(\d{{1,3}}|a couple of|couple of|an?|{'|'.join(_NUMBER_WORDS)})"
_UNIT = r"(day|week|month|year)s?"
_WEEKDAY = r"(mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"

# Words by which "in two weeks" is still to come, and not how long something took or, as "times", how often it is.
_COMING = lazy_pattern(
    r"\b(?:will|going to|gonna|due|coming|upcoming|starts?|ends?(?! up)|leaves?|leaving|mov(?:es?|ing)|expires?"
    r"|plan(?:s|ning)?|next)\b|['’]ll\b|(?:\b(?:is|are)|['’](?:s|re|m)) (?:only |just |about )?$",
    re.IGNORECASE,
)
_RATE = lazy_pattern(r"\b(?:times|once|twice|many|much)\b", re.IGNORECASE)
_CLAUSE_END = lazy_pattern(r"[.!?,;:]|\b(?:and|but)\b", re.IGNORECASE)
# Text before a count that makes it another count or a range: "twenty-five", "1.5", "half a", "two or three", "over 30".
_NOT_ALL = lazy_pattern(
    rf"(?:\d|\b(?:half|{'|'.join(_NUMBER_WORDS)}|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred))"
    r"(?:[.,/–-]| (?:(?:and|or|to) )?)$|\b(?:over|under|(?:more|less) than|at least) $",
    re.IGNORECASE,
)
_LOOK_BACK = 16  # characters: no shorter than a match of _NOT_ALL


def resolved(text: str, said_on: date) -> str:
    """The text with each relative date followed by the date it stands for, in brackets."""
    for pattern, meaning in _RULES if text.isascii() else (*_RULES, *_UNSPACED_RULES):
        text = pattern.sub(partial(_with_date, meaning=meaning, said_on=said_on), text)
    return text


def _with_date(match: re.Match[str], *, meaning: Meaning, said_on: date) -> str:
    try:
        return f"{match[0]} ({meaning(match, said_on)})"
    except (OverflowError, ValueError):  # outside the calendar, or ambiguous: the phrase says all there is
        return match[0]


def _full(day: date) -> str:
    return f"{day.day} {SHORT_MONTHS[day.month - 1]} {day.year}"


def _by(count: int, unit: str) -> Meaning:
    return lambda _match, said_on: _away(said_on, unit, count)


def _in_month(count: int) -> Meaning:
    """The month, or the day of it that the phrase names."""

    def meaning(match: re.Match[str], said_on: date) -> str:
        month = _month(said_on, count)
        if match[1] is None:
            return month
        name, year = month.split()
        return _full(date(int(year), SHORT_MONTHS.index(name) + 1, int(match[1])))

    return meaning


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
    steps = {"last": -1, "previous": -1, "this": 0, "next": 1}
    unit, count = match[2].lower(), steps[match[1].lower()]
    return _week_away(said_on, count) if unit == "week" else _away(said_on, unit, count)


def _week_away(said_on: date, count: int) -> str:
    """The week beside. A Sunday ends the week for some and begins it for others, so it is only told from that day."""
    if said_on.weekday() != _SUNDAY:
        return _week(said_on, count)
    if not count:
        raise ValueError(count)
    return f"week {'before' if count < 0 else 'after'} {_full(said_on)}"


def _counted(match: re.Match[str], said_on: date, sign: int) -> str:
    count = match[1].lower()
    return _away(said_on, match[2].lower(), sign * (int(count) if count.isdigit() else _NUMBERS[count]))


def _ago(match: re.Match[str], said_on: date) -> str:
    if _NOT_ALL.search(match.string, max(0, match.start() - _LOOK_BACK), match.start()):
        raise ValueError(match[0])
    return _counted(match, said_on, -1)


def _to_come(match: re.Match[str], said_on: date) -> str:
    before = _CLAUSE_END.split(match.string[: match.start()])[-1]
    if _RATE.search(before) or not _COMING.search(before):
        raise ValueError(match[0])  # "I read it in two weeks"
    return _counted(match, said_on, 1)


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


# "The last night of our stay" and "my last year of school" are not counted from the day of the message.
_OF_NOW = r"(?<!\bthe )(?<!\bmy )(?<!\bour )(?<!\byour )(?<!\btheir )(?<!\bits )\b"
_OF_ELSE = r"\b(?! of\b)"


def _rule(pattern: str, meaning: Meaning) -> Rule:
    """A phrase and its date. One that is followed by brackets already is left alone."""
    return lazy_pattern(rf"(?:{pattern})(?!\s*[(（])", re.IGNORECASE), meaning


_RULES: tuple[Rule, ...] = (
    _rule(r"\bthe day before yesterday\b", _by(-2, "day")),
    _rule(rf"(?<!before )(?:\byesterday\b|{_OF_NOW}last night{_OF_ELSE})", _by(-1, "day")),
    _rule(r"\bthe day after tomorrow\b", _by(2, "day")),
    _rule(r"(?<!after )\btomorrow\b", _by(1, "day")),
    _rule(rf"{_OF_NOW}(last|previous|next|this) (week|month|year){_OF_ELSE}", _step),
    _rule(rf"{_OF_NOW}(last|this|next) weekend{_OF_ELSE}", _weekend),
    _rule(rf"\b(past) weekend{_OF_ELSE}", _weekend),
    _rule(rf"(?:{_OF_NOW}last|\b(?:this )?past) {_WEEKDAY}{_OF_ELSE}", _last_weekday),
    _rule(rf"\bthis coming {_WEEKDAY}\b", _coming_weekday),
    _rule(rf"\b{_COUNT} {_UNIT} ago\b", _ago),
    _rule(rf"\bin {_COUNT} {_UNIT}(?:['’] time)?+\b", _to_come),
)
# Without spaces the characters beside may make another word: 前天 in 目前天气, 昨年 in 一昨年.
_CHINESE_DAY = "[一二三四五六日天末]?+(?![围圍边邊])"
_KOREAN_END = "(?=[^가-힣]|$|에|엔|부터|까지|쯤|는|은)"
_ITS_DAY = r"(?:(?: ?的| ?の)? ?([0-9]{1,2}) ?[日号號일](?![间間]))?+"  # 来月3日
_UNSPACED_RULES: tuple[Rule, ...] = (
    _rule(r"(?<!엊)(?:그저께|그제(?![가-힣]))|一昨日|(?<!さき)おととい", _by(-2, "day")),
    _rule(r"(?<![大以之提目眼面先从從当當空午年月日天周週期])前天(?![天气氣])", _by(-2, "day")),
    _rule(r"어제|어젯밤|(?<!一)昨[天晚日夜]|きのう", _by(-1, "day")),
    _rule(r"모레|明後日|(?<!し)あさって|(?<![大然今以之最午雨先随隨年月日])[后後]天(?![气氣空晴])", _by(2, "day")),
    _rule(r"(?<!안)내일(?! ?모레)|明天|明日(?![後香菜美奈])", _by(1, "day")),
    _rule(rf"(?<![上早晚])上(?:周|[个個]?星期){_CHINESE_DAY}", _by(-1, "week")),  # which always begins on a Monday
    _rule(rf"(?<!下)下(?:周|[个個]?星期){_CHINESE_DAY}", _by(1, "week")),
    _rule(r"(?<!지)지난주말?+|先週", lambda _match, said_on: _week_away(said_on, -1)),
    _rule(rf"(?<!다)다음 ?주말?+{_KOREAN_END}|(?<!再)来週", lambda _match, said_on: _week_away(said_on, 1)),
    _rule(rf"(?:(?<!지)지난 ?달{_KOREAN_END}|(?<![上早晚])上[个個]月|先月){_ITS_DAY}", _in_month(-1)),
    _rule(rf"(?:(?<!다)다음 ?달{_KOREAN_END}|(?<!下)下[个個]月|(?<![再本近])来月){_ITS_DAY}", _in_month(1)),
    _rule(r"(?<!재)작년|(?<!지)지난해|(?<![过過])去年|(?<!一)昨年", _by(-1, "year")),
    _rule(r"내년|(?<![文说說证證声聲发發])明年|(?<![再本近原后後以将將从從])来年", _by(1, "year")),
)
