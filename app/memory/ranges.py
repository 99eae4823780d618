"""Ranges of messages, by their seqs. Pure."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

Ranges: TypeAlias = tuple[tuple[int, int], ...]  # seqs, inclusive, ascending and disjoint


def ranges(seqs: Iterable[int]) -> Ranges:
    """The seqs as inclusive ranges."""
    return merged((seq, seq) for seq in seqs)


def merged(pairs: Iterable[tuple[int, int]], *, apart: int = 1) -> Ranges:
    """Inclusive ranges in ascending order, joined where they overlap or, with ``apart`` 1, adjoin."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(pairs):
        if joined and first <= joined[-1][1] + apart:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return tuple(joined)


def ranges_of(pairs: Sequence[Sequence[int]]) -> Ranges:
    return tuple((first, last) for first, last in pairs)
