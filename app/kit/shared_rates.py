"""The requests of a key counted by all replicas together, in a Redis, by the library ``limits``."""

import time
from typing import Any

import structlog
from limits import RateLimitItemPerMinute
from limits.aio.storage import RedisStorage
from limits.aio.storage.redis.redispy import RedispyBridge
from limits.aio.strategies import FixedWindowRateLimiter
from limits.errors import ConfigurationError, StorageError

from app.kit.errors import StartError
from app.kit.rates import Spent

log = structlog.get_logger("daybook.rates")

REDIS_SECONDS = 1.0  # for a connection, and for an answer


class SharedCounting:
    """Raises StartError for a Redis that cannot be one."""

    def __init__(self, redis_url: str, *, per_minute: int) -> None:
        self._item = RateLimitItemPerMinute(max(1, per_minute))
        self._storage = _storage(redis_url)
        self._limiter = FixedWindowRateLimiter(self._storage)

    async def spend(self, key: str) -> Spent | None:
        try:
            within = await self._limiter.hit(self._item, key)
            resets_at, left = await self._limiter.get_window_stats(self._item, key)
        except StorageError as error:
            log.warning("rates_not_counted", error=type(error.storage_error).__name__)
            return None
        return Spent(within, left, resets_at - time.time())

    async def close(self) -> None:
        if isinstance(self._storage.bridge, RedispyBridge):
            client: Any = self._storage.bridge.get_connection()  # of a type that leaves out how it is closed
            await client.aclose()


def _storage(redis_url: str) -> RedisStorage:
    options: dict[str, Any] = {"socket_timeout": REDIS_SECONDS, "socket_connect_timeout": REDIS_SECONDS}
    try:
        return RedisStorage(f"async+{redis_url}", wrap_exceptions=True, implementation="redispy", **options)
    except (ConfigurationError, ValueError) as error:
        raise StartError(f"DAYBOOK_RATES__REDIS_URL: {error}; it needs the extra 'redis' installed") from error
