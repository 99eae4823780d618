"""/overview: what of a tenant waits, works and fails, and how the process is that answers."""

import asyncio
from typing import Any

import asyncpg

from app.commands.issuing import create, wanted
from app.diagnostics.backlog_store import CAUSES_MAX, FAILED_MAX, OWN_MAX
from app.diagnostics.metrics import AGES
from app.settings import Settings
from benchmarks.speed.filling import fill
from tests.conftest import Service, StartService
from tests.journeys.looks import WAIT_MS, until, until_stalled
from tests.journeys.talk import plain_talk
from tests.keys.conftest import bearer
from tests.model_server import Fault, ModelServer

KEY = "a-key-of-sixteen-characters"
MEMORY: dict[str, Any] = {"message_tokens": 400, "observation_tokens": 100, "buffer_every": None, "keep_last": 0}
OFTEN = "UPDATE memories m SET attempts = $1 FROM sessions s WHERE s.memory_id = m.id AND s.key = $2"
RESTING = {"engine": {"sweep_seconds": 600}, "memory": {"message_tokens": 10**6}, "provider": "extractive"}


async def overview(service: Service, **headers: str) -> dict[str, Any]:
    answer = await service.client.get("/overview", headers=headers)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def standing(told: dict[str, Any]) -> dict[str, int]:
    return {found["status"]: found["memories"] for found in told["queue"]["memories"]}


def role(told: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in told["process"]["roles"] if one["role"] == name)
    return found


async def execute(url: str, statement: str, *arguments: Any) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(statement, *arguments)
    await connection.close()


async def test_of_a_service_at_rest_nothing_waits_or_fails(service: Service) -> None:
    await service.append("s", {"role": "user", "content": "Hello"}, wait_ms=WAIT_MS)
    told = await overview(service)

    assert told["queue"]["memories"] == told["failing"] == []
    assert (told["queue"]["complete"], told["queue"]["late_seconds"], told["spending"]) == (True, 0, None)
    assert role(told, "observer") == role(told, "extractor") | {"role": "observer"}
    assert role(told, "observer")["provider"] == "extractive"
    assert role(told, "observer")["circuit"] is None
    assert told["process"]["vectors"] is None
    assert told["process"]["connections"]["max"] == 10


async def test_what_fails_is_told_by_its_cause_with_its_sessions(
    start_service: StartService, models: ModelServer, database_url: str
) -> None:
    models.always = Fault.UNAUTHORIZED
    async with start_service(provider="openai", memory=MEMORY) as service:
        for key in ("one", "other"):
            await service.append(key, *plain_talk(8))
        await until_stalled(service, database_url, "one")
        await until_stalled(service, database_url, "other")
        await execute(database_url, "UPDATE messages SET ingested_at = now() - interval '2 hours'")
        memory = await service.memory("one")
        told = await overview(service)
        ordered = []
        for attempts, key in enumerate(("one", "other", "one"), start=100):
            await execute(database_url, OFTEN, attempts, key)
            ordered.append((await overview(service))["failing"][0]["sessions"])

    assert ordered == [["one", "other"], ["other", "one"], ["one", "other"]]
    [cause] = told["failing"]
    assert sorted(cause["sessions"]) == ["one", "other"]
    assert (cause["step"], cause["kind"], cause["memories"]) == ("observe", "unauthorized", 2)
    assert cause["message"] == memory["last_error"]["message"]
    assert cause["attempts"] >= memory["attempts"]
    assert cause["last_at"] >= memory["last_error"]["at"]
    assert cause["next_at"] <= memory["next_attempt_at"]
    [stalled] = told["queue"]["memories"]
    assert (stalled["status"], stalled["memories"]) == ("stalled", 2)
    assert stalled["pending_tokens"] == 2 * memory["pending"]["tokens"]
    assert 7_200 <= stalled["oldest_seconds"] < 7_300
    ages = {age["below_seconds"]: age["pending_tokens"] for age in told["queue"]["ages"]}
    assert ages == dict.fromkeys((*AGES, None), 0) | {86_400: stalled["pending_tokens"]}
    observer = role(told, "observer")
    assert (observer["circuit"], observer["last_error"]) == ("closed", "unauthorized")  # refused: no outage
    assert observer["answered_seconds"] is None
    assert observer["last_error_seconds"] >= 0


