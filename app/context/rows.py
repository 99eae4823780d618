"""Makes a snapshot of the rows that ``store.py`` reads for a context."""

from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime
from typing import Any

from app.context.model import Elsewhere, Snapshot, count_before
from app.facts.standing import standing_of
from app.kit.db import Row
from app.memory.rows import observation_of, reflection_of
from app.memory.rules import Rules
from app.sessions.message_store import message_of
from app.sessions.model import Kind


def snapshot_of(
    rows: Sequence[Row], *, key: str, rules_of: Callable[[dict[str, Any]], Rules]
) -> tuple[Snapshot, datetime | None]:
    """The snapshot of session ``key``, and the time of a past moment; None: now.

    A past moment has no mark, and its memory counts as up to date. ``rules_of`` gives the rules of a session's config.
    """
    row = next(row for row in rows if row["head"] is not None)
    head: dict[str, Any] = row["head"] | row["notes"]
    said = sorted((row for row in rows if row["head"] is None), key=lambda row: row["seq"])
    read = [row for row in said if row["kind"] != Kind.SUMMARY]
    tail = tuple(map(message_of, read))
    before, observed_seq = head["tail_tokens_before"], head["observed_seq"]
    first = tail[0].seq if tail else head["seq"] + 1
    rules = rules_of(head["config"])
    remembered: dict[str, Any] = head if rules.enabled else {}
    rebuilding = tuple(_rebuilding(remembered.get("rebuilding") or (), observed_seq=observed_seq))
    summaries = tuple(head["summaries"] or ())
    passed_by = sum(observed_seq < seq < first for seq in summaries)
    behind = bool(remembered.get("attempts")) or (remembered.get("pending_tokens") or 0) >= rules.block_tokens
    snapshot = Snapshot(
        key=key,
        version=head["version"],
        mark=head.get("mark"),
        last_seq=head["seq"],
        observed_seq=observed_seq,
        activated_seq=head["activated_seq"],
        tail_from_seq=head["shown_from_seq"],
        anchor_date=date.fromisoformat(head["anchor_date"]),
        newest_created_at=max((message.created_at for message in tail), default=None),
        rules=rules,
        reflections=tuple(reflection_of(_dated(found)) for found in remembered.get("reflections") or ()),
        observations=tuple(observation_of(_dated(found)) for found in remembered.get("observations") or ()),
        tail=tail,
        tail_skipped_tokens=read[0]["tokens_before"] - before if read and before is not None else 0,
        summary=next((message_of(row) for row in said if row["kind"] == Kind.SUMMARY), None),
        summaries=summaries,
        unobserved_omitted=max(0, first - 1 - observed_seq - passed_by - head["erased"])
        + count_before(first, rebuilding),
        rebuilding=rebuilding,
        current_task=head["current_task"],
        suggested_response=head["suggested_response"],
        causes={int(version): cause for version, cause in (head["causes"] or {}).items()},
        standing=standing_of(head["standing"]),
        values=row["state"] or {},
        elsewhere=tuple(map(_elsewhere_of, remembered.get("elsewhere") or ())),
        lagging=rules.enabled and behind,
        paused=remembered.get("paused") or False,
    )
    return snapshot, datetime.fromisoformat(head["at"]) if "at" in head else None


def _rebuilding(gaps: Sequence[Sequence[Any]], *, observed_seq: int) -> Iterator[tuple[int, int]]:
    """The ranges up to the cursor, without the messages that need no note. Those after it are pending anyway."""
    for start, end, others in gaps:
        first = start
        for other in (*others, end + 1):
            last = min(other - 1, observed_seq)
            if first <= last:
                yield first, last
            first = other + 1


def _elsewhere_of(found: dict[str, Any]) -> Elsewhere:
    row = found["message"] | {"content_hash": b"", "erased_at": None}
    return Elsewhere(conversation=found["key"], message=message_of(_dated(row)))


def _dated(found: dict[str, Any]) -> dict[str, Any]:
    """A row that came as JSON, with its ``created_at`` as a datetime."""
    return found | {"created_at": datetime.fromisoformat(found["created_at"])}
