"""The type of a time in a request: ISO 8601 with a zone (api.md)."""

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BeforeValidator
from pydantic_core import PydanticCustomError

from app.kit.patterns import lazy_pattern

# Far enough from the ends of Python's range that these times, and the days around them, exist in every time zone.
TIME_MIN, TIME_MAX = datetime(2, 1, 1, tzinfo=UTC), datetime(9998, 12, 31, tzinfo=UTC)
_DATE = lazy_pattern(r"\d{4}-\d\d-\d\d")
# In a query, a plus that is not escaped as %2B is read as a space: a space before an offset must have been a plus.
_LOST_PLUS = lazy_pattern(r"(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?) (\d\d(?::?\d\d)?)")
_HOURS_ALONE = lazy_pattern(r".{10}[Tt ].*[+-]\d\d")  # an offset as Postgres prints it


def _dated(value: Any) -> Any:
    """Refuse all but ISO 8601 (api.md): pydantic would take a number for seconds since 1970."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, str) and _DATE.match(value):
        lost = _LOST_PLUS.fullmatch(value)
        told = f"{lost[1]}+{lost[2]}" if lost else value
        return f"{told}:00" if _HOURS_ALONE.fullmatch(told) else told
    raise PydanticCustomError("time", "a time in ISO 8601 with a zone is expected, such as 2026-08-03T08:12:00Z")


def _bounded(value: datetime) -> datetime:
    if TIME_MIN <= value <= TIME_MAX:
        return value
    raise PydanticCustomError("time", "a time between the years 2 and 9998 is expected")


Time = Annotated[AwareDatetime, BeforeValidator(_dated), AfterValidator(_bounded)]
