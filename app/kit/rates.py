"""How often a key may ask: a number of requests in each minute.

Each process counts its own, unless a Redis is named: then all replicas count together, by the library ``limits``, at a
round trip per request. While that Redis is away nobody is refused.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

from app.kit.errors import Category, DomainError
from app.kit.headers import RawHeaders

WINDOW_SECONDS = 60


class TooManyRequests(DomainError):
    slug, title, category = "too-many-requests", "The key was used too often", Category.TOO_MANY


@dataclass(frozen=True, slots=True, kw_only=True)
class RateConfig:
    """``per_minute`` 0: no limit."""

    per_minute: int = 0
    redis_url: str | None = None


class Spent(NamedTuple):
    """What became of a request: whether it may be answered, how many are left, and for how many seconds still."""

    within: bool
    left: int
    seconds: float


class Counting(Protocol):
    async def spend(self, key: str) -> Spent | None:
        """Count one request of this key; None where that cannot be done now."""

    async def close(self) -> None: ...


class Rates:
    """Counts the requests of keys. Raises StartError for a Redis that cannot be one."""

    POLICY: ClassVar[bytes] = b"ratelimit-policy"
    LEFT: ClassVar[bytes] = b"ratelimit"

    def __init__(self, config: RateConfig) -> None:
        self._per_minute = config.per_minute
        self._counting = _counting(config)
        self._policy = f'"key";q={config.per_minute};w={WINDOW_SECONDS}'.encode()

    async def spend(self, key: str) -> RawHeaders:
        """Count one request of this key; answers what to tell it (draft-ietf-httpapi-ratelimit-headers).

        Raises TooManyRequests.
        """
        spent = await self._counting.spend(key) if self._per_minute else None
        if spent is None:
            return []
        seconds = max(1, round(spent.seconds))
        if not spent.within:
            raise TooManyRequests(f"this key may ask {self._per_minute} times a minute", retry_after=seconds)
        return [(self.POLICY, self._policy), (self.LEFT, b'"key";r=%d;t=%d' % (spent.left, seconds))]

    async def close(self) -> None:
        await self._counting.close()


@dataclass(slots=True)
class _Window:
    ends_at: float
    left: int


class OwnCounting:
    """In this process: a minute of a key begins with its first request, and is forgotten once it is over.

    The library's own way costs a task per request (docs/benchmarks/profile.md).
    """

    def __init__(self, per_minute: int, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._now = monotonic
        self._windows: dict[str, _Window] = {}  # in the order of their ends

    def __len__(self) -> int:
        return len(self._windows)

    async def spend(self, key: str) -> Spent:
        now = self._now()
        window = self._windows.get(key)
        if window is None or window.ends_at <= now:
            window = self._opened(key, now)
        within = window.left > 0
        window.left -= within
        return Spent(within, window.left, window.ends_at - now)

    async def close(self) -> None:
        pass

    def _opened(self, key: str, now: float) -> _Window:
        while self._windows:
            first = next(iter(self._windows))
            if self._windows[first].ends_at > now:
                break
            del self._windows[first]
        window = self._windows[key] = _Window(now + WINDOW_SECONDS, self._per_minute)
        return window


def _counting(config: RateConfig) -> Counting:
    if config.redis_url is None:
        return OwnCounting(config.per_minute)
    from app.kit.shared_rates import SharedCounting

    return SharedCounting(config.redis_url, per_minute=config.per_minute)
