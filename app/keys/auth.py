"""Whose key it is: asked of the database once in a while, and of this process's memory in between."""

import hmac
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from starlette.datastructures import Headers

from app.keys.model import ApiKey, id_of
from app.keys.store import KeyStore
from app.kit.auth import DEFAULT_TENANT, Access, Caller, is_own_host
from app.kit.clock import Clock
from app.kit.db import AWAY, EVERY_TENANT, acting_for, is_away
from app.kit.errors import Forbidden, Unauthorized
from app.kit.repeating import Repeated

log = structlog.get_logger("daybook.keys")

BOOTSTRAP_ID = "bootstrap"
LOCAL = Caller(tenant=DEFAULT_TENANT, access=Access.ADMIN, key=None)
BOOTSTRAP = Caller(tenant=DEFAULT_TENANT, access=Access.ADMIN, key=BOOTSTRAP_ID)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthConfig:
    """``bootstrap_key`` is an admin key of tenant ``default``.

    Without it, and with no key in the database, a service that is reached from its own machine only (``loopback``)
    asks for none: local mode. Then pages of other sites than ``origins`` may not ask. What the database said is
    believed for ``cache_seconds``: as long does a key work that was just revoked.
    """

    bootstrap_key: str | None = None
    loopback: bool = True
    origins: frozenset[str] = frozenset()
    cache_seconds: float = 10.0
    cached_max: int = 10_000
    used_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class _Known:
    key: ApiKey
    at: datetime


class Auth:
    """The Authority. ``store`` None knows no key but the bootstrap key."""

    def __init__(self, config: AuthConfig, *, store: KeyStore | None, clock: Clock) -> None:
        self._config = config
        self._bootstrap = None if config.bootstrap_key is None else config.bootstrap_key.encode()
        self._store = store
        self._clock = clock
        self._believed_for = timedelta(seconds=config.cache_seconds)
        self._known: dict[str, _Known] = {}
        self._used: dict[str, datetime] = {}
        self._local: tuple[bool, datetime] | None = None
        self._noting = Repeated(self.note_used, seconds=config.used_seconds, name="daybook-keys-used", waits_first=True)

    async def start(self) -> None:
        await self._is_local(self._clock.now())  # known from now on, also while the database is away
        self._noting.start()

    async def stop(self) -> None:
        await self._noting.stop()
        await self.note_used()

    async def caller(self, headers: Headers) -> Caller:
        """Whose request this is.

        Raises Unauthorized, Forbidden for a foreign ``Host`` or page in local mode, and what the database raises when a
        key is not known yet.
        """
        now = self._clock.now()
        secret = _bearer(headers.get("authorization"))
        if self._bootstrap is not None and hmac.compare_digest(secret.encode(), self._bootstrap):
            return BOOTSTRAP
        with acting_for(EVERY_TENANT):  # asked again within a request, whose tenant sees no key of others
            is_local = await self._is_local(now, sent_key=id_of(secret) is not None)
            key = None if is_local else await self._find(secret, now)
        if is_local:
            self._check_local(headers)
            return LOCAL
        if key is None or not key.is_of(secret) or not key.is_usable(now):
            raise Unauthorized("send a valid key as 'Authorization: Bearer <key>'")
        self._used[key.id] = now
        return Caller(tenant=key.tenant, access=key.access, key=key.id)

    async def note_used(self) -> None:
        """Write when each key was last used, of those that were since the last time."""
        used, self._used = self._used, {}
        if not used or self._store is None:
            return
        try:
            await self._store.touch(used)
        except AWAY as error:
            self._used = used | self._used
            log.warning("keys_used_not_noted", error=type(error).__name__)

    def _check_local(self, headers: Headers) -> None:
        """Raises Forbidden for what a page elsewhere has a browser send, which names its ``Origin`` but for a link.

        Such a page reads no answer, but what needs no body would be done.
        """
        host, origin = headers.get("host", ""), headers.get("origin")
        if not is_own_host(host):
            raise Forbidden(f"without a key only requests to an address or to localhost are answered, not to {host!r}")
        if headers.get("sec-fetch-site") == "cross-site" and origin not in {None, *self._config.origins}:
            raise Forbidden(f"without a key no page of {origin} may ask (DAYBOOK_HTTP__ORIGINS)")

    async def _is_local(self, now: datetime, *, sent_key: bool = False) -> bool:
        """Once there is a key the service is never open again, not even when the last one is revoked.

        Who sends a key has one, which may have just been made: what they send would be stored as another tenant's.

        Nor when their table is empty, or not there, as it is while a backup is restored beneath the service.
        """
        if self._bootstrap is not None or not self._config.loopback:
            return False
        if self._store is None:
            return True
        if self._local is None or (self._local[0] and (sent_key or not self._is_believed(self._local[1], now))):
            try:
                self._local = await self._store.is_empty(), now
            except AWAY as error:
                if self._local is None or not is_away(error):
                    raise
        return self._local[0]

    def _is_believed(self, at: datetime, now: datetime) -> bool:
        """What the database said ``at`` a time. A clock that was set back makes nothing be believed for longer."""
        return at <= now < at + self._believed_for

    async def _find(self, secret: str, now: datetime) -> ApiKey | None:
        """The key of this id, whose secret may be another.

        While the database is away, as it was last known: nothing but the metrics can be asked for then.
        """
        key_id = id_of(secret)
        if key_id is None or self._store is None:
            return None
        known = self._known.get(key_id)
        if known is not None and self._is_believed(known.at, now):
            return known.key
        try:
            return self._remember(key_id, await self._store.find(key_id), now)
        except AWAY as error:
            if known is None or not is_away(error):
                raise
            return known.key

    def _remember(self, key_id: str, key: ApiKey | None, now: datetime) -> ApiKey | None:
        self._known.pop(key_id, None)
        if key is not None:
            self._known[key_id] = _Known(key, now)
            if len(self._known) > self._config.cached_max:
                self._known.pop(next(iter(self._known)))  # the one longest ago
        return key


def _bearer(authorization: str | None) -> str:
    """The key in an ``Authorization`` header; "" where there is none."""
    scheme, _, given = (authorization or "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""
