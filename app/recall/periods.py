"""The spans of days, weeks, weekends, months, seasons and years relative to a moment. Pure."""

from calendar import monthrange
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from app.kit.days import WEEKDAYS

Stretch: TypeAlias = tuple[datetime, datetime]  # begin and end, the end excluded

SATURDAY: Final = WEEKDAYS.index("saturday")
SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}  # the month that begins it, in the north
_SEASON_MONTHS: Final = 3
_YEAR_MONTHS: Final = 12
_DAYS: Final = {"minute": 1 / 1_440, "hour": 1 / 24, "day": 1, "weekend": 7, "week": 7, "fortnight": 14}
_DAYS_ABOUT: Final = {"month": 30, "half_year": 182, "year": 365}
_MONTHS: Final = {"month": 1, "half_year": 6, "year": 12}
_WEEK_DAYS: Final = 7
_CENTURY: Final = 100
_DECADE_MONTHS: Final = 10 * _YEAR_MONTHS
_AROUND_DAYS: Final = 15  # "this time last year", on each side


def calendar_stretch(at: datetime, period: str) -> Stretch:
    """The day, calendar week, month or year that contains ``at``; for shorter periods the day.

    A weekend is that of the week of ``at``.
    """
    day = midnight(at)
    monday = day - timedelta(days=day.weekday())
    match period:
        case "year":
            return months(day.year, 1, _YEAR_MONTHS, now=at)
        case "month" | "half_year":
            return months(day.year, day.month, 1, now=at)
        case "week" | "fortnight":
            return monday, monday + timedelta(days=_WEEK_DAYS)
        case "weekend":
            return monday + timedelta(days=SATURDAY), monday + timedelta(days=_WEEK_DAYS)
        case _:
            return day, day + timedelta(days=1)


def ago(now: datetime, count: int, unit: str) -> Stretch:
    """The period ``count`` units before that of ``now``; of seasons and weekdays only those that are over count.

    Raises OverflowError or ValueError before the year 1.
    """
    if unit in WEEKDAYS:
        passed = (now.weekday() - WEEKDAYS.index(unit) - 1) % _WEEK_DAYS + 1
        return calendar_stretch(now - timedelta(days=passed + _WEEK_DAYS * (count - 1)), "day")
    if unit in SEASONS:
        begin, end = season(now, unit)
        return season(now, unit, begin.year - (count if end > now else count - 1))
    return calendar_stretch(moment_ago(now, {unit: count}), unit)


def moment_ago(now: datetime, counts: Mapping[str, int]) -> datetime:
    """``now`` minus all these units together; if the month has no such day, its last one.

    Raises OverflowError or ValueError before the year 1.
    """
    passed = sum(count * _MONTHS.get(unit, 0) for unit, count in counts.items())
    year, month = divmod(now.year * _YEAR_MONTHS + now.month - 1 - passed, _YEAR_MONTHS)
    day = min(now.day, monthrange(year, month + 1)[1])
    return now.replace(year=year, month=month + 1, day=day) - timedelta(
        days=sum(count * _DAYS.get(unit, 0) for unit, count in counts.items())
    )


def this(now: datetime, unit: str) -> Stretch | None:
    """The period that contains ``now``; None if it has not begun."""
    if unit in SEASONS:
        begun = season(now, unit)
        return begun if begun[0].year == now.year or begun[1] > now else None
    found = calendar_stretch(now, unit)
    return found if found[0] <= now else None


def since(now: datetime, count: int, unit: str) -> Stretch:
    """From ``count`` units ago until the end of today."""
    return midnight(now - timedelta(days=count * (_DAYS | _DAYS_ABOUT)[unit])), tomorrow(now)


def season(now: datetime, name: str, year: int | None = None) -> Stretch:
    """The latest season of this name that has begun, or the one that begins in ``year``."""
    return _begun(now, SEASONS[name], _SEASON_MONTHS, year)


def month(now: datetime, number: int, year: int | None = None) -> Stretch:
    """The latest month of this number that has begun, or the one of ``year``."""
    return _begun(now, number, 1, year)


def _begun(now: datetime, first: int, count: int, year: int | None) -> Stretch:
    return months(now.year - (now.month < first) if year is None else year, first, count, now=now)


def months(year: int, first: int, count: int, *, now: datetime) -> Stretch:
    """``count`` months from month ``first`` of ``year`` on, in the zone of ``now``."""
    begin = midnight(now).replace(year=year, month=first, day=1)
    over, behind = divmod(first - 1 + count, _YEAR_MONTHS)
    return begin, begin.replace(year=year + over, month=behind + 1)


def decade(now: datetime, year: int) -> Stretch:
    """The decade that begins with ``year``; of two digits ("the 90s") the latest that has begun."""
    century = now.year - now.year % _CENTURY
    if year < _CENTURY:
        year += century - (_CENTURY if century + year > now.year else 0)
    return months(year, 1, _DECADE_MONTHS, now=now)


def edge(of: Stretch, unit: str, *, first: bool) -> Stretch:
    """The first or last seven days of a month, or its first or last weekend."""
    begin, end = of
    if unit == "week":
        week = timedelta(days=_WEEK_DAYS)
        return (begin, begin + week) if first else (end - week, end)
    ahead = (SATURDAY - begin.weekday()) % _WEEK_DAYS
    back = (end.weekday() - SATURDAY - 2) % _WEEK_DAYS + 2  # a weekend that is over with the month
    saturday = begin + timedelta(days=ahead) if first else end - timedelta(days=back)
    return saturday, saturday + timedelta(days=2)


def around_last_year(now: datetime) -> Stretch:
    """This time last year: some days before it and after it."""
    then = midnight(now).replace(year=now.year - 1, day=min(now.day, 28))
    return then - timedelta(days=_AROUND_DAYS), then + timedelta(days=_AROUND_DAYS + 1)


def day_of_month(now: datetime, day: int, weekday: int | None) -> Stretch | None:
    """The latest day of this number, on this ``weekday`` if one is given; None if there was none in two years."""
    year, number = now.year, now.month
    for _ in range(_YEAR_MONTHS * 2):
        try:
            found = midnight(now).replace(year=year, month=number, day=day)
        except ValueError:  # the 31st of June
            found = None
        if found is not None and found <= now and weekday in {None, found.weekday()}:
            return found, found + timedelta(days=1)
        year, number = (year, number - 1) if number > 1 else (year - 1, _YEAR_MONTHS)
    return None


def midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def tomorrow(now: datetime) -> datetime:
    return midnight(now) + timedelta(days=1)
