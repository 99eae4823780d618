"""The rows that ``store.py`` reads for a context, as values."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, TypeAlias

from app.context.model import Elsewhere
from app.facts.standing import Standing, standing_of
from app.kit.db import Row
from app.memory.model import Observation, Reflection
from app.memory.rows import observation_of, reflection_of
from app.sessions.message_store import message_of
from app.sessions.model import Kind, Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What a context is made of besides its tail.

    ``tail_skipped_tokens`` lie between ``tail_from_seq`` and the first message that was read. ``rebuilding`` are ranges
    of messages up to the cursor that no note covers until they are observed again; ``erased`` counts those between the
    cursor and the first message that was read. ``causes`` belong to the last versions; ``values`` are the state that
    was asked for by name. ``mark`` changes whenever anything of this or of the tail does. ``at`` is the time of a
    moment of the past, which has no mark and in which the memory counts as up to date.
    """

    last_seq: int
    observed_seq: int
    activated_seq: int
    tail_from_seq: int
    tail_skipped_tokens: int
    anchor_date: date
    config: dict[str, Any]
    version: int
    mark: str | None
    attempts: int
    paused: bool
    pending_tokens: int
    current_task: str | None
    suggested_response: str | None
    observations: tuple[Observation, ...]
    reflections: tuple[Reflection, ...]
    causes: dict[int, str]
    summary: Message | None
    summaries: tuple[int, ...]
    standing: Standing | None
    at: datetime | None
    values: dict[str, Any]
    elsewhere: tuple[Elsewhere, ...]
    rebuilding: tuple[tuple[int, int], ...]
    erased: int


Read: TypeAlias = tuple[Head, tuple[Message, ...]]


def read_of(rows: Sequence[Row]) -> Read | None:
    if not rows:
        return None
    head = next(row for row in rows if row["head"] is not None)
    said = sorted((row for row in rows if row["head"] is None), key=lambda row: row["seq"])
    tail = [row for row in said if row["kind"] != Kind.SUMMARY]
    summary = next((message_of(row) for row in said if row["kind"] == Kind.SUMMARY), None)
    return _head_of(head, tail, summary), tuple(message_of(row) for row in tail)


def _rebuilding(gaps: Sequence[Sequence[Any]], *, observed_seq: int) -> Iterator[tuple[int, int]]:
    """The ranges without the messages that are not observed, up to the cursor: those after it are pending anyway."""
    for start, end, others in gaps:
        first = start
        for other in (*others, end + 1):
            last = min(other - 1, observed_seq)
            if first <= last:
                yield first, last
            first = other + 1


def _head_of(row: Row, tail: list[Row], summary: Message | None) -> Head:
    head: dict[str, Any] = row["head"] | row["notes"]
    first = tail[0]["tokens_before"] if tail else 0
    return Head(
        last_seq=head["seq"],
        observed_seq=head["observed_seq"],
        activated_seq=head["activated_seq"],
        tail_from_seq=head["shown_from_seq"],
        tail_skipped_tokens=first - (head["tail_tokens_before"] if head["tail_tokens_before"] is not None else first),
        anchor_date=date.fromisoformat(head["anchor_date"]),
        config=head["config"],
        version=head["version"],
        mark=head.get("mark"),
        attempts=head.get("attempts") or 0,
        paused=head.get("paused") or False,
        pending_tokens=head.get("pending_tokens") or 0,
        current_task=head["current_task"],
        suggested_response=head["suggested_response"],
        observations=tuple(observation_of(_dated(found)) for found in head["observations"] or ()),
        reflections=tuple(reflection_of(_dated(found)) for found in head["reflections"] or ()),
        elsewhere=tuple(map(_elsewhere_of, head.get("elsewhere") or ())),
        erased=head["erased"],
        rebuilding=tuple(_rebuilding(head.get("rebuilding") or (), observed_seq=head["observed_seq"])),
        causes={int(version): cause for version, cause in (head["causes"] or {}).items()},
        summary=summary,
        summaries=tuple(head["summaries"] or ()),
        standing=standing_of(head["standing"]),
        at=datetime.fromisoformat(head["at"]) if "at" in head else None,
        values=row["state"] or {},
    )


def _elsewhere_of(found: dict[str, Any]) -> Elsewhere:
    row = found["message"] | {"content_hash": b"", "erased_at": None}
    created_at = datetime.fromisoformat(row["created_at"])
    return Elsewhere(conversation=found["key"], message=message_of(row | {"created_at": created_at}))


def _dated(found: dict[str, Any]) -> dict[str, Any]:
    """A row that came as JSON, with its time, which is a text there, as a datetime."""
    return found | {"created_at": datetime.fromisoformat(found["created_at"])}
