"""Sessions are deleted over HTTP with all that is kept of them (api.md, Sessions)."""

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.conftest import Service, StartService
from tests.databases import TABLES
from tests.journeys.looks import until
from tests.sessions.test_lineage import WAITING
from tests.sessions.test_routes import said
from tests.test_problems import assert_problem

FACT = "I paid invoice {n} of {n}20 euros for Ana in Porto on May {n}, and we decided to keep the shop. "
MEMORY = {"message_tokens": 100, "observation_tokens": 60, "buffer_every": None, "retain_tokens": 0, "keep_last": 0}
CONDENSED = "<observations>\nDate: May 2, 2026\n* 🟡 [fact] Ana pays the invoices. #1\n</observations>"
OF_THE_TENANT = {"tenant_spending", "api_keys"}  # its caps and keys hold on, whatever is deleted
SEARCHED_AT_ONCE = {"index_quiet_seconds": 0, "index_look_seconds": 0.05, "index_share": 1}


async def fill(service: Service, key: str, **fields: Any) -> None:
    """A session of which something is kept in every table there is."""
    await service.configure(key, **MEMORY)
    for first in range(1, 25, 6):
        body = {"messages": [said(FACT.format(n=n)) for n in range(first, first + 6)], **fields}
        await service.client.post(f"/sessions/{key}/messages", json=body, params={"wait_ms": 50_000})
    await service.client.put(f"/sessions/{key}/artifacts/plan", content=b"first")
    await service.client.patch(f"/sessions/{key}/state", json={"page": "billing"})
    await service.client.put(f"/resources/{fields['resource_id']}", json={"metadata": {"plan": "pro"}})
    fact = {"text": "Ana pays.", "category": "insight", "sources": [{"session": key, "cites": [1, 2]}]}
    await service.client.post(f"/resources/{fields['resource_id']}/facts", json=fact)
    await service.reflect(key)


async def counts(database_url: str) -> dict[str, int]:
    connection = await asyncpg.connect(database_url)
    found = {table: await connection.fetchval(f"SELECT count(*) FROM {table}") for table in TABLES}  # noqa: S608 - our own table names
    await connection.close()
    return found


async def tables(database_url: str) -> set[str]:
    connection = await asyncpg.connect(database_url)
    rows = await connection.fetch("SELECT tablename AS table_name FROM pg_tables WHERE schemaname = 'public'")
    await connection.close()
    return {row["table_name"] for row in rows} - {"alembic_version"}


def _is_searchable(found: dict[str, int]) -> bool:
    return found["messages"] == found["message_terms"] == found["message_vectors"]


@pytest.mark.parametrize(
    ("scope", "path", "kept"),
    [
        ("session", "/sessions/s1", {"resources"}),
        ("session", "/resources/user-1", set[str]()),
        ("resource", "/resources/user-1", set[str]()),
    ],
)
async def test_no_table_keeps_a_row_of_what_is_deleted(
    start_service: StartService, database_url: str, tmp_path: Path, scope: str, path: str, kept: set[str]
) -> None:
    never = {"api_keys"} | ({"session_cursors"} if scope == "session" else set())
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"reply": CONDENSED}]), encoding="utf-8")
    reflector = {"provider": "scripted", "model": str(script)}  # the built-in one costs nothing
    options = {"reflector": reflector, "caps": {"session_tokens_per_day": 10**9}, "recall": SEARCHED_AT_ONCE}
    options["embeddings"] = {"provider": "scripted", "look_seconds": 0.05, "share": 1.0}
    async with start_service(**options) as service:
        await service.client.put("/sessions/s1", json={"resource_id": "user-1", "config": {"scope": scope}})
        await fill(service, "s1", resource_id="user-1")
        before = await until(partial(counts, database_url), _is_searchable)
        answer = await service.client.delete(path)
        after = await counts(database_url)

    assert set(TABLES) == await tables(database_url)
    assert {table for table, count in before.items() if not count} == never
    assert answer.status_code == 200
    deleted = {table: before[table] - after[table] for table in before if table not in OF_THE_TENANT}
    assert answer.json()["rows"] == deleted
    assert {table for table, count in after.items() if count} - OF_THE_TENANT == kept


async def test_a_deleted_session_is_one_never_seen_until_its_key_is_used_again(service: Service) -> None:
    await service.append("s1", said("Hello", id="m-1"), said("Goodbye"))
    deleted = await service.client.delete("/sessions/s1")
    assert_problem(await service.client.get("/sessions/s1"), 404, "session-not-found")
    assert_problem(await service.client.get("/sessions/s1/messages/m-1"), 404, "session-not-found")
    assert_problem(await service.client.delete("/sessions/s1"), 404, "session-not-found")
    assert (await service.context("s1"))["payload"]["messages"] == []
    anew = await service.append("s1", said("Hello again", id="m-1"))
    assert (deleted.json()["session"], deleted.json()["rows"]["messages"]) == ("s1", 2)
    assert (anew["messages"][0]["seq"], anew["replayed"]) == (1, 0)


