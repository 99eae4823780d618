"""What happened to a memory, told as it happens (api.md, ``memory/events``). Pure.

No event is written anywhere: each is read off the rows that the work itself left, so that none can be missed or told of
work that was rolled back, and an append pays nothing. Where a listener stands is four numbers, which is its event id.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from app.kit.errors import FieldError, Invalid

_CAUSES = {"observed": "activated"}  # live at once, or computed ahead: to who looks at the log it is the same


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """How far a listener has heard: the newest message, version, observation and run it was told of."""

    seq: int
    version: int
    observation: int
    run: int

    def __str__(self) -> str:
        return f"{self.seq}.{self.version}.{self.observation}.{self.run}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """``place`` is where a listener stands who has heard it; ``data`` is JSON."""

    name: str
    at: datetime
    place: Place
    data: dict[str, Any]


def read_place(text: str) -> Place:
    """A ``Last-Event-ID`` of ours. Raises Invalid."""
    numbers = text.split(".")
    if len(numbers) != 4 or not all(number.isascii() and number.isdecimal() and len(number) < 19 for number in numbers):  # noqa: PLR2004 - as Place has fields
        detail = "not an event id of this stream"
        raise Invalid(detail, errors=[FieldError("Last-Event-ID", detail)])
    seq, version, observation, run = map(int, numbers)
    return Place(seq=seq, version=version, observation=observation, run=run)


def events(place: Place, found: Mapping[str, Any]) -> list[Event]:
    """What happened after ``place``, in its order. ``found`` is a row of the store's ``events``."""
    told = sorted(_told(found), key=lambda event: event[1])
    heard = []
    for name, at, step, data in told:
        place = replace(place, **step)
        heard.append(Event(name=name, at=at, place=place, data=data | _counts(found)))
    return heard


def changes(place: Place, now: Mapping[str, Any], before: Mapping[str, Any] | None) -> Iterator[Event]:
    """What no row tells but that it is otherwise than at the look ``before``: it moves a listener nowhere."""
    if now["due"] and not (before and before["due"]):
        yield Event(name="due", at=now["now"], place=place, data={"pending_tokens": now["pending_tokens"]})
    if before and now["expired_seq"] > before["expired_seq"]:
        yield Event(name="expired", at=now["now"], place=place, data={"to_seq": now["expired_seq"]})


def _told(found: Mapping[str, Any]) -> Iterator[tuple[str, datetime, dict[str, int], dict[str, Any]]]:
    if found["appended"]:
        data = {"from_seq": found["first_seq"], "to_seq": found["last_seq"], "tokens": found["appended_tokens"]}
        yield "appended", found["appended_at"], {"seq": found["last_seq"]}, data
    for chunk in found["buffered"]:
        yield "buffered", _time(chunk), {"observation": chunk["id"]}, _less(chunk, "at")
    for version in found["versions"]:
        name = _CAUSES.get(version["cause"], version["cause"])
        yield name, _time(version), {"version": version["version"]}, _less(version, "at", "cause")
    for run in found["failed"]:
        yield "failed", _time(run), {"run": run["id"]}, _less(run, "at")
    for run in found["noted"]:  # after its own tries that were refused, which are of one moment
        yield "fact_noted", _time(run), {"run": run["id"]}, _less(run, "at")


def _time(row: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(row["at"])


def _less(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def _counts(found: Mapping[str, Any]) -> dict[str, int]:
    return {name: found[name] for name in ("pending_tokens", "observation_tokens", "reflection_tokens")}
