"""Lazy greedy selection (Minoux 1978): the best of many, where each that is taken makes others worth less. Pure."""

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heapreplace
from typing import TypeVar

Key = TypeVar("Key", float, tuple[float, ...])


def lowest_first(count: int, key: Callable[[int], Key]) -> Iterator[int]:
    """The numbers from 0 on by their keys, the lowest first, the lower number first of equals.

    A key may rise while others are taken, but never fall. So the first of the heap whose key is unchanged when it is
    computed again is the lowest, and few keys are computed again.
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
