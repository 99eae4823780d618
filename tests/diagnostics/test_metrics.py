"""/metrics: what is counted, that it is documented and drawn, and that no label tells who or what was said."""

import asyncio
import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import httpx2 as httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.memory.outcomes import Outcome
from tests.conftest import Service, StartService
from tests.journeys.looks import WAIT_MS, until, until_stalled
from tests.journeys.talk import plain_talk
from tests.model_server import Fault, ModelServer

DOCS = Path(__file__).parents[2] / "docs"
MEMORY: dict[str, Any] = {"message_tokens": 400, "observation_tokens": 100, "buffer_every": None, "keep_last": 0}
LABELS = {
    *("route", "method", "status", "le", "step", "outcome", "cause", "provider", "model", "kind", "direction"),
    *("age", "state", "version", "what"),
}
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


async def samples(service: Service) -> Samples:
    answer = await service.client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def total(found: Samples, name: str, **labels: str) -> float:
    """The sum of a metric over the labels that are not given."""
    return sum(value for (own, has), value in found.items() if own == f"daybook_{name}" and labels.items() <= set(has))


async def test_requests_are_counted_by_route_and_not_by_path(service: Service) -> None:
    for key in ("a", "b"):
        await service.append(key, {"role": "user", "content": "Hello"})
        await service.context(key)
    await service.client.get("/sessions/never/memory")
    await service.client.get("/nowhere/at/all")
    await service.client.request("PROPFIND", "/sessions/a")
    found = await samples(service)

    append = {"route": "/sessions/{key}/messages", "method": "POST"}
    assert total(found, "http_requests_total", **append, status="201") == 2
    assert total(found, "http_request_seconds_count", **append) == 2
    assert total(found, "http_request_seconds_count", route="/sessions/{key}/context", method="GET") == 2
    assert total(found, "http_requests_total", route="/sessions/{key}/memory", status="404") == 1
    assert total(found, "http_requests_total", route="unmatched", status="404") == 1
    assert total(found, "http_requests_total", method="unmatched") == 1


async def test_appends_and_what_agents_used_are_counted_once(service: Service) -> None:
    used = {"model": "m", "input_tokens": 900, "cached_input_tokens": 700, "output_tokens": 80}
    body = {"messages": [{"id": "m-1", "role": "user", "content": "Hello"}], "usage": used}
    for _ in range(2):
        await service.client.post("/sessions/a/messages", json=body)
    found = await samples(service)

    assert total(found, "messages_appended_total") == 1
    assert [total(found, "actor_tokens_total", kind=kind) for kind in ("input", "cached", "output")] == [900, 700, 80]


async def test_the_memorys_work_and_its_calls_are_counted(start_service: StartService, models: ModelServer) -> None:
    models.fail_next(Fault.EMPTY)
    async with start_service(provider="anthropic", memory=MEMORY) as service:
        await service.append("s", *plain_talk(8), wait_ms=WAIT_MS)
        await service.reflect("s")
        memory = await service.memory("s")
        await service.client.delete("/sessions/s/memory/observations")
        runs = (await service.get("/sessions/s/memory/runs"))["items"]
        found = await samples(service)

    assert memory["log"]["reflections"] == 1
    assert total(found, "steps_total", step="observe", outcome="recorded") == 1
    assert total(found, "steps_total", step="reflect", outcome="recorded") == 1
    causes = ("observed", "reflected", "deleted")
    assert [total(found, "memory_versions_total", cause=cause) for cause in causes] == [1, 1, 0]
    assert total(found, "model_calls_total", kind="observe", outcome="rejected") == 1
    assert total(found, "model_calls_total", provider="anthropic") == len(runs)
    for direction, column in (
        ("input", "input_tokens"),
        ("cached", "cached_input_tokens"),
        ("output", "output_tokens"),
    ):
        assert total(found, "model_tokens_total", direction=direction) == sum(run[column] for run in runs)
    assert total(found, "model_cost_usd_total") == pytest.approx(sum(run["cost_usd"] for run in runs))
    assert total(found, "model_call_seconds_count") == len(runs)
    assert total(found, "claim_wait_seconds_count") >= 1
    assert total(found, "observed_after_seconds_count") == 1
    assert 0 < total(found, "observed_after_seconds_sum") < 60
    assert total(found, "provider_circuit_open", provider="anthropic") == 0


async def test_what_is_erased_is_counted_by_what_was_asked_for(service: Service) -> None:
    for key in ("a", "b"):
        await service.append(key, {"id": "m-1", "role": "user", "content": "Hello"})
    for path in ("/sessions/a/messages/m-1", "/sessions/a", "/sessions/b", "/sessions/b", "/resources/ana"):
        await service.client.delete(path)
    found = await samples(service)

    whats = ("message", "session", "resource")
    assert [total(found, "erasures_total", what=what) for what in whats] == [1, 2, 1]


