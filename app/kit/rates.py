"""Rate limits of keys: a number of requests per minute, counted by the library ``limits``.

Each process counts its own, unless a Redis is configured: then all replicas count together, at the cost of round trips
per request. While that Redis is away no request is refused.
"""

import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import structlog
from limits import RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage, RedisStorage, Storage
from limits.aio.storage.redis.redispy import RedispyBridge
from limits.errors import ConfigurationError, StorageError

from app.kit.errors import Category, DomainError, StartError, first_line
from app.kit.headers import RawHeaders

log = structlog.get_logger("daybook.rates")

WINDOW_SECONDS = 60
REDIS_SECONDS = 1.0  # time-out of connecting, and of an answer
NO_KEY = "doctor"


class TooManyRequests(DomainError):
    slug, title, category = "too-many-requests", "The rate limit of the key is exceeded", Category.TOO_MANY


@dataclass(frozen=True, slots=True, kw_only=True)
class RateConfig:
    """``per_minute`` 0: no limit."""

    per_minute: int = 120_000
    redis_url: str | None = None


class Rates:
    """Counts the requests of keys. Raises StartError if the Redis URL cannot be used."""

    POLICY: ClassVar[bytes] = b"ratelimit-policy"
    LEFT: ClassVar[bytes] = b"ratelimit"

    def __init__(self, config: RateConfig) -> None:
        self._per_minute = config.per_minute
        self._item = RateLimitItemPerMinute(max(1, config.per_minute))
        self._window = lru_cache(self._item.key_for)
        self._storage = _storage(config.redis_url)
        self._policy = f'"key";q={config.per_minute};w={WINDOW_SECONDS}'.encode()

    async def spend(self, key: str, told: RawHeaders) -> None:
        """Count one request of this key; adds the headers of draft-ietf-httpapi-ratelimit-headers to ``told``.

        Raises TooManyRequests, for which the headers are added too.
        """
        if self._per_minute == 0:
            return
        try:
            spent, resets_at = await self._count(key)
        except StorageError as error:
            log.warning("rates_not_counted", error=type(error.storage_error).__name__)
            return
        seconds = max(1, round(resets_at - time.time()))
        left = f'"key";r={max(0, self._per_minute - spent)};t={seconds}'
        told += [(self.POLICY, self._policy), (self.LEFT, left.encode())]
        if spent > self._per_minute:
            raise TooManyRequests(
                f"a key may send {self._per_minute} requests a minute (DAYBOOK_RATES__PER_MINUTE)", retry_after=seconds
            )

    async def trouble(self) -> str | None:
        """Why requests cannot be counted, in one line; None if they can. Counts one for the pseudo-key NO_KEY."""
        try:
            await self._count(NO_KEY)
        except StorageError as error:
            return first_line(error.storage_error)
        return None

    async def _count(self, key: str) -> tuple[int, float]:
        """The requests in this window including this one, and its end in epoch seconds. Raises StorageError."""
        window = self._window(key)
        # As the library's fixed window does, but that reads the count twice.
        spent = await self._storage.incr(window, self._item.get_expiry())
        return spent, await self._storage.get_expiry(window)

    async def close(self) -> None:
        bridge = self._storage.bridge if isinstance(self._storage, RedisStorage) else None
        if isinstance(bridge, RedispyBridge):
            client: Any = bridge.get_connection()  # its declared type lacks ``aclose``
            await client.aclose()


def _storage(redis_url: str | None) -> Storage:
    if redis_url is None:
        return MemoryStorage()
    # retry: the client of a redis:// without a host would retry for 5 s.
    options: dict[str, Any] = {
        "socket_timeout": REDIS_SECONDS,
        "socket_connect_timeout": REDIS_SECONDS,
        "retry": None,
    }
    try:
        return RedisStorage(f"async+{redis_url}", wrap_exceptions=True, implementation="redispy", **options)
    except (ConfigurationError, ValueError) as error:
        # The library's message quotes the URL, which may have a password.
        raise StartError(
            "DAYBOOK_RATES__REDIS_URL: not a redis://HOST:PORT/DATABASE, or the extra 'redis' is not installed"
            f" ({type(error).__name__})"
        ) from None