async def test_after_how_many_tries_a_memory_is_stalled_is_a_setting_that_all_who_tell_of_it_go_by(
    start_service: StartService, models: ModelServer
) -> None:
    models.always = Fault.UNAUTHORIZED
    async with start_service(provider="openai", memory=MEMORY, engine={"attempts_max": 1}) as service:
        await service.append("s", *plain_talk(8))
        memory = await until(lambda: service.memory("s"), lambda memory: memory["attempts"] == 1)
        assert memory["status"] == "stalled"
        assert [one["session"] for one in (await service.get("/sessions", status="stalled"))["items"]] == ["s"]
        assert [one["status"] for one in (await overview(service))["queue"]["memories"]] == ["stalled"]
        assert 'daybook_memories{status="stalled"} 1.0' in (await service.client.get("/metrics")).text
    async with start_service(provider="openai", memory=MEMORY, engine={"sweep_seconds": 600}) as service:
        assert (await service.memory("s"))["status"] == "backing_off"


async def test_an_open_circuit_and_a_provider_that_answers_again_are_told(
    start_service: StartService, models: ModelServer
) -> None:
    models.fail_next(Fault.SERVER_ERROR)
    given_up = {"failures_max": 1, "open_seconds": 60}
    unlooked = {"sweep_seconds": 600}  # or it is tried again while it is looked at
    async with start_service(provider="openai", memory=MEMORY, llm=given_up, engine=unlooked) as service:
        await service.append("s", *plain_talk(8))
        await until(lambda: service.memory("s"), lambda memory: memory["status"] == "backing_off")
        down = await overview(service)
    async with start_service(provider="openai", memory=MEMORY) as service:
        await service.client.post("/sessions/s/memory/redrive", params={"wait_ms": WAIT_MS})
        up = await overview(service)

    assert standing(down) == {"backing_off": 1}
    assert role(down, "reflector")["circuit"] == role(down, "observer")["circuit"] == "open"
    assert 0 < role(down, "observer")["next_try_seconds"] <= 60
    assert role(down, "observer")["last_error"] == "server_error"
    assert (standing(up), up["failing"]) == ({}, [])
    assert (role(up, "observer")["circuit"], role(up, "observer")["next_try_seconds"]) == ("closed", None)
    assert role(up, "observer")["answered_seconds"] >= 0


async def test_a_key_is_told_of_its_tenant_and_only_an_admin_of_the_process(
    start_service: StartService, database_url: str
) -> None:
    issued = []
    for tenant, scope in (("acme", "read"), ("globex", "admin")):
        asked_for = wanted(tenant=tenant, scopes=[scope], name="", expires=None)
        issued.append((await asyncio.to_thread(create, Settings(database_url=database_url), asked_for))[0])
    async with start_service(bootstrap_key=KEY, **RESTING) as service:
        await service.client.post("/sessions/s/messages", json={"messages": plain_talk(8)}, headers=bearer(KEY))
        await execute(
            database_url,
            "UPDATE memories SET due_at = now() + interval '1 hour', attempts = 9, last_error = $1",
            '{"at": "2026-08-01T10:00:00+00:00", "step": "observe", "kind": "timeout", "message": "a secret"}',
        )
        own, reader, admin = [await overview(service, **bearer(secret)) for secret in (KEY, *issued)]
        refused = await service.client.get("/overview")

    assert (standing(own), own["failing"][0]["sessions"]) == ({"stalled": 1}, ["s"])
    for other in (reader, admin):
        assert other["queue"]["memories"] == other["failing"] == []
        assert sum(age["pending_tokens"] for age in other["queue"]["ages"]) == 0
    assert reader["process"] is None
    assert admin["process"]["indexing"]["sessions"] == 1  # as /metrics: of all tenants, and a number
    assert refused.status_code == 401


async def test_what_a_tenant_has_spent_is_told_beside_its_cap(start_service: StartService, models: ModelServer) -> None:
    caps = {"tenant_tokens_per_day": 1}
    async with start_service(provider="openai", memory=MEMORY, caps=caps) as service:
        await service.append("s", *plain_talk(8), wait_ms=WAIT_MS)
        await service.append("s", *plain_talk(16)[8:], wait_ms=WAIT_MS)
        memory = await service.memory("s")
        told = await overview(service)

    assert models.requests
    assert standing(told) == {"paused": 1}
    assert told["spending"] == {name: memory["spending"][name] for name in ("day", "rung", "tenant")}
    assert told["spending"]["rung"] == "paused"


