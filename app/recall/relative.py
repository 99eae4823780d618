"""Times that are told by how long ago they were: "two weeks ago", "in the last three months", 三天前. Pure.

dateparser knows "ago" and "last" of few of the languages, and takes how long something took for when it was: "for two
weeks" is no time, and "the last two weeks" is all of them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Final, TypeAlias, assert_never

Stretch: TypeAlias = tuple[datetime, datetime]  # its end excluded

# One to twelve, in English, German, French, Spanish, Portuguese, Italian, Dutch; in Chinese, Japanese and Korean.
_NUMBERS: Final = """
a an one ein eine einem einen einer un une una uno um uma een
two zwei deux dos dois duas due twee
three drei trois tres três tre drie
four vier quatre cuatro quatro quattro
five fünf cinq cinco cinque vijf
six sechs seis sei zes
seven sieben sept siete sete sette zeven
eight acht huit ocho oito otto
nine neun neuf nueve nove negen
ten zehn dix diez dez dieci tien
eleven elf onze once undici
twelve zwölf douze doce doze dodici twaalf
"""
_UNSPACED_NUMBERS: Final = """
一 한
二 两 兩 두
三 세
四 네
五 다섯
六 여섯
七 일곱
八 여덟
九 아홉
十 열
"""
_UNITS: Final = {
    "minute": r"minut(?:e[ns]?|os?|i)|min",
    "hour": r"hours?|stunden?|heures?|horas?|or[ae]|uur|uren",
    "day": r"days?|tag(?:en?)?|jours?|d[ií]as?|giorn[oi]|dag(?:en)?",
    "week": r"weeks?|wochen?|semaines?|semanas?|settiman[ae]|weken",
    "month": r"months?|monat(?:en?|s)?|mois|m[eê]s(?:es|[ei])?|maand(?:en)?",
    "year": r"years?|jahr(?:en?|es)?|ans?|années?|a[nñ]os?|ann[oi]|jaar|jaren",
}
_UNSPACED_UNITS: Final = {
    "hour": "小时|小時|時間|시간",
    "day": "天|日|일",
    "week": "周|週間?|星期|个星期|礼拜|주",
    "month": "个月|個月|[かヶヵカ]月|달|개월",
    "year": "年|년",
}
_DAYS: Final = {"minute": 1 / 1_440, "hour": 1 / 24, "day": 1, "two_days": 2, "week": 7}
_DAYS_ABOUT: Final = {"month": 30, "year": 365}
_MONTHS: Final = {"month": 1, "year": 12}


class _Kind(Enum):
    AGO = auto()  # the day, week, month or year of then
    SINCE = auto()  # all from then on
    LONG = auto()  # no time


def _counts(lines: str) -> dict[str, int]:
    return {word: count for count, line in enumerate(lines.split("\n")[1:], start=1) for word in line.split()}


_COUNTS: Final = _counts(_NUMBERS) | _counts(_UNSPACED_NUMBERS)


def _form(before: str, after: str, units: dict[str, str], *, between: str = "[ -]", count: str = "") -> re.Pattern[str]:
    choices = "|".join(f"(?P<{unit}>{words})" for unit, words in units.items())
    counted = rf"(?<![\d一二三四五六七八九十百])(?P<count>\d{{1,3}}|{count}){between}" if count else ""
    return re.compile(f"{before}{counted}(?:{choices}){after}", re.IGNORECASE)


_PARTICLE: Final = "(?:에는?|には?|の)?"  # that would be left alone
_ANY: Final = "|".join(_counts(_NUMBERS))
_ANY_UNSPACED: Final = "|".join(_counts(_UNSPACED_NUMBERS))
_LONGER: Final = {unit: words for unit, words in _UNITS.items() if unit in {"week", "month", "year"}}
_FORMS: Final = (
    (_Kind.AGO, _form(r"\b(?:vor|il y a|hace|há) ", r"\b", _UNITS, count=_ANY)),
    (_Kind.AGO, _form(r"\b", r" (?:ago|fa|atr[áa]s|geleden)\b", _UNITS, count=_ANY)),
    (_Kind.AGO, _form("", rf" ?(?:之|以)?[前전]{_PARTICLE}", _UNSPACED_UNITS, between=" ?", count=_ANY_UNSPACED)),
    (
        _Kind.SINCE,
        _form(r"\b(?:last|past|previous|letzten|vergangenen|afgelopen|[úu]ltim[oaie]s?) ", r"\b", _UNITS, count=_ANY),
    ),
    (_Kind.SINCE, _form(r"\b", r"\b", _UNITS, between=" derni[eè]re?s ", count=_ANY)),
    (
        _Kind.SINCE,
        _form("(?:最近|过去|過去|この|지난|최근) ?", "", _UNSPACED_UNITS, between=" ?", count=_ANY_UNSPACED),
    ),
    (_Kind.LONG, _form(r"\b", r"\b", _UNITS, count=_ANY)),
    (_Kind.AGO, _form(r"\b(?:last|letzte[nrs]?|vergangene[nrs]?|vorige[nrs]?) ", r"\b", _LONGER)),
    (_Kind.AGO, _form(r"\b", r" (?:derni[eè]re?|pass[ée]e?|pas+ad[oa]|scors[oa])\b", _LONGER)),
    (_Kind.AGO, _form("", _PARTICLE, {"week": "지난 ?주", "month": "지난 ?달", "year": "작년|지난해|昨年"})),
    (_Kind.AGO, _form("", _PARTICLE, {"two_days": "一昨日|おととい|前天|그저께|그제"})),
)


@dataclass(frozen=True, slots=True)
class Told:
    """A phrase of a text; ``stretch`` is None where it says how long, and not when."""

    phrase: str
    stretch: Stretch | None


def told_times(text: str, now: datetime) -> Iterator[Told]:
    """What a text tells so, each phrase as it stands there; none is part of another. ``now`` has a zone."""
    rest = text
    for kind, form in _FORMS:
        for match in form.finditer(rest):
            yield Told(match[0], _stretch(kind, match, now))
        rest = form.sub("\n", rest)


def _stretch(kind: _Kind, match: re.Match[str], now: datetime) -> Stretch | None:
    groups = match.groupdict()
    counted = groups.pop("count", None)
    unit = next(name for name, word in groups.items() if word)
    try:
        count = 1 if counted is None else _COUNTS.get(counted.lower()) or int(counted)
        match kind:
            case _Kind.AGO:
                return calendar_stretch(_back(now, count, unit), unit)
            case _Kind.SINCE:
                since = now - timedelta(days=count * (_DAYS | _DAYS_ABOUT)[unit])
                return _midnight(since), _midnight(now) + timedelta(days=1)
            case _Kind.LONG:
                return None
            case _:
                assert_never(kind)
    except (OverflowError, ValueError):  # before the year 1; a letter that matches regardless of case alone
        return None


def _back(now: datetime, count: int, unit: str) -> datetime:
    """So long ago; of months and years some day of them."""
    if unit in _DAYS:
        return now - timedelta(days=count * _DAYS[unit])
    year, month = divmod(now.year * 12 + now.month - 1 - count * _MONTHS[unit], 12)
    return now.replace(year=year, month=month + 1, day=1)


def calendar_stretch(at: datetime, period: str) -> Stretch:
    """The day, calendar week, month or year that holds ``at``; what is shorter is its day."""
    day = _midnight(at)
    match period:
        case "year":
            return day.replace(month=1, day=1), day.replace(year=day.year + 1, month=1, day=1)
        case "month":
            first = day.replace(day=1)
            return first, (first + timedelta(days=31)).replace(day=1)
        case "week":
            monday = day - timedelta(days=day.weekday())
            return monday, monday + timedelta(weeks=1)
        case _:
            return day, day + timedelta(days=1)


def _midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)