async def test_deleting_a_session_leaves_the_others_alone(service: Service) -> None:
    for key in ("s1", "s2"):
        await service.append(key, said(f"Hello from {key}"))
        await service.client.patch(f"/sessions/{key}/state", json={"page": key, "app:plan": "free"})
    await service.client.delete("/sessions/s1")
    assert (await service.get("/sessions/s2/messages"))["items"][0]["content"][0]["text"] == "Hello from s2"
    assert await service.get("/sessions/s2/state") == {"page": "s2", "app:plan": "free"}


async def test_a_resource_goes_with_all_its_sessions_and_its_own_state(service: Service) -> None:
    for key, resource in (("a", "user-1"), ("b", "user-1"), ("c", "user-2")):
        await service.client.post(
            f"/sessions/{key}/messages", json={"messages": [said("Hello")], "resource_id": resource}
        )
    await service.client.patch("/sessions/a/state", json={"user:name": "Ana"})
    await service.client.patch("/sessions/c/state", json={"user:name": "Boris"})
    receipt = (await service.client.delete("/resources/user-1")).json()
    left = [session["session"] for session in (await service.get("/sessions"))["items"]]
    again = (await service.client.delete("/resources/user-1")).json()
    assert (receipt["resource_id"], receipt["sessions"], receipt["rows"]["messages"]) == ("user-1", 2, 2)
    assert receipt["rows"]["state_entries"] == 1
    assert left == ["c"]
    assert await service.get("/sessions/c/state") == {"user:name": "Boris"}
    assert (again["sessions"], set(again["rows"].values())) == (0, {0})


async def test_a_resource_goes_without_the_branch_of_a_former_session_of_the_key_that_was_another_s(
    service: Service,
) -> None:
    for resource in ("user-1", "user-2"):
        body = {"messages": [said("Hello")], "resource_id": resource}
        assert (await service.client.post("/sessions/s1/messages", json=body)).status_code == 201
        if resource == "user-1":
            assert (await service.client.post("/sessions/s1/branch", json={"key": "s2"})).status_code == 201
            assert (await service.client.delete("/sessions/s1")).status_code == 200
    assert (await service.client.delete("/resources/user-2")).json()["sessions"] == 1
    assert [session["session"] for session in (await service.get("/sessions"))["items"]] == ["s2"]


async def test_an_append_that_waits_is_answered_though_its_session_is_deleted_meanwhile(
    service: Service, database_url: str
) -> None:
    await service.append("s1", said(id="a"))
    connection = await asyncpg.connect(database_url)
    await connection.execute("UPDATE memories SET lease_owner = 'another', due_at = now() + interval '1 hour'")
    await connection.close()
    waiting = asyncio.create_task(service.append("s1", said(id="b"), wait_ms=30_000))
    await until(partial(service.get, "/sessions/s1"), lambda session: session["last_seq"] == 2)

    assert (await service.client.delete("/sessions/s1")).status_code == 200

    answer = await waiting
    assert ([stored["seq"] for stored in answer["messages"]], answer["memory"]["pending_tokens"] > 0) == ([2], True)


async def test_appends_while_a_session_is_deleted_are_stored_before_or_after_never_in_part(service: Service) -> None:
    await service.append("s1", said("first"))

    async def append(number: int) -> None:
        await service.append("s1", *(said(f"{number}-{part}") for part in range(3)))

    await asyncio.gather(*(append(number) for number in range(6)), service.client.delete("/sessions/s1"))
    stored = (await service.get("/sessions/s1/messages"))["items"] if await seen(service) else []
    assert [message["seq"] for message in stored] == list(range(1, len(stored) + 1))
    assert len(stored) % 3 == 0
    assert "first" not in [message["content"][0]["text"] for message in stored]


async def test_what_is_said_again_with_more_while_its_session_is_deleted_is_stored_whole(
    service: Service, database_url: str
) -> None:
    """An append that waited sees what was before it, and would take the first message for one that is stored."""
    await service.append("s1", said("first", id="a"))
    holding, looking = await asyncpg.connect(database_url), await asyncpg.connect(database_url)
    try:
        async with holding.transaction():
            await holding.execute("SELECT FROM sessions FOR UPDATE")
            again = asyncio.create_task(service.append("s1", said("first", id="a"), said("second", id="b")))
            await until(partial(looking.fetchval, WAITING), bool)
            for table in ("messages", "sessions", "memories"):
                await holding.execute(f"DELETE FROM {table}")  # noqa: S608 - our own table names
        assert [(stored["id"], stored["seq"]) for stored in (await again)["messages"]] == [("a", 1), ("b", 2)]
        assert [one["id"] for one in (await service.get("/sessions/s1/messages"))["items"]] == ["a", "b"]
        assert (await again)["replayed"] == 0
    finally:
        await holding.close()
        await looking.close()


async def seen(service: Service) -> bool:
    return (await service.client.get("/sessions/s1")).status_code == 200
