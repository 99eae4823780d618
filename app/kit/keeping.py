"""What a pure function gave last is given again, up to a weight; of functools.lru_cache the number alone is bounded."""

from collections.abc import Callable, Hashable
from threading import Lock
from typing import ParamSpec, TypeVar

from cachetools import LRUCache, cached

P = ParamSpec("P")
R = TypeVar("R")


def kept(
    most: int, *, weight: Callable[[R], int], key: Callable[P, Hashable]
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Keep what the function gives for each ``key`` of its arguments: the last of them, ``most`` in weight together.

    What weighs more by itself is given and not kept. Threads may call it at once.
    """
    cache = LRUCache[Hashable, R](most, getsizeof=weight)

    def keeping(work: Callable[P, R]) -> Callable[P, R]:
        return cached(cache, key=key, lock=Lock())(work)

    return keeping