async def test_what_waits_is_told_by_status_and_age(
    start_service: StartService, models: ModelServer, database_url: str
) -> None:
    models.always = Fault.UNAUTHORIZED
    async with start_service(provider="openai", memory=MEMORY, llm={"failures_max": 1}) as service:
        await service.append("stalled", *plain_talk(8))
        await until_stalled(service, database_url, "stalled")
        models.always = None
        models.fail_next(Fault.SERVER_ERROR, retry_after="600")  # or it is tried again while it is counted
        await service.append("backing-off", *plain_talk(8))
        await until(lambda: service.memory("backing-off"), lambda memory: memory["status"] == "backing_off")
        await service.append("idle", {"role": "user", "content": "Hello"})
        connection = await asyncpg.connect(database_url)
        await connection.execute("UPDATE messages SET ingested_at = now() - interval '2 hours' WHERE session_id IN"
                                 " (SELECT id FROM sessions WHERE key = 'stalled')")  # fmt: skip
        await connection.close()
        stalled, failing = [(await service.memory(key))["pending"]["tokens"] for key in ("stalled", "backing-off")]
        found = await samples(service)

    assert total(found, "database_up") == 1
    assert total(found, "memories", status="stalled") == total(found, "memories", status="backing_off") == 1
    assert total(found, "memories") == 2
    assert total(found, "pending_tokens", age="1d") == stalled
    assert total(found, "pending_tokens", age="1m") == failing
    assert 7_200 <= total(found, "pending_seconds_max") < 7_300
    assert total(found, "provider_circuit_open", provider="openai") == 1


async def test_who_waits_for_a_connection_is_seen(start_service: StartService) -> None:
    async with start_service(pool={"min": 1, "max": 1}, engine={"sweep_seconds": 60}) as service:
        database = service.app.state.database
        async with database.connection():
            waiting = asyncio.create_task(service.client.get("/readyz"))
            while not database.pool_state()["waiting"]:  # noqa: ASYNC110 - a pool offers no event
                await asyncio.sleep(0)
            busy = database.pool_state()
        await waiting
        found = await until(partial(samples, service), no_connection_is_wanted)

    assert busy.pop("waiting") >= 1  # the work in the background may wait too
    assert busy == {"size": 1, "in_use": 1, "max": 1}
    assert total(found, "pool_connections", state="max") == 1


def no_connection_is_wanted(found: Samples) -> bool:
    return total(found, "pool_connections", state="waiting") == total(found, "pool_connections", state="in_use") == 0


async def test_counters_are_told_without_the_database_too(start_service: StartService) -> None:
    settings = {"pool": {"min": 1, "max": 1, "connect_seconds": 3.0}}  # enough to connect on a busy machine
    async with start_service(**settings) as service:
        before = await samples(service)
        async with service.app.state.database.connection():
            found = await samples(service)

    assert (total(before, "database_up"), total(found, "database_up")) == (1, 0)
    assert [name for name, _ in before if name.startswith(("daybook_memories", "daybook_pending"))]
    assert not [name for name, _ in found if name.startswith(("daybook_memories", "daybook_pending"))]
    assert total(found, "build_info") == 1


async def test_a_key_is_needed_where_there_is_one(start_service: StartService) -> None:
    key = "a-key-of-sixteen-characters"
    async with start_service(bootstrap_key=key) as service:
        refused = await service.client.get("/metrics")
        told = await service.client.get("/metrics", headers={"Authorization": f"Bearer {key}"})

    assert (refused.status_code, told.status_code) == (httpx.codes.UNAUTHORIZED, httpx.codes.OK)


async def test_no_label_says_who_or_what(service: Service) -> None:
    await service.append("a-very-private-key", {"role": "user", "content": "a secret"}, wait_ms=WAIT_MS)
    await service.observe("a-very-private-key")
    found = await samples(service)

    assert {label for _, labels in found for label, _ in labels} <= LABELS
    assert not [labels for _, labels in found for _, value in labels if "private" in value or "secret" in value]


async def test_each_metric_is_documented_and_each_documented_one_is_there(start_service: StartService) -> None:
    async with start_service(embeddings={"provider": "scripted"}) as service:
        text = (await service.client.get("/metrics")).text
    told = {found.group(1) for found in re.finditer(r"^# TYPE (daybook_\w+)", text, re.MULTILINE)}
    documented = set(re.findall(r"^\| `(daybook_\w+)", (DOCS / "metrics.md").read_text(), re.MULTILINE))
    assert documented == told


def test_each_outcome_of_a_step_is_documented() -> None:
    [row] = [line for line in (DOCS / "metrics.md").read_text().splitlines() if line.startswith("| `daybook_steps_")]
    assert set(Outcome) <= set(re.findall(r"`(\w+)`", row))


async def test_the_dashboard_draws_every_metric_and_none_that_there_is_not(start_service: StartService) -> None:
    board = json.loads((DOCS / "grafana" / "daybook.json").read_text())
    queries = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    async with start_service(embeddings={"provider": "scripted"}) as service:
        text = (await service.client.get("/metrics")).text
    types = dict(re.findall(r"^# TYPE (\w+) (\w+)", text, re.MULTILINE))
    histograms = {f"{name}_{part}" for name, kind in types.items() if kind == "histogram" for part in HISTOGRAM}
    used = {name for query in queries for name in re.findall(r"\b(?:daybook|process)_\w+", query)}

    assert len(queries) >= 15
    assert used <= types.keys() | histograms
    assert {name for name in types if name.startswith("daybook_")} <= {name.rsplit("_bucket")[0] for name in used}
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


HISTOGRAM = ("bucket", "sum", "count")
