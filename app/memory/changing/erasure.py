"""What an erasure leaves of a log, told from the lineage of its notes (docs/decisions/0028). Pure.

A note whose text was erased is *blank*. A blank note leaves the log; if it condensed others, those of them that are not
blank take its place again. Messages that no note covers then are observed again: they are found as gaps.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.memory.model import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One note of any status. ``observations`` and ``reflections`` are the ids of what a reflection condenses."""

    id: int
    status: Status
    blank: bool
    observations: tuple[int, ...] = ()
    reflections: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """By ids: the blank notes that leave the log, and what comes back to it, of both kinds."""

    leaving_observations: tuple[int, ...]
    leaving_reflections: tuple[int, ...]
    returning_observations: tuple[int, ...]
    returning_reflections: tuple[int, ...]


def repair(observations: Sequence[Note], reflections: Sequence[Note]) -> Repair:
    """What makes the log one without blank notes.

    A reflection made ahead is in no log: it goes with its sources by itself, as after every control.
    """
    leaving = [note for note in reflections if note.blank and note.status is Status.ACTIVE]
    observed, condensed = _sources(leaving, {note.id: note for note in reflections})
    blank = {note.id for note in observations if note.blank}
    return Repair(
        leaving_observations=tuple(n.id for n in observations if n.blank and n.status is not Status.RETIRED),
        leaving_reflections=tuple(note.id for note in leaving),
        returning_observations=tuple(sorted(observed - blank)),
        returning_reflections=tuple(sorted(condensed)),
    )


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
