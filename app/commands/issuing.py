"""``daybook keys``: creates, lists and revokes API keys, beside a running service or without one."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import asyncpg

from app.keys.model import ApiKey, hashed, id_of, new_secret
from app.keys.store import KeyStore
from app.kit.auth import Access
from app.kit.errors import StartError
from app.kit.patterns import lazy_pattern
from app.locating import Location, located, opened
from app.settings import Settings

T = TypeVar("T")

NAME_CHARS_MAX = 200
SPAN = lazy_pattern(r"(\d+)([dh])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A key to be created. ``expires_at`` None: never."""

    tenant: str
    scopes: Sequence[Access]
    name: str
    expires_at: datetime | None


def wanted(*, tenant: str, scopes: Sequence[str], name: str, expires: str | None) -> Wanted:
    """The key that the command line asks for. Raises StartError."""
    if len(name) > NAME_CHARS_MAX or not name.isprintable():
        raise StartError(f"--name may have at most {NAME_CHARS_MAX} characters, all of them printable")
    unknown = [scope for scope in scopes if scope not in set(Access)]
    if unknown:
        raise StartError(f"{unknown[0]!r} is not a scope; the scopes are {', '.join(Access)}")
    now = datetime.now(UTC)
    expires_at = None if expires is None else expiry(expires, now)
    if expires_at is not None and expires_at <= now:
        raise StartError(f"--expires: {expires} is in the past")
    return Wanted(
        tenant=tenant, scopes=[scope for scope in Access if scope in scopes], name=name, expires_at=expires_at
    )


def expiry(text: str, now: datetime) -> datetime:
    """``90d`` or ``12h`` from now, or a date or time, in UTC if it has no zone. Raises StartError."""
    try:
        if span := SPAN.fullmatch(text):
            return now + (timedelta(days=int(span[1])) if span[2] == "d" else timedelta(hours=int(span[1])))
        found = datetime.fromisoformat(text)
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except OverflowError as error:
        raise StartError(
            f"{text!r} is not within the years 1 to 9999: a key created without --expires never expires"
        ) from error
    except ValueError as error:
        raise StartError(f"{text!r} is not a time: write 90d, 12h or 2027-01-31") from error


def create(settings: Settings, asked: Wanted) -> tuple[str, ApiKey]:
    """A new key: its secret, which is stored only as a hash, and the stored key. Raises StartError."""
    secret = new_secret()
    key_id = id_of(secret)
    assert key_id is not None  # noqa: S101 - a new secret has one

    async def insert(store: KeyStore) -> ApiKey:
        return await store.insert(
            key_id=key_id,
            tenant=asked.tenant,
            name=asked.name,
            scopes=asked.scopes,
            digest=hashed(secret),
            expires_at=asked.expires_at,
        )

    return secret, _with_store(settings, insert)


def listed(settings: Settings, tenant: str | None) -> list[ApiKey]:
    """The keys of a tenant, or all, revoked ones too. Raises StartError."""
    return _with_store(settings, lambda store: store.listed(tenant))


def revoke(settings: Settings, key_id: str, tenant: str | None) -> ApiKey:
    """Revoke a key; returns it. Raises StartError: there is none."""
    key = _with_store(settings, lambda store: store.revoke(key_id, tenant))
    if key is None:
        raise StartError(f"there is no key {key_id}{f' of tenant {tenant}' if tenant else ''}: see 'daybook keys list'")
    return key


def line(key: ApiKey) -> str:
    """A key in one line, without its secret."""
    used = "never used" if key.last_used_at is None else f"used {_told(key.last_used_at)}"
    scopes = ",".join(key.scopes)
    return "  ".join([key.id, key.tenant, scopes, _state(key, datetime.now(UTC)), used, key.name]).rstrip()


def _state(key: ApiKey, now: datetime) -> str:
    if key.revoked_at is not None:
        return f"revoked {_told(key.revoked_at)}"
    if key.expires_at is None:
        return "valid"
    return f"{'valid until' if now < key.expires_at else 'expired'} {_told(key.expires_at)}"


def _told(when: datetime) -> str:
    return when.astimezone(UTC).isoformat(timespec="seconds").removesuffix("+00:00") + "Z"


def _with_store(settings: Settings, work: Callable[[KeyStore], Awaitable[T]]) -> T:
    async def done(database: Location) -> T:
        async with opened(settings, database) as pool:
            try:
                return await work(KeyStore(pool))
            except asyncpg.UndefinedTableError as error:
                raise StartError("the database has no keys yet: run 'daybook migrate'") from error

    with located(settings, exclusive=False) as database:
        return asyncio.run(done(database))
