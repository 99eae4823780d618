"""What happened to a memory, told as it happens (api.md, ``memory/events``). Pure.

No event is written anywhere: each is read off the rows that the work itself left, so that none can be missed or told of
work that was rolled back, and an append pays nothing. A listener's place is five numbers and which session they count,
the event's id. Each event moves one of them forward, and those that move the same one are told in its order: so no two
share an id, and a listener that comes back after any of them hears the others. Only ``due`` has the id of the event
before it, and is told again.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, fields, replace
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any, Final, NamedTuple

from app.kit.errors import Invalid

_CAUSES = {"observed": "activated"}  # live at once, or computed ahead: for a reader of the log it is the same


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """How far a listener has heard: the newest message, version, observation and run, the newest message removed.

    ``life`` is when the session began, in microseconds, for its key may be used anew; 0: not known.
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
    """``place`` is where a listener stands who has heard it; ``data`` is JSON."""

    name: str
    at: datetime
    place: Place
    data: dict[str, Any]


class _Told(NamedTuple):
    """``step`` is the number of the place that it moves, and to where."""

    name: str
    at: datetime
    step: dict[str, int]
    data: dict[str, Any]


NUMBERS: Final = tuple(number.name for number in fields(Place))  # of an event id, in its order
NUMBERS_MIN: Final = 4  # an id that a listener still has may be of before what expired, or the life, was one of them


def read_place(text: str) -> Place:
    """A ``Last-Event-ID`` of ours. Raises Invalid."""
    numbers = text.split(".")
    is_number = all(number.isascii() and number.isdecimal() and len(number) < 19 for number in numbers)  # noqa: PLR2004 - the digits of a bigint
    if not NUMBERS_MIN <= len(numbers) <= len(NUMBERS) or not is_number:
        raise Invalid.at("Last-Event-ID", "not an event id of this stream: without one it begins with what comes now")
    return Place(**dict(zip(NUMBERS, map(int, numbers), strict=False)))


def events(place: Place, found: Mapping[str, Any]) -> list[Event]:
    """What happened after ``place``, in its order. ``found`` is a row of the store's ``events``."""
    heard = []
    for told in _by_time(_appended(found), _buffered(found), _versions(found), _runs(found), _expired(place, found)):
        place = replace(place, **told.step)
        heard.append(Event(name=told.name, at=told.at, place=place, data=told.data | _counts(found)))
    return heard


def changes(place: Place, now: Mapping[str, Any], before: Mapping[str, Any] | None) -> Iterator[Event]:
    """What is known only by comparing with the look ``before``: it does not move a listener's place."""
    if now["due"] and not (before and before["due"]):
        yield Event(name="due", at=now["now"], place=place, data={"pending_tokens": now["pending_tokens"]})


def _by_time(*streams: Iterable[_Told]) -> Iterator[_Told]:
    """Merged, each in its own order, whatever its times: what began first may be numbered last."""
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
    """Those that failed, and those that noted facts."""
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
    """What is not told where there is one session, the listener's, or where it was about all of them."""
    return () if row.get("session") else ("session",)


def _time(row: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(row["at"])


def _less(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def _counts(found: Mapping[str, Any]) -> dict[str, int]:
    return {name: found[name] for name in ("pending_tokens", "observation_tokens", "reflection_tokens")}
