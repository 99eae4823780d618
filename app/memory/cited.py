"""Lookup by citation, and merging of citations."""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

from app.memory.model import Cite, Ranges, seqs_of
from app.memory.spans import merged


class Cited:
    """An index of messages, lines or voices by the ``seqs`` that they have or cite.

    A lookup does not go through all of them: a log may have a thousand lines of one message.
    """

    def __init__(self, seqs: Iterable[Ranges]) -> None:
        found = sorted((first, last, at) for at, ranges in enumerate(seqs) for first, last in ranges)
        self._spans = [(last, at) for _, last, at in found]
        self._firsts = [first for first, _, _ in found]
        self._reach = list(accumulate((last for _, last, _ in found), max))  # ascending: nothing before ends later

    def places(self, cite: Cite) -> list[int]:
        """The indexes of those that the citation touches, ascending."""
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
