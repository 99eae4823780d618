"""Authenticates requests by their keys, which are read from the database and cached for a while in the process."""

import hmac
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from starlette.datastructures import Headers

from app.keys.model import ApiKey, id_of
from app.keys.store import KeyStore
from app.kit.auth import DEFAULT_TENANT, Access, Caller, is_own_host
from app.kit.clock import Clock
from app.kit.db import AWAY, EVERY_TENANT, acting_for
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
    asks for none: local mode. Then pages of other sites than ``origins`` may not ask. Answers of the database are
    cached for ``cache_seconds``: a key that was just revoked works so long.
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
    """The ``Authority`` of the service."""

    def __init__(self, config: AuthConfig, *, store: KeyStore, clock: Clock) -> None:
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
        """The caller of a request with these headers.

        Raises Unauthorized, Forbidden for a foreign ``Host`` or page in local mode, and what the database raises if a
        key is not cached yet.
        """
        now = self._clock.now()
        secret = _bearer(headers.get("authorization"))
        if self._bootstrap is not None and hmac.compare_digest(secret.encode(), self._bootstrap):
            return BOOTSTRAP
        with acting_for(EVERY_TENANT):  # may run within a request, whose tenant sees no keys of others
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
        """Write the time of the last use of each key that was used since the previous call."""
        used, self._used = self._used, {}
        if not used:
            return
        try:
            await self._store.touch(used)
        except AWAY as error:
            self._used = used | self._used
            log.warning("keys_used_not_noted", error=type(error).__name__)

    def _check_local(self, headers: Headers) -> None:
        """Raises Forbidden for a foreign ``Host``, or a page elsewhere, whose ``Origin`` a browser sends but for links.

        Such a page cannot read the answer, but a request without a body would be executed.
        """
        host, origin = headers.get("host", ""), headers.get("origin")
        if not is_own_host(host):
            raise Forbidden(f"without API keys the Host must be an IP address or localhost, not {host!r}")
        if headers.get("sec-fetch-site") == "cross-site" and origin not in {None, *self._config.origins}:
            raise Forbidden(f"without API keys no page of {origin} is allowed, unless by DAYBOOK_HTTP__ORIGINS")

    async def _is_local(self, now: datetime, *, sent_key: bool = False) -> bool:
        """Whether the service asks for no key.

        Once there is a key the service is never open again, not even if the last one is revoked, or if the table of
        keys is empty or missing, as while a backup is restored beneath the service.

        If a key is sent, the database is asked anew: it may be new, and the data would be stored as another tenant's.
        """
        if self._bootstrap is not None or not self._config.loopback:
            return False
        if self._local is None or (self._local[0] and (sent_key or not self._is_believed(self._local[1], now))):
            try:
                self._local = await self._store.is_empty(), now
            except AWAY:
                if self._local is None:
                    raise
        return self._local[0]

    def _is_believed(self, at: datetime, now: datetime) -> bool:
        """Whether an answer that the database gave ``at`` is still valid. A clock set back never prolongs this."""
        return at <= now < at + self._believed_for

    async def _find(self, secret: str, now: datetime) -> ApiKey | None:
        """The key with this secret's id; the secret itself is not compared.

        While the database is away, the key as it was cached: nothing but the metrics can be asked for then.
        """
        key_id = id_of(secret)
        if key_id is None:
            return None
        known = self._known.get(key_id)
        if known is not None and self._is_believed(known.at, now):
            return known.key
        try:
            return self._remember(key_id, await self._store.find(key_id), now)
        except AWAY:
            if known is None:
                raise
            return known.key

    def _remember(self, key_id: str, key: ApiKey | None, now: datetime) -> ApiKey | None:
        self._known.pop(key_id, None)
        if key is not None:
            self._known[key_id] = _Known(key, now)
            if len(self._known) > self._config.cached_max:
                self._known.pop(next(iter(self._known)))  # the oldest
        return key


def _bearer(authorization: str | None) -> str:
    """The key in an ``Authorization`` header; "" if there is none."""
    scheme, _, given = (authorization or "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""
