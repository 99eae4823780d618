"""How often a key may ask: a number of requests in each minute, counted by the library ``limits``.

Each process counts its own, unless a Redis is named: then all replicas count together, at a round trip per request.
While that Redis is away nobody is refused.
"""

import time
from dataclasses import dataclass
from typing import Any, ClassVar

import structlog
from limits import RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage, RedisStorage, Storage
from limits.aio.storage.redis.redispy import RedispyBridge
from limits.errors import ConfigurationError, StorageError

from app.kit.errors import Category, DomainError, StartError
from app.kit.headers import RawHeaders

log = structlog.get_logger("daybook.rates")

WINDOW_SECONDS = 60
REDIS_SECONDS = 1.0  # for a connection, and for an answer
NO_KEY = "doctor"


class TooManyRequests(DomainError):
    slug, title, category = "too-many-requests", "The key was used too often", Category.TOO_MANY


@dataclass(frozen=True, slots=True, kw_only=True)
class RateConfig:
    """``per_minute`` 0: no limit."""

    per_minute: int = 0
    redis_url: str | None = None


class Rates:
    """Counts the requests of keys. Raises StartError for a Redis that cannot be one."""

    POLICY: ClassVar[bytes] = b"ratelimit-policy"
    LEFT: ClassVar[bytes] = b"ratelimit"

    def __init__(self, config: RateConfig) -> None:
        self._per_minute = config.per_minute
        self._item = RateLimitItemPerMinute(max(1, config.per_minute))
        self._storage = _storage(config.redis_url)
        self._policy = f'"key";q={config.per_minute};w={WINDOW_SECONDS}'.encode()

    async def spend(self, key: str, told: RawHeaders) -> None:
        """Count one request of this key; adds to ``told`` what to tell it (draft-ietf-httpapi-ratelimit-headers).

        Raises TooManyRequests, of which the key is told as much.
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
            raise TooManyRequests(f"this key may ask {self._per_minute} times a minute", retry_after=seconds)

    async def trouble(self) -> str | None:
        """Why requests are not counted, in one line; None if they are. One is counted for it, of no key."""
        try:
            await self._count(NO_KEY)
        except StorageError as error:
            return str(error.storage_error) or type(error.storage_error).__name__
        return None

    async def _count(self, key: str) -> tuple[int, float]:
        """The requests in this window with this one, and when it ends, in seconds of the epoch. Raises StorageError."""
        window = self._item.key_for(key)
        # As its fixed window does, which looks at the number twice.
        spent = await self._storage.incr(window, self._item.get_expiry())
        return spent, await self._storage.get_expiry(window)

    async def close(self) -> None:
        bridge = self._storage.bridge if isinstance(self._storage, RedisStorage) else None
        if isinstance(bridge, RedispyBridge):
            client: Any = bridge.get_connection()  # of a type that leaves out how it is closed
            await client.aclose()


def _storage(redis_url: str | None) -> Storage:
    if redis_url is None:
        return MemoryStorage()
    # retry: a redis:// without a host has a client of its own, which tries again for 5 s.
    options: dict[str, Any] = {
        "socket_timeout": REDIS_SECONDS,
        "socket_connect_timeout": REDIS_SECONDS,
        "retry": None,
    }
    try:
        return RedisStorage(f"async+{redis_url}", wrap_exceptions=True, implementation="redispy", **options)
    except (ConfigurationError, ValueError) as error:
        # The library's own words quote the URL, which may have a password.
        raise StartError(
            "DAYBOOK_RATES__REDIS_URL: it is no redis://HOST:PORT/DATABASE, or the extra 'redis' is not installed"
            f" ({type(error).__name__})"
        ) from None
