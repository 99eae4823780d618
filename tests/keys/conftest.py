"""Fixtures that make keys of tenants, beside the service."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime

import pytest

from app.keys.model import hashed, id_of, new_secret
from app.keys.store import KeyStore
from app.kit.auth import Access
from app.kit.db import Database, DatabaseConfig

MakeKey = Callable[..., Awaitable[str]]


@pytest.fixture
async def key_store(database_url: str) -> AsyncIterator[KeyStore]:
    database = Database(DatabaseConfig(url=database_url, pool_min=1, pool_max=2))
    await database.open()
    yield KeyStore(database)
    await database.close()


@pytest.fixture
def make_key(key_store: KeyStore) -> MakeKey:
    async def make(tenant: str, *scopes: Access, expires_at: datetime | None = None) -> str:
        secret = new_secret()
        key_id = id_of(secret)
        assert key_id is not None
        digest = hashed(secret)
        await key_store.insert(
            key_id=key_id, tenant=tenant, name="", scopes=scopes, digest=digest, expires_at=expires_at
        )
        return secret

    return make


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}
