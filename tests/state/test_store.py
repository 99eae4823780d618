"""Tenants do not see each other's state, and a read is one statement."""

from typing import Any

import pytest

from app.artifacts.service import ArtifactConfig, ArtifactService
from app.artifacts.store import ArtifactStore
from app.kit.conditions import Conditions
from app.kit.db import Database, DatabaseConfig
from app.sessions.errors import SessionNotFound
from app.sessions.store import SessionStore
from app.state.model import StateConfig
from app.state.service import StateService
from app.state.store import StateStore

NAMES = ("x", "user:x", "app:x")


@pytest.fixture
async def database(database_url: str) -> Any:
    database = Database(DatabaseConfig(url=database_url, pool_min=1, pool_max=2))
    await database.open()
    yield database
    await database.close()


@pytest.fixture
def service(database: Database) -> StateService:
    refusals = ArtifactService(ArtifactStore(database), ArtifactConfig()).refusals
    return StateService(database=database, store=StateStore(database), config=StateConfig(), artifact_refusals=refusals)


async def a_session(database: Database, tenant: str, key: str, resource_id: str) -> None:
    put = await SessionStore(database).put(
        tenant=tenant,
        key=key,
        resource_id=resource_id,
        config={},
        metadata={},
        metadata_bytes_max=1_024,
        timezone="UTC",
    )
    assert put is not None


async def patched(service: StateService, tenant: str, values: dict[str, Any]) -> dict[str, Any]:
    return (await service.patch(tenant=tenant, key="s1", values=values, expected=Conditions())).values


async def test_tenants_with_sessions_and_resources_of_one_name_share_nothing(
    database: Database, service: StateService
) -> None:
    for tenant in ("a", "b"):
        await a_session(database, tenant, "s1", "ana")
    await patched(service, "a", dict.fromkeys(NAMES, "of a"))
    assert (await service.state("b", "s1")).values == {}
    await patched(service, "b", dict.fromkeys(NAMES, "of b"))
    await patched(service, "b", dict.fromkeys(NAMES))
    for name in NAMES:
        await service.delete(tenant="b", key="s1", name=name, expected=Conditions())
        await service.put(tenant="b", key="s1", name=name, value=0, expected=Conditions())
    assert (await service.state("a", "s1")).values == dict.fromkeys(NAMES, "of a")
    assert [(await service.entry("a", "s1", name)).value for name in NAMES] == ["of a"] * 3


async def test_a_session_of_one_tenant_is_never_seen_by_another(database: Database, service: StateService) -> None:
    await a_session(database, "a", "s1", "ana")
    with pytest.raises(SessionNotFound):
        await service.state("b", "s1")
    with pytest.raises(SessionNotFound):
        await patched(service, "b", {"app:x": 1})


async def test_reading_is_one_statement(database: Database, service: StateService) -> None:
    await a_session(database, "a", "s1", "ana")
    await patched(service, "a", {"x": 1})
    sent: list[str] = []
    async with database.connection() as first, database.connection() as second:
        for connection in (first, second):
            connection.add_query_logger(lambda record: sent.append(record.query.split("\n")[0]))
    await service.state("a", "s1")
    await service.entry("a", "s1", "x")
    assert [query for query in sent if query.startswith("/*")] == ["/* state */", "/* state_entry */"]
