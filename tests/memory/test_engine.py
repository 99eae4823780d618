"""Which memories the engine takes first, where more is due than it has places for."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
from prometheus_client import CollectorRegistry

from app.kit.db import Database, DatabaseConfig
from app.kit.tracing import UNTRACED
from app.memory.engine import FOUND_OF_TENANT_MAX
from app.memory.queue_store import QueueStore
from app.parts import build_base, build_memory
from app.settings import Settings
from tests.conftest import StartService
from tests.diagnostics.test_routes import script
from tests.journeys.looks import WAIT_MS, Json, until
from tests.journeys.talk import plain_talk
from tests.model_server import Fault, ModelServer, Said

PATIENCE_SECONDS = 20.0
MANY = 10_000
SWEEPS = 5  # until it is read whose claim it was, that memory may have had another turn or two
SPAN_SEQ = 10  # up to which the messages of ``long_span`` are observed
TURNS = 40  # of the other tenant meanwhile: several are at work at once, and one may overtake another
DUE = """
WITH session AS (
  INSERT INTO sessions (id, tenant, key, memory_id)
  SELECT id, $1, $1 || n, id FROM (SELECT n, gen_random_uuid() AS id FROM generate_series(1, $2) n) AS i
  RETURNING id
)
INSERT INTO memories (id, tenant, wake_tokens, due_at)
SELECT id, $1, 30000, now() - make_interval(hours => $3) FROM session
"""
LEFT = "SELECT count(*) FROM memories WHERE tenant = $1 AND due_at <= now()"
OVERDUE = """
UPDATE memories m SET due_at = now() - make_interval(mins => $2) FROM sessions s WHERE s.memory_id = m.id AND s.key = $1
"""
OBSERVED = "SELECT s.key FROM observations o JOIN sessions s ON s.id = o.session_id ORDER BY o.id"
NEWEST = "SELECT max(lease_epoch) FROM memories"  # counts the claims, whoever is at work and however slowly
EPOCHS = "SELECT lease_epoch FROM memories WHERE tenant = $1 AND lease_epoch > 0 ORDER BY lease_epoch"


async def test_the_tenants_take_turns_whatever_one_of_them_has_due(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    for tenant, number, hours in (("a", 5, 3), ("b", 1, 2), ("c", 2, 1)):
        await connection.execute(DUE, tenant, number, hours)
    tenants = dict(await connection.fetch("SELECT id, tenant FROM memories"))
    await connection.close()
    database = Database(DatabaseConfig(url=database_url, pool_min=1, pool_max=1))
    await database.open()
    queue = QueueStore(database)
    expected = [tenants[memory] for memory in await queue.due(7, of_tenant=4)]
    few = [tenants[memory] for memory in await queue.due(4, of_tenant=4)]
    await database.close()

    assert expected == ["a", "b", "c", "a", "c", "a", "a"]
    assert few == expected[:4]


async def test_a_tenant_with_ten_thousand_due_memories_delays_no_other_by_more_than_a_sweep(
    database_url: str, start_service: StartService
) -> None:
    connection = await asyncpg.connect(database_url)
    await connection.execute(DUE, "many", MANY, 2)
    await connection.execute(DUE, "one", 1, 1)

    async with start_service(memory={"preset": "compact"}) as service:
        await until(partial(connection.fetchval, LEFT, "one"), lambda left: left == 0)
        (one,) = [row["lease_epoch"] for row in await connection.fetch(EPOCHS, "one")]
        first = min((row["lease_epoch"] for row in await connection.fetch(EPOCHS, "many")), default=one)
        assert one - first < TURNS

        key, before = str(uuid4()), await connection.fetchval(NEWEST)
        await service.append(key, *plain_talk(24))
        await until(partial(service.memory, key), lambda memory: memory["cursor"]["observed_seq"] > 0)
        (claimed,) = [row["lease_epoch"] for row in await connection.fetch(EPOCHS, "default")]
    await connection.close()

    assert claimed - before < SWEEPS * FOUND_OF_TENANT_MAX


@pytest.mark.parametrize("rounds", range(5))
async def test_an_engine_that_is_woken_while_it_is_told_to_end_ends(database_url: str, rounds: int) -> None:
    settings = Settings(provider="extractive", engine={"sweep_seconds": 60})
    base = build_base(settings, database_url, registry=CollectorRegistry(), tracer=UNTRACED)
    engine = build_memory(base).engine

    async def waits() -> bool:
        return bool(engine._look._waiters)

    await base.database.open()
    engine.start()
    await until(waits, bool)

    engine._look.set()
    for _ in range(rounds):  # of the event loop, in one of which the wait ends just as it is cancelled
        await asyncio.sleep(0)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await engine.stop()
    await base.database.close()


async def test_a_memory_with_many_steps_to_do_lets_others_come_between(
    database_url: str, start_service: StartService
) -> None:
    memory = {"message_tokens": 400, "buffer_every": None, "observer_input_tokens": 1_000}
    async with start_service(memory=memory | {"enabled": False}) as service:
        await service.append("long", *plain_talk(96), wait_ms=WAIT_MS)
        await service.append("short", *plain_talk(24), wait_ms=WAIT_MS)
    connection = await asyncpg.connect(database_url)
    for key, minutes in (("long", 2), ("short", 1)):
        await connection.execute(OVERDUE, key, minutes)
    async with start_service(memory=memory, engine={"concurrency": 1, "sweep_seconds": 0.1}) as service:
        for key in ("long", "short"):
            await until(partial(service.memory, key), lambda memory: memory["status"] == "idle")
    observed = [row["key"] for row in await connection.fetch(OBSERVED)]
    await connection.close()

    assert observed.count("long") > 2
    assert observed.index("short") == 1


def long_span() -> list[Json]:
    """A second call, below the threshold, is the first that is shown the lighthouse."""
    said = [{"role": role, "content": "The harbour is closed. " * 60} for role in ("user", "assistant") * 6]
    said[4]["content"] += "The lighthouse is too."
    return said


def in_parts(limit: int | None = 1_000) -> dict[str, Any]:
    return {"message_tokens": 3_000, "retain_tokens": 600, "buffer_every": None, "observer_input_tokens": limit}


async def test_a_span_longer_than_one_call_may_be_shown_is_observed_by_several(start_service: StartService) -> None:
    """memory-rules.md section 3: up to P - retain, however much of it goes into a call."""
    said, cursors, calls = long_span(), {}, {}
    for limit in (None, 1_000):
        async with start_service(memory=in_parts(limit)) as service:
            await service.append(f"{limit}", *said, wait_ms=WAIT_MS)
            found = await service.memory(f"{limit}")
        cursors[limit], calls[limit] = found["cursor"]["observed_seq"], found["usage"]["observer"]["calls"]

    assert cursors[1_000] == cursors[None] == SPAN_SEQ
    assert calls[None] == 1
    assert calls[1_000] > 2


async def test_the_rest_of_a_span_is_observed_by_the_next_process(
    start_service: StartService, models: ModelServer
) -> None:
    models.said_to = lambda asked: Fault.HANG if asked.has("lighthouse") else None
    async with start_service(provider="openai", memory=in_parts(), engine={"grace_seconds": 0.0}) as service:
        await service.append("s", *long_span())
        assert await asyncio.to_thread(models.wait_for_requests, 2)
        left = await service.memory("s")
    models.said_to = lambda _asked: None
    async with start_service(provider="openai", memory=in_parts()) as service:
        found = await until(partial(service.memory, "s"), lambda memory: memory["status"] == "idle")

    assert left["pending"]["tokens"] < left["thresholds"]["observe_at"]
    assert found["cursor"]["observed_seq"] == SPAN_SEQ > left["cursor"]["observed_seq"] > 0


@pytest.mark.parametrize("times", [1, 3])
async def test_the_rest_of_a_span_is_observed_after_a_failure_and_after_less_was_shown_for_it(
    start_service: StartService, models: ModelServer, times: int
) -> None:
    refused = [Said(status=400, body={"error": {"code": "content_filter", "message": "Filtered."}})] * times
    models.said_to = lambda asked: refused.pop() if refused and asked.has("lighthouse") else None
    async with start_service(provider="openai", memory=in_parts()) as service:
        await service.append("s", *long_span())
        found = await until(
            partial(service.memory, "s"), lambda memory: memory["status"] == "idle" and not memory["attempts"]
        )

    assert not refused
    assert found["cursor"]["observed_seq"] == SPAN_SEQ


async def test_a_memory_with_one_step_to_do_is_claimed_once_whoever_waits(
    database_url: str, start_service: StartService
) -> None:
    memory, keys = {"message_tokens": 400, "buffer_every": None}, ("a", "b", "c")
    async with start_service(memory=memory | {"enabled": False}) as service:
        for key in keys:
            await service.append(key, *plain_talk(24), wait_ms=WAIT_MS)
    connection = await asyncpg.connect(database_url)
    before = await connection.fetchval(NEWEST)
    for key in keys:
        await connection.execute(OVERDUE, key, 1)
    async with start_service(memory=memory, engine={"concurrency": 1, "sweep_seconds": 0.1}) as service:
        for key in keys:
            await until(partial(service.memory, key), lambda memory: memory["status"] == "idle")
    epochs = [row["lease_epoch"] for row in await connection.fetch(EPOCHS, "default")]
    observed = [row["key"] for row in await connection.fetch(OBSERVED)]
    await connection.close()

    assert sorted(observed) == sorted(keys)
    assert epochs == [before + 1, before + 2, before + 3]


async def test_what_was_said_while_memory_was_off_for_all_is_observed_once_it_is_on(
    start_service: StartService,
) -> None:
    talk = plain_talk(16)
    memory: dict[str, Any] = {"message_tokens": 400, "buffer_every": None}
    async with start_service(memory=memory | {"enabled": False}) as service:
        await service.append("s", *talk[:8], wait_ms=WAIT_MS)
        off = await service.memory("s")
    async with start_service(memory=memory) as service:
        await service.append("s", *talk[8:], wait_ms=WAIT_MS)
        on = await service.memory("s")

    assert (off["status"], off["cursor"]["observed_seq"]) == ("disabled", 0)
    assert off["pending"]["tokens"] >= memory["message_tokens"]
    assert (on["status"], on["coverage"]["intervals"][0]["from"]) == ("idle", 1)
    assert on["cursor"]["observed_seq"] > 8


@pytest.mark.parametrize("scope", ["session", "resource"])
async def test_nothing_is_noted_from_when_the_memory_is_switched_off_though_a_call_is_under_way(
    start_service: StartService, models: ModelServer, scope: str
) -> None:
    models.fail_next(Fault.HANG)
    memory: dict[str, Any] = {"message_tokens": 400, "buffer_every": None, "scope": scope}
    async with start_service(provider="openai", memory=memory) as service:
        posted = {"messages": plain_talk(16), "resource_id": "ana"}
        assert (await service.client.post("/sessions/s/messages", json=posted)).status_code == 201
        assert await asyncio.to_thread(models.wait_for_requests, 1, seconds=60)
        await service.configure("s", enabled=False)
        models.release()
        await service.context("s", min_seq=16, wait_ms=WAIT_MS)
        off, noted = await service.memory("s"), await service.get("/sessions/s/memory/observations")
        await service.configure("s", enabled=True)
        await service.context("s", min_seq=16, wait_ms=WAIT_MS)
        on = await service.memory("s")

    assert (off["status"], off["cursor"]["observed_seq"], noted["items"]) == ("disabled", 0, [])
    assert on["cursor"]["observed_seq"] > 0


async def test_a_failure_that_cannot_be_recorded_as_it_is_counts_all_the_same(
    start_service: StartService, tmp_path: Path
) -> None:
    fails = script(tmp_path, {"error": {"kind": "no\x00text"}})
    memory = {"message_tokens": 400, "buffer_every": None}
    async with start_service(**fails, memory=memory, engine={"sweep_seconds": 600}) as service:
        await service.append("s", *plain_talk(8))
        failing = await until(partial(service.memory, "s"), lambda memory: memory["attempts"] > 0)

    assert failing["status"] == "backing_off"
    assert (failing["last_error"]["step"], failing["last_error"]["kind"]) == ("observe", "internal")
