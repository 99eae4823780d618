"""API keys, of the form ``daybook_<id>_<secret>``, of which the id may be shown."""

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.kit.auth import Access

MARK = "daybook"
ID_BYTES, SECRET_BYTES = 6, 32


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """One key. ``hash`` is of the whole key, which is long and random: no slower hash would make it safer."""

    id: str
    tenant: str
    name: str
    scopes: Sequence[Access]
    hash: bytes
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None

    @property
    def access(self) -> Access:
        """The widest of its scopes, which includes the others."""
        return max(self.scopes, key=list(Access).index)

    def is_usable(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def is_of(self, secret: str) -> bool:
        """Whether ``secret`` is this key, compared in constant time."""
        return hmac.compare_digest(self.hash, hashed(secret))


def new_secret() -> str:
    return f"{MARK}_{secrets.token_hex(ID_BYTES)}_{secrets.token_urlsafe(SECRET_BYTES)}"


def id_of(secret: str) -> str | None:
    """The id within a key; None: not a key of ours."""
    match secret.split("_", 2):
        case [mark, found, _] if mark == MARK and len(found) == 2 * ID_BYTES and found.isascii():
            return found
        case _:
            return None


def hashed(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
