"""Mending: blank (erased) notes leave the log, and the other messages that they told of are to be observed again."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from uuid import UUID

from app.kit.db import Tx
from app.kit.offload import offloaded
from app.memory.changing import mending_store
from app.memory.changing.erasing_store import Blanked
from app.memory.changing.mending_plan import Edits, Lines, edits_behind, losing, mending_plan
from app.memory.edits import Edit
from app.memory.note_store import ERASED
from app.memory.records import Hints, Locked
from app.memory.store import MemoryStore


async def mend(
    store: MemoryStore,
    tx: Tx,
    locked: Locked,
    *,
    since: Mapping[UUID, int],
    edits: Sequence[Edit] = (),
    parent: UUID | None = None,
    told: Hints | None = None,
    left_tokens: int = 0,
) -> bool:
    """Make the next version, without blank notes; answers whether something is to be observed again.

    ``since``: the sessions whose notes may have changed, from a seq of each on. ``edits``: those made before the notes
    were blanked; for a branch their lines are gone, and its ``parent`` tells what they took out. ``told`` and
    ``left_tokens`` are as in ``record_control``.
    """
    observations, reflections, waiting = await mending_store.lineage(tx, locked.memory_id)
    plan = mending_plan(observations, reflections)
    behind = edits_behind(edits, reflections)
    if not edits:
        changed: tuple[Lines, Lines] = ({}, {})
    elif parent is not None:
        observed, condensed = await mending_store.lines(tx, parent, plan, returned=True)
        changed = (
            _of_edited(plan.returning_observations, observed, behind[0]),
            _of_edited(plan.returning_reflections, condensed, behind[1]),
        )
    else:
        lines = await mending_store.lines(tx, locked.memory_id, plan)
        changed = await offloaded(partial(losing, lines, behind), size=_characters(edits))
    await mending_store.replace_blank(tx, locked, plan, changed)
    rebuilding = await mending_store.rebuild(tx, locked, since=since)
    # The messages of a blank buffered note stay pending: only the count of the buffered tokens goes down.
    unbuffered = sum(waiting.get(id_, 0) for id_ in plan.leaving_observations)
    await store.record_control(tx, locked, ERASED, told=told, left_tokens=left_tokens - unbuffered)
    return rebuilding


def untold_since(locked: Locked, blanked: Blanked, *others: Mapping[UUID, int]) -> dict[UUID, int]:
    """Per session the first message from which on its notes may have changed."""
    first: dict[UUID, int] = {}
    gaps = ({gap.session_id: gap.first} for gap in locked.rebuilding)
    for session, seq in (found for known in (blanked.since, *gaps, *others) for found in known.items()):
        first[session] = min(seq, first.get(session, seq))
    return first


def _of_edited(returning: Iterable[int], lines: Lines, edits: Edits) -> Lines:
    """The returned lines of the notes behind an edit; none if the edited note was deleted after that."""
    return {id_: lines.get(id_, ()) for id_ in returning if id_ in edits}


def _characters(edits: Sequence[Edit]) -> int:
    return sum(len(item.whole_text) for edit in edits for item in (*edit.old, *edit.new))
