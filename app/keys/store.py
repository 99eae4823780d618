"""All SQL of keys."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import asyncpg

from app.keys.model import ApiKey
from app.kit.auth import Access
from app.kit.db import Database, Row

FIND_KEY = "/* find_key */ SELECT * FROM api_keys WHERE id = $1"

ANY_KEY = "/* any_key */ SELECT EXISTS (SELECT FROM api_keys)"

USABLE_KEY = """/* usable_key */
SELECT EXISTS (SELECT FROM api_keys WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()))
"""

LIST_KEYS = """/* list_keys */
SELECT * FROM api_keys WHERE $1::text IS NULL OR tenant = $1 ORDER BY tenant, created_at, id
"""

INSERT_KEY = """/* insert_key */
INSERT INTO api_keys (id, tenant, name, scopes, hash, expires_at) VALUES ($1, $2, $3, $4, $5, $6) RETURNING *
"""

REVOKE_KEY = """/* revoke_key */
UPDATE api_keys SET revoked_at = COALESCE(revoked_at, now()) WHERE id = $1 AND ($2::text IS NULL OR tenant = $2)
RETURNING *
"""

TOUCH_KEYS = """/* touch_keys */
UPDATE api_keys k SET last_used_at = GREATEST(k.last_used_at, u.at)
FROM unnest($1::text[], $2::timestamptz[]) AS u (id, at) WHERE k.id = u.id
"""


class KeyStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, key_id: str) -> ApiKey | None:
        row = await self._database.fetchrow(FIND_KEY, key_id)
        return None if row is None else _key_of(row)

    async def is_empty(self) -> bool:
        """Whether there never was a key: revoked ones count. True before the first migration, too."""
        try:
            return not await self._database.fetchval(ANY_KEY)
        except asyncpg.UndefinedTableError:
            return True

    async def has_usable(self) -> bool:
        return bool(await self._database.fetchval(USABLE_KEY))

    async def listed(self, tenant: str | None) -> list[ApiKey]:
        """The keys of a tenant, or of all."""
        return [_key_of(row) for row in await self._database.fetch(LIST_KEYS, tenant)]

    async def insert(
        self,
        *,
        key_id: str,
        tenant: str,
        name: str,
        scopes: Sequence[Access],
        digest: bytes,
        expires_at: datetime | None,
    ) -> ApiKey:
        return _key_of(await self._database.fetchrow(INSERT_KEY, key_id, tenant, name, scopes, digest, expires_at))

    async def revoke(self, key_id: str, tenant: str | None) -> ApiKey | None:
        """Revoke a key; answers it as it is now. None: there is none of this id, or it is another tenant's."""
        row = await self._database.fetchrow(REVOKE_KEY, key_id, tenant)
        return None if row is None else _key_of(row)

    async def touch(self, used: Mapping[str, datetime]) -> None:
        """Note when keys were last used."""
        await self._database.execute(TOUCH_KEYS, list(used), list(used.values()))


def _key_of(row: Row) -> ApiKey:
    return ApiKey(**{**row, "scopes": [Access(scope) for scope in row["scopes"]]})
