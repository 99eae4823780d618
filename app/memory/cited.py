"""Lookup by citation, and merging of citations."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Generic, TypeVar

from app.memory.model import Cite, seqs_of
from app.memory.ranges import Ranges, merged

T = TypeVar("T")


class Cited(Generic[T]):
    """Finds messages, lines or voices by the ``seqs`` that they have or cite.

    ``together``: what several of them make, given by their indexes, ascending; it is made once for a citation. A lookup
    does not go through all of them: a log may have a thousand lines of one message.
    """

    def __init__(self, seqs: Sequence[Ranges], together: Callable[[Sequence[int]], T]) -> None:
        found = sorted((first, last, at) for at, ranges in enumerate(seqs) for first, last in ranges)
        self._spans = [(last, at) for _, last, at in found]
        self._firsts = [first for first, _, _ in found]
        self._reach = list(accumulate((last for _, last, _ in found), max))  # ascending: nothing before ends later
        self._together = together
        self._known: dict[Cite, T | None] = {}
        self.all = together(range(len(seqs)))

    def of(self, cites: Iterable[Cite]) -> list[T]:
        """What those make that each citation touches; ``all`` if no citation touches any."""
        found = map(self._touched, dict.fromkeys(cites))
        return [one for one in found if one is not None] or [self.all]

    def _touched(self, cite: Cite) -> T | None:
        if cite not in self._known:
            places = self._places(cite)
            self._known[cite] = self._together(places) if places else None
        return self._known[cite]

    def _places(self, cite: Cite) -> list[int]:
        found = set[int]()
        for index in range(bisect_right(self._firsts, cite.last) - 1, -1, -1):
            if self._reach[index] < cite.first:
                break
            last, at = self._spans[index]
            if last >= cite.first:
                found.add(at)
        return sorted(found)


def joined(cites: Iterable[Cite]) -> tuple[Cite, ...]:
    """The same messages in as few citations as possible: overlapping and adjacent ones are merged."""
    return tuple(Cite(first, last) for first, last in merged(seqs_of(cites)))
