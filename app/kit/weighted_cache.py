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
    """A decorator: cache results by the ``key`` of the arguments, of at most ``most`` weight together.

    A result that alone weighs more is not cached. Thread-safe.
    """
    return cached(LRUCache[Hashable, R](most, getsizeof=weight), key=key, lock=Lock())
