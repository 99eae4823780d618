"""An LRU cache of a pure function that is bounded by the weight of its entries; lru_cache bounds their number."""

from collections.abc import Callable, Hashable
from threading import Lock
from typing import ParamSpec, TypeVar

from cachetools import LRUCache, cached

P = ParamSpec("P")
R = TypeVar("R")


def weighted_cache(
    most: int, *, weight: Callable[[R], int], key: Callable[P, Hashable]
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Keep the results used last, of each ``key`` of the arguments one, of at most ``most`` in weight together.

    A result that alone weighs more is not kept. Safe to call from several threads.
    """
    return cached(LRUCache[Hashable, R](most, getsizeof=weight), key=key, lock=Lock())
