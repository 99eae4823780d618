"""Which notes leave the log after an erasure and which return, by their lineage (docs/decisions/0028). Pure.

A note whose text was erased is *blank* and leaves the log; the notes it condensed return, unless they are blank too.
Messages that no note covers after that are observed again. Lines that an edit took out of a reflection do not return
with the notes that it condensed.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from app.kit.words import terms
from app.memory.edits import Edit, TakenOut
from app.memory.model import Item, Status
from app.memory.trust import FRAME

Lines: TypeAlias = Mapping[int, tuple[Item, ...]]  # by the id of their note
Edits: TypeAlias = Mapping[int, Sequence[Edit]]  # in their order, by the id of each note that the edited one condenses


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One note of any status. ``observations`` and ``reflections`` are the ids of what a reflection condenses."""

    id: int
    status: Status
    blank: bool
    observations: tuple[int, ...] = ()
    reflections: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MendingPlan:
    """The ids of the blank notes that leave the log, and of the notes that return to it."""

    leaving_observations: tuple[int, ...]
    leaving_reflections: tuple[int, ...]
    returning_observations: tuple[int, ...]
    returning_reflections: tuple[int, ...]


def mending_plan(observations: Sequence[Note], reflections: Sequence[Note]) -> MendingPlan:
    """The plan for these notes. A buffered reflection is in no log; ``record_control`` discards it with its sources."""
    leaving = [note for note in reflections if note.blank and note.status is Status.ACTIVE]
    observed, condensed = _sources(leaving, {note.id: note for note in reflections})
    blank = {note.id for note in observations if note.blank}
    return MendingPlan(
        leaving_observations=tuple(n.id for n in observations if n.blank and n.status is not Status.RETIRED),
        leaving_reflections=tuple(note.id for note in leaving),
        returning_observations=tuple(sorted(observed - blank)),
        returning_reflections=tuple(sorted(condensed)),
    )


def edits_behind(edits: Iterable[Edit], reflections: Sequence[Note]) -> tuple[Edits, Edits]:
    """The edits by the observations, and by the reflections, that the edited notes condense."""
    by_id = {note.id: note for note in reflections}
    observed: dict[int, list[Edit]] = defaultdict(list)
    condensed: dict[int, list[Edit]] = defaultdict(list)
    for edit in edits:
        left = [by_id[edit.reflection]]
        while left:
            note = left.pop()
            for id_ in note.observations:
                observed[id_].append(edit)
            for id_ in note.reflections:
                condensed[id_].append(edit)
                left.append(by_id[id_])
    return observed, condensed


def losing(lines: tuple[Lines, Lines], edits: tuple[Edits, Edits]) -> tuple[Lines, Lines]:
    """The observations and reflections that lose lines with a word that an edit took out: the lines left of them."""
    taken_out = TakenOut(terms, frame=FRAME)
    observed, condensed = (_losing(*of, taken_out) for of in zip(lines, edits, strict=True))
    return observed, condensed


def _losing(lines: Lines, edits: Edits, taken_out: TakenOut) -> Lines:
    left: dict[int, tuple[Item, ...]] = {}
    for id_, items in lines.items():
        behind = tuple(edits.get(id_, ()))
        left[id_] = tuple(item for item in items if not taken_out.is_of(item, behind))
    return {id_: items for id_, items in left.items() if len(items) < len(lines[id_])}


def _sources(leaving: Sequence[Note], reflections: dict[int, Note]) -> tuple[set[int], set[int]]:
    """The observations and reflections that these condense; a blank reflection is replaced by its own sources."""
    observed: set[int] = set()
    condensed: set[int] = set()
    left = list(leaving)
    while left:
        note = left.pop()
        observed.update(note.observations)
        for source in (reflections[id_] for id_ in note.reflections):
            if source.blank:
                left.append(source)
            else:
                condensed.add(source.id)
    return observed, condensed
