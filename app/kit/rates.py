"""How often a key may ask: a number of requests in a minute, which begins with the first of them.

Each process counts its own, unless a Redis is named: then all replicas count together, by the library ``limits``, at a
round trip per request. While that Redis is away nobody is refused.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import structlog

from app.kit.errors import Category, DomainError, StartError
from app.kit.headers import RawHeaders

log = structlog.get_logger("daybook.rates")

WINDOW_SECONDS = 60
REDIS_SECONDS = 1.0  # for a connection, and for an answer


class TooManyRequests(DomainError):
    slug, title, category = "too-many-requests", "The key was used too often", Category.TOO_MANY


@dataclass(frozen=True, slots=True, kw_only=True)
class RateConfig:
    """``per_minute`` 0: no limit."""

    per_minute: int = 0
    redis_url: str | None = None


class Spent(NamedTuple):
    """Whether a request is within the limit, how many are left, and in how many seconds its minute ends."""

    within: bool
    left: int
    seconds: float


class Windows:
    """The requests of each key, counted in this process. Keys whose minute has ended are forgotten."""

    def __init__(self, per_minute: int, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._per_minute = per_minute
        self._monotonic = monotonic
        self._known: dict[str, tuple[float, int]] = {}  # when its minute ends, and how many; what ends first is first

    def __len__(self) -> int:
        return len(self._known)

    def spend(self, key: str) -> Spent:
        now = self._monotonic()
        ends, before = self._known.get(key, (now, 0))
        if ends <= now:
            self._forget(now)
            ends, before = now + WINDOW_SECONDS, 0
        self._known[key] = ends, before + 1
        return Spent(before < self._per_minute, max(0, self._per_minute - before - 1), ends - now)

    def _forget(self, now: float) -> None:
        while self._known and self._known[first := next(iter(self._known))][0] <= now:
            del self._known[first]


class Together:
    """The requests of each key, counted in a Redis. Raises StartError for what cannot be one."""

    def __init__(self, per_minute: int, redis_url: str) -> None:
        from limits import RateLimitItemPerMinute
        from limits.aio.storage import RedisStorage
        from limits.aio.strategies import FixedWindowRateLimiter
        from limits.errors import ConfigurationError

        options: dict[str, Any] = {"socket_timeout": REDIS_SECONDS, "socket_connect_timeout": REDIS_SECONDS}
        try:
            storage = RedisStorage(f"async+{redis_url}", wrap_exceptions=True, implementation="redispy", **options)
        except (ConfigurationError, ValueError) as error:
            raise StartError(f"DAYBOOK_RATES__REDIS_URL: {error}; it needs the extra 'redis' installed") from error
        self._item = RateLimitItemPerMinute(max(1, per_minute))
        self._bridge: Any = storage.bridge  # of a type that leaves out how its client is closed
        self._limiter = FixedWindowRateLimiter(storage)

    async def spend(self, key: str) -> Spent | None:
        """None while the Redis is away."""
        from limits.errors import StorageError

        try:
            within = await self._limiter.hit(self._item, key)
            resets_at, left = await self._limiter.get_window_stats(self._item, key)
        except StorageError as error:
            log.warning("rates_not_counted", error=type(error.storage_error).__name__)
            return None
        return Spent(within, left, resets_at - time.time())

    async def close(self) -> None:
        await self._bridge.get_connection().aclose()


class Rates:
    """Counts the requests of keys. Raises StartError for a Redis that cannot be one."""

    POLICY: ClassVar[bytes] = b"ratelimit-policy"
    LEFT: ClassVar[bytes] = b"ratelimit"

    def __init__(self, config: RateConfig) -> None:
        self._per_minute = config.per_minute
        self._windows = Windows(config.per_minute)
        self._together = None if config.redis_url is None else Together(config.per_minute, config.redis_url)
        self._policy = f'"key";q={config.per_minute};w={WINDOW_SECONDS}'.encode()

    async def spend(self, key: str) -> RawHeaders:
        """Count one request of this key; answers what to tell it (draft-ietf-httpapi-ratelimit-headers).

        Raises TooManyRequests.
        """
        if self._per_minute == 0:
            return []
        spent = self._windows.spend(key) if self._together is None else await self._together.spend(key)
        if spent is None:
            return []
        seconds = max(1, round(spent.seconds))
        if not spent.within:
            raise TooManyRequests(f"this key may ask {self._per_minute} times a minute", retry_after=seconds)
        return [(self.POLICY, self._policy), (self.LEFT, f'"key";r={spent.left};t={seconds}'.encode())]

    async def close(self) -> None:
        if self._together is not None:
            await self._together.close()
