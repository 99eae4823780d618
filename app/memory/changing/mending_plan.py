"""What an erasure leaves of a log, told from the lineage of its notes (docs/decisions/0028). Pure.

A note whose text was erased is *blank*. A blank note leaves the log; if it condensed others, those of them that are not
blank take its place again. Messages that no note covers then are observed again: they are found as gaps. What somebody
took out of a reflection does not come back with what that condensed.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from app.kit.words import terms
from app.memory.edits import Edit, TakenOut
from app.memory.model import Item, Status
from app.memory.trust import FRAME

Lines: TypeAlias = Mapping[int, tuple[Item, ...]]  # of notes, by their ids
Edits: TypeAlias = Mapping[int, Sequence[Edit]]  # by the notes that what was edited condenses, in their order


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
    """By ids: the blank notes that leave the log, and what comes back to it, of both kinds."""

    leaving_observations: tuple[int, ...]
    leaving_reflections: tuple[int, ...]
    returning_observations: tuple[int, ...]
    returning_reflections: tuple[int, ...]


def mending_plan(observations: Sequence[Note], reflections: Sequence[Note]) -> MendingPlan:
    """What makes the log one without blank notes.

    A reflection made ahead is in no log: it goes with its sources by itself, as after every control.
    """
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
    """The edits by the observations, and by the reflections, that what was edited condenses, each in their order."""
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
    """Of these observations and reflections those that lose lines, with what is left of them.

    It is lines with a word that an edit took out.
    """
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
    """The observations that these condense, through blank reflections too, and the newest whole reflections."""
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
