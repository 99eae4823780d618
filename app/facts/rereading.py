"""Refusals and corrections, which apply when a session is read again for facts (docs/decisions/0055). Pure.

If somebody deleted a fact, nothing is noted from its messages again (a refusal); if they corrected it, the correction
applies when it is noted again.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from app.facts.forgetting import Correction, key_of
from app.facts.model import FOREIGN, OWN_WORD, Category, NewFact, Source
from app.sessions.model import SEQ_MAX, Trust

# Of an export.
OVERRIDE_COLUMNS: Final = frozenset({"cites", "noted_as", "category", "trust", "valid_from", "valid_to"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """Refusals and corrections of one session: nothing is noted from messages ``unwanted`` again."""

    unwanted: frozenset[int] = frozenset()
    corrections: tuple[Correction, ...] = ()

    def of(self, session: UUID, key: str, *, within: Collection[int]) -> "Overrides":
        """The same for another session, limited to the messages ``within``."""
        moved = (replace(one, source=replace(one.source, session_id=session, session=key)) for one in self.corrections)
        kept = tuple(one for one in moved if set(one.source.cites) <= set(within))
        return Overrides(unwanted=self.unwanted & set(within), corrections=kept)


def apply_overrides(noted: Iterable[NewFact], overrides: Overrides) -> tuple[list[NewFact], list[Correction]]:
    """The facts that were not refused, with their corrections applied, and the corrections applied."""
    left, wanted, applied = list(overrides.corrections), [], []
    for new in noted:
        if _is_unwanted(new, overrides.unwanted):
            continue
        keys = {key_of(source) for source in new.sources}
        correction = next((one for one in left if key_of(one.source) in keys), None)
        if correction is not None:
            left.remove(correction)
            applied.append(correction)
        wanted.append(new if correction is None else _corrected(new, correction))
    return wanted, applied


def _is_unwanted(new: NewFact, unwanted: frozenset[int]) -> bool:
    """Whether somebody has deleted or reworded what was noted from the same messages before."""
    cites = {seq for source in new.sources for seq in source.cites}
    return bool(cites) and cites <= unwanted


def _corrected(new: NewFact, correction: Correction) -> NewFact:
    since, ends = correction.source.valid_from or new.valid_from, correction.valid_to
    foreign = new.trust in FOREIGN and correction.category in OWN_WORD
    return replace(
        new,
        category=new.category if foreign else correction.category,
        valid_from=since if ends is None else min(since, ends),
        valid_to=ends,
    )


def overrides_to_json(overrides: Overrides, session: UUID, key: str) -> list[dict[str, Any]]:
    """The rows of an export; ``noted_as`` null marks messages from which nothing is noted again."""
    refused = [refusal(session, key, sorted(overrides.unwanted))] if overrides.unwanted else []
    return [
        {
            "cites": list(one.source.cites),
            "noted_as": one.source.category,
            "category": one.category,
            "trust": one.trust,
            "valid_from": one.source.valid_from,
            "valid_to": one.valid_to,
        }
        for one in (*refused, *overrides.corrections)
    ]


def overrides_from_json(rows: Iterable[Mapping[str, Any]], session: UUID, key: str) -> Overrides:
    """Raises KeyError, TypeError or ValueError for what ``overrides_to_json`` cannot have written."""
    unwanted: set[int] = set()
    corrections: list[Correction] = []
    for row in rows:
        cites = tuple(row["cites"])
        if not all(type(seq) is int and 0 < seq <= SEQ_MAX for seq in cites):
            raise ValueError("no numbers of messages in 'cites'")
        if row["noted_as"] is None:
            unwanted.update(cites)
        else:
            source = Source.citing(session, key, cites, text="")
            since, ends = (_time(row[name]) for name in ("valid_from", "valid_to"))
            source = replace(source, category=Category(row["noted_as"]), valid_from=since)
            category, trust = Category(row["category"]), Trust(row["trust"])
            corrections.append(Correction(source=source, category=category, trust=trust, valid_to=ends))
    return Overrides(unwanted=frozenset(unwanted), corrections=tuple(corrections))


def _time(written: str | None) -> datetime | None:
    found = None if written is None else datetime.fromisoformat(written)
    if found is not None and found.tzinfo is None:
        raise ValueError(f"no zone in '{written}'")
    return found


def refusal(session: UUID, key: str, cites: Sequence[int]) -> Correction:
    """The correction, of no category, by which nothing is noted from these messages again."""
    source = Source.citing(session, key, cites, text="")
    return Correction(source=source, category=Category.INSIGHT, trust=Trust.TOOL, valid_to=None)


def is_refusal(one: Correction) -> bool:
    return one.source.category is None