async def test_what_is_due_and_nobody_claims_is_told_with_how_long(
    start_service: StartService, database_url: str
) -> None:
    async with start_service(**RESTING) as service:
        await service.append("s", {"role": "user", "content": "Hello"})
        await execute(database_url, "UPDATE memories SET due_at = now() - interval '90 seconds'")
        told = await overview(service)

    assert standing(told) == {"due": 1}
    assert 90 <= told["queue"]["late_seconds"] < 150


async def test_the_oldest_message_of_a_shared_memory_is_that_of_any_of_its_sessions(
    start_service: StartService, database_url: str
) -> None:
    shared = {"memory": {"message_tokens": 10**6, "scope": "resource"}}
    async with start_service(**(RESTING | shared)) as service:
        for key in ("old", "new"):
            said = {"messages": [{"role": "user", "content": "Hello"}], "resource_id": "ana"}
            # A step of the memory that is still to come would set anew when it is due.
            await service.client.post(f"/sessions/{key}/messages", json=said, params={"wait_ms": WAIT_MS})
        old = "session_id = (SELECT id FROM sessions WHERE key = 'old')"
        await execute(database_url, f"UPDATE messages SET ingested_at = now() - interval '2 hours' WHERE {old}")  # noqa: S608 - our own text
        await execute(database_url, "UPDATE memories SET due_at = now() + interval '1 hour', attempts = 1")
        told = await overview(service)

    [failed] = told["queue"]["memories"]
    assert failed["memories"] == 1
    assert 7_200 <= failed["oldest_seconds"] < 7_300


async def test_messages_that_the_index_lacks_are_counted_until_it_has_them(start_service: StartService) -> None:
    by_hand = {"index_quiet_seconds": 0, "index_look_seconds": 600}
    async with start_service(recall=by_hand, embeddings={"provider": "scripted"}) as service:
        await service.append("a", *plain_talk(8))
        await service.append("b", {"role": "user", "content": "Hello"})
        lacking = await overview(service)
        indexer = service.app.state.recall._indexer
        while (taken := indexer.take()) is not None:
            await indexer.index(taken.session)
        indexed = await overview(service)

    assert lacking["process"]["indexing"] == {"sessions": 2, "looked": 2, "messages": 9}
    assert indexed["process"]["indexing"] == {"sessions": 0, "looked": 0, "messages": 0}
    assert lacking["process"]["vectors"].keys() == {"sessions", "messages"}
    assert role(lacking, "embeddings")["circuit"] == "closed"


FAILED = """
UPDATE memories SET due_at = now() + (1 + random()) * interval '5 minutes', attempts = 1 + (hashtext(id::text) & 7),
  last_error = jsonb_build_object(
    'at', now(), 'step', 'observe', 'kind', 'k' || (hashtext(id::text) & 15), 'message', 'm')
"""


async def test_of_very_many_so_many_are_looked_at_and_it_is_said(
    start_service: StartService, database_url: str
) -> None:
    keys = [f"s-{number}" for number in range(2 * OWN_MAX + 10)]
    async with start_service(**RESTING) as service:
        await fill(database_url, keys, 1, observed=False, wake_tokens=10**9)
        await execute(database_url, "UPDATE memories SET due_at = NULL")
        few = "UPDATE memories SET due_at = now() WHERE id IN (SELECT id FROM memories LIMIT 3)"
        await execute(database_url, few)
        complete = await overview(service)
        for when in ("now()", "now() + interval '1 hour'"):
            more = "(SELECT id FROM memories WHERE due_at IS NULL LIMIT $1)"
            await execute(database_url, f"UPDATE memories SET due_at = {when} WHERE id IN {more}", OWN_MAX - 100)  # noqa: S608 - our own text
        many = await overview(service)
        await execute(database_url, FAILED)
        failing = await overview(service)
        half = "UPDATE memories SET due_at = now() - interval '1 hour' WHERE id IN (SELECT id FROM memories LIMIT $1)"
        await execute(database_url, half, OWN_MAX + 5)
        both = await overview(service)

    assert (complete["queue"]["complete"], standing(complete)) == (True, {"due": 3})
    assert (many["queue"]["complete"], sum(standing(many).values())) == (True, 2 * OWN_MAX - 197)
    assert failing["queue"]["complete"] is both["queue"]["complete"] is False
    assert sum(standing(failing).values()) == OWN_MAX
    assert sum(standing(both).values()) == 2 * OWN_MAX  # what failed is seen however much is due
    assert len(both["failing"]) == CAUSES_MAX
    counts = [cause["memories"] for cause in both["failing"]]
    assert counts == sorted(counts, reverse=True)
    assert all(len(cause["sessions"]) == FAILED_MAX for cause in both["failing"])
