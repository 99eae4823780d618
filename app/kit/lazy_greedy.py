"""Lazy greedy selection (Minoux 1978): repeatedly the best of many, when each choice makes others worth less. Pure."""

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heapreplace
from typing import TypeVar

Key = TypeVar("Key", float, tuple[float, ...])


def lowest_first(count: int, key: Callable[[int], Key]) -> Iterator[int]:
    """The numbers 0 to ``count - 1`` by their keys, lowest first; of equal keys the lower number first.

    A key may rise while others are taken, but never fall. So a number at the top of the heap whose recomputed key is
    unchanged is the lowest, and few keys are recomputed.
    """
    waiting = [(key(at), at) for at in range(count)]
    heapify(waiting)
    while waiting:
        known, at = waiting[0]
        now = key(at)
        if now == known:
            heappop(waiting)
            yield at
        else:
            heapreplace(waiting, (now, at))
