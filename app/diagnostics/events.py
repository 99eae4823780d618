"""Derives the events of a memory from its rows (api.md, ``memory/events``). Pure.

No event is stored: each is derived from the rows that the work itself left, so that none is missed or reports work that
was rolled back, and an append pays nothing. A listener's place, the event's id, is five numbers and the life of the
session that they count. Each event moves one number forward, and events that move the same number are in its order: so
no two share an id, and a listener that resumes after any of them gets the others. Only ``due`` has the id of the event
before it, and is sent again.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, fields, replace
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any, Final, NamedTuple

from app.kit.errors import Invalid

_CAUSES = {"observed": "activated"}  # observed at once or ahead: for a reader of the log it is the same


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A listener's position: the newest message, version, observation and run, and the newest expired message.

    ``life`` is when the session began, in epoch microseconds, because its key may be used again; 0: not known.
    """

    seq: int
    version: int
    observation: int
    run: int
    expired: int = 0
    life: int = 0

    def __str__(self) -> str:
        return ".".join(map(str, astuple(self)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """``place`` is a listener's position after this event; ``data`` is JSON."""

    name: str
    at: datetime
    place: Place
    data: dict[str, Any]


class _Told(NamedTuple):
    """``step`` is the field of the place that the event moves, and its new value."""

    name: str
    at: datetime
    step: dict[str, int]
    data: dict[str, Any]


NUMBERS: Final = tuple(number.name for number in fields(Place))  # the numbers of an event id, in order
NUMBERS_MIN: Final = 4  # ids of older versions lack ``expired`` and ``life``


def read_place(text: str) -> Place:
    """The place in a ``Last-Event-ID``. Raises Invalid if it is none of this stream."""
    numbers = text.split(".")
    is_number = all(number.isascii() and number.isdecimal() and len(number) < 19 for number in numbers)  # noqa: PLR2004 - the digits of a bigint
    if not NUMBERS_MIN <= len(numbers) <= len(NUMBERS) or not is_number:
        raise Invalid.at("Last-Event-ID", "not an event id of this stream: leave it out to start with the next event")
    return Place(**dict(zip(NUMBERS, map(int, numbers), strict=False)))


def events(place: Place, found: Mapping[str, Any]) -> list[Event]:
    """The events after ``place``, in order. ``found`` is a row of the store's ``events``."""
    heard = []
    for told in _by_time(_appended(found), _buffered(found), _versions(found), _runs(found), _expired(place, found)):
        place = replace(place, **told.step)
        heard.append(Event(name=told.name, at=told.at, place=place, data=told.data | _counts(found)))
    return heard


def changes(place: Place, now: Mapping[str, Any], before: Mapping[str, Any] | None) -> Iterator[Event]:
    """The events that show only in comparison with the row ``before``; they do not move a listener's place."""
    if now["due"] and not (before and before["due"]):
        yield Event(name="due", at=now["now"], place=place, data={"pending_tokens": now["pending_tokens"]})


def _by_time(*streams: Iterable[_Told]) -> Iterator[_Told]:
    """The streams merged by time, each in its own order: an event that began first may have the higher number."""
    return (told for _, told in heapq.merge(*map(_rising, streams), key=itemgetter(0)))


def _rising(stream: Iterable[_Told]) -> Iterator[tuple[datetime, _Told]]:
    latest = datetime.min.replace(tzinfo=UTC)
    for told in stream:
        latest = max(latest, told.at)
        yield latest, told


def _appended(found: Mapping[str, Any]) -> Iterator[_Told]:
    if found["appended"]:
        data = {"from_seq": found["first_seq"], "to_seq": found["last_seq"], "tokens": found["appended_tokens"]}
        yield _Told("appended", found["appended_at"], {"seq": found["last_seq"]}, data)


def _buffered(found: Mapping[str, Any]) -> Iterator[_Told]:
    for chunk in found["buffered"]:
        yield _Told("buffered", _time(chunk), {"observation": chunk["id"]}, _less(chunk, "at", *_unnamed(chunk)))


def _versions(found: Mapping[str, Any]) -> Iterator[_Told]:
    for version in found["versions"]:
        name = _CAUSES.get(version["cause"], version["cause"])
        yield _Told(name, _time(version), {"version": version["version"]}, _less(version, "at", "cause"))


def _runs(found: Mapping[str, Any]) -> Iterator[_Told]:
    """The runs that failed, and those that noted facts."""
    for run in found["runs"]:
        if run["outcome"] == "recorded":
            name, data = "fact_noted", _less(run, "at", "kind", "outcome", "error", *_unnamed(run))
        else:
            name, data = "failed", _less(run, "at", "from_seq", "to_seq", "facts", *_unnamed(run))
        yield _Told(name, _time(run), {"run": run["id"]}, data)


def _expired(place: Place, found: Mapping[str, Any]) -> Iterator[_Told]:
    if found["expired_seq"] > place.expired:
        yield _Told("expired", found["now"], {"expired": found["expired_seq"]}, {"to_seq": found["expired_seq"]})


def _unnamed(row: Mapping[str, Any]) -> tuple[str, ...]:
    """``session``, to be left out if the row names none: it is about the listener's only session, or all of them."""
    return () if row.get("session") else ("session",)


def _time(row: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(row["at"])


def _less(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def _counts(found: Mapping[str, Any]) -> dict[str, int]:
    return {name: found[name] for name in ("pending_tokens", "observation_tokens", "reflection_tokens")}
