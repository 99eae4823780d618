"""A log is made one without blank notes, and what they told of other messages is noted to be observed again."""

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
    """Make the next version, in which blank notes are none; answers whether something is to be observed again.

    What is remembered may be other than it was of the sessions in ``since``, from a seq of each on. ``edits`` are
    those of before the notes were emptied; of a branch their lines are gone, and what came back in its ``parent`` tells
    what they took out. ``left_tokens`` of messages are pending no more, and ``told`` is what the current task is now
    (None: as it was).
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
    # What waited to become live is pending still: only the count of what is observed ahead goes down.
    unbuffered = sum(waiting.get(id_, 0) for id_ in plan.leaving_observations)
    await store.record_control(tx, locked, ERASED, told=told, left_tokens=left_tokens - unbuffered)
    return rebuilding


def untold_since(locked: Locked, blanked: Blanked, *others: Mapping[UUID, int]) -> dict[UUID, int]:
    """The message from which on the notes of a session may have changed."""
    first: dict[UUID, int] = {}
    gaps = ({gap.session_id: gap.first} for gap in locked.rebuilding)
    for session, seq in (found for known in (blanked.since, *gaps, *others) for found in known.items()):
        first[session] = min(seq, first.get(session, seq))
    return first


def _of_edited(returning: Iterable[int], lines: Lines, edits: Edits) -> Lines:
    """Of those behind an edit what came back of them: nothing where what was edited was deleted after that."""
    return {id_: lines.get(id_, ()) for id_ in returning if id_ in edits}


def _characters(edits: Sequence[Edit]) -> int:
    return sum(len(item.whole_text) for edit in edits for item in (*edit.old, *edit.new))
