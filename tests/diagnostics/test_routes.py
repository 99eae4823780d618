"""What the service tells about a memory, and the steps that can be asked for (api.md, Memory and Operation)."""

import asyncio
import json
from pathlib import Path
from typing import Any

import asyncpg
import httpx2 as httpx
import pytest

from tests.conftest import Service, StartService
from tests.model_server import Fault, ModelServer

# The example of api.md, word for word.
EXAMPLE = json.loads("""
{"session": "s1", "scope": "session", "enabled": true, "status": "idle", "observer": "extractive", "reflector": "extractive",
 "cursor": {"observed_seq": 120, "buffered_seq": 160, "last_seq": 200, "tail_from_seq": 109},
 "pending": {"messages": 80, "tokens": 12000, "seconds": 340},
 "thresholds": {"observe_at": 30000, "buffer_every": 6000, "reflect_at": 40000, "consolidate_at": 5},
 "log": {"version": 12, "tokens": 5400, "chars": 21000, "observations": 9, "reflections": 1, "generation": 1},
 "buffered": {"observations": 2, "tokens": 800, "message_tokens": 9000},
 "coverage": {"intervals": [{"from": 1, "to": 80, "by": "reflection:3"}, {"from": 81, "to": 120, "by": "observation:41"}, {"from": 121, "to": 160, "by": "buffered:42"}, {"from": 161, "to": 200, "by": "tail"}], "gaps": []},
 "current_task": null, "suggested_response": null,
 "lease": null, "attempts": 0, "next_attempt_at": null, "last_error": null,
 "last_observer_run": {"at": "...", "outcome": "recorded", "model": "...", "input_tokens": 0, "output_tokens": 0, "cost_usd": 0, "latency_ms": 0}, "last_reflector_run": null,
 "usage": {"observer": {"calls": 4, "input_tokens": 0, "output_tokens": 0, "cost_usd": 0}, "reflector": {}, "actor": {"turns": 90, "input_tokens": 0, "cached_input_tokens": 0, "cache_hit_ratio": 0.93}},
 "compression": {"source_tokens": 60000, "log_tokens": 5400, "ratio": 11.1}}
""")  # noqa: E501 - as it is written there
SPENT = {"calls", "input_tokens", "cached_input_tokens", "output_tokens", "cost_usd"}
MORE = {"cache_write_tokens", "output_tokens", "cost_usd"}  # of the agent, beyond the example

MEMORY = "/sessions/s1/memory"
FACTS = ["I moved to Lisbon.", "I work at a bank in Porto.", "My dog is called Rex."]
WAIT = {"wait_ms": 50_000}


async def talk(service: Service, text: str) -> None:
    await service.append("s1", {"role": "user", "content": text, "created_at": "2026-08-01T10:00:00Z"})


async def ask(service: Service, step: str, **parameters: Any) -> httpx.Response:
    return await service.client.post(f"{MEMORY}/{step}", params=parameters)


async def remember(service: Service, *texts: str) -> None:
    """One observation of each message."""
    for text in texts:
        await talk(service, text)
        await service.observe("s1")


async def items(service: Service, what: str, **parameters: Any) -> list[dict[str, Any]]:
    """All of a list, page by page."""
    found: list[dict[str, Any]] = []
    cursor: dict[str, Any] = {}
    while cursor or not found:
        page = await service.get(f"{MEMORY}/{what}", **parameters, **cursor)
        assert len(page["items"]) <= parameters.get("limit", 50)
        found += page["items"]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    return found


async def test_a_memory_has_the_fields_of_the_contract(service: Service) -> None:
    await remember(service, FACTS[0])
    memory = await service.memory("s1")
    assert set(memory) == set(EXAMPLE) | {"spending", "retention"}
    groups = ("cursor", "pending", "thresholds", "log", "buffered", "coverage", "last_observer_run", "compression")
    for group in groups:
        assert set(memory[group]) == set(EXAMPLE[group]), group
    assert set(memory["coverage"]["intervals"][0]) == {"from", "to", "by"}
    assert memory["last_observer_run"]["cost_usd"] == 0  # no model is called
    assert set(memory["usage"]) == {"observer", "reflector", "actor"}
    assert set(memory["usage"]["observer"]) == set(memory["usage"]["reflector"]) == SPENT
    assert set(memory["usage"]["actor"]) == set(EXAMPLE["usage"]["actor"]) | MORE


async def test_a_memory_that_has_nothing_to_do_yet_says_so(service: Service) -> None:
    await talk(service, FACTS[0])
    await talk(service, FACTS[1])
    memory = await service.memory("s1")
    [first, second] = (await service.get("/sessions/s1/messages"))["items"]
    assert (memory["session"], memory["scope"], memory["enabled"], memory["status"]) == ("s1", "session", True, "idle")
    assert (memory["observer"], memory["reflector"]) == ("extractive", "extractive")
    assert memory["cursor"] == {"observed_seq": 0, "buffered_seq": 0, "last_seq": 2, "tail_from_seq": 1}
    assert memory["pending"] == {"messages": 2, "tokens": first["tokens"] + second["tokens"], "seconds": 0}
    told = {"observe_at": 16_000, "buffer_every": 3_200, "reflect_at": 20_000, "consolidate_at": 5}
    assert memory["thresholds"] == told  # docs/decisions/0045
    assert memory["log"] == dict.fromkeys(EXAMPLE["log"], 0)
    assert memory["coverage"] == {"intervals": [{"from": 1, "to": 2, "by": "tail"}], "gaps": []}
    nothing = ("lease", "next_attempt_at", "last_error", "last_observer_run", "last_reflector_run", "current_task")
    assert [memory[name] for name in nothing] == [None] * len(nothing)
    assert memory["compression"] == {"source_tokens": 0, "log_tokens": 0, "ratio": None}


async def age(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    await connection.execute("UPDATE messages SET ingested_at = now() - interval '1 hour'")
    await connection.close()


async def seconds_listed(service: Service) -> int:
    [found] = (await service.get("/sessions"))["items"]
    return int(found["memory"]["pending_seconds"])


async def test_what_is_erased_is_not_pending(service: Service, database_url: str) -> None:
    for text in FACTS:
        await talk(service, text)
    await age(database_url)
    found, told, listed = (await service.get("/sessions/s1/messages"))["items"], [], []
    for message in found:
        answer = await service.client.delete(f"/sessions/s1/messages/{message['id']}")
        assert answer.status_code == 200, answer.text
        told.append((await service.memory("s1"))["pending"])
        listed.append(await seconds_listed(service))
    assert [pending["messages"] for pending in told] == [2, 1, 0]
    assert [pending["tokens"] for pending in told] == [found[1]["tokens"] + found[2]["tokens"], found[2]["tokens"], 0]
    assert [pending["seconds"] >= 3_600 for pending in told] == [True, True, False]
    assert [seconds >= 3_600 for seconds in listed] == [True, True, False]


async def test_a_summary_is_not_pending(service: Service, database_url: str) -> None:
    await remember(service, *FACTS)
    body = {"up_to_seq": 3, "summary": "They talked."}
    assert (await service.client.post("/sessions/s1/compact", json=body)).status_code == 200
    await age(database_url)
    pending = (await service.memory("s1"))["pending"]
    assert (pending, await seconds_listed(service)) == ({"messages": 0, "tokens": 0, "seconds": 0}, 0)
    summary = (await service.get("/sessions/s1/messages"))["items"][-1]
    answer = await service.client.delete(f"/sessions/s1/messages/{summary['id']}")
    assert answer.status_code == 200, answer.text
    assert (await service.memory("s1"))["pending"] == pending


async def test_a_session_without_messages_has_a_memory_too(service: Service) -> None:
    await service.configure("s1", enabled=False)
    memory = await service.memory("s1")
    assert (memory["status"], memory["enabled"], memory["cursor"]["last_seq"]) == ("disabled", False, 0)
    assert memory["coverage"] == {"intervals": [], "gaps": []}


async def test_what_was_observed_and_reflected_is_told_with_what_it_covers(service: Service) -> None:
    await remember(service, *FACTS[:2])
    observed = await service.memory("s1")
    one, two = await items(service, "observations")
    assert [found["by"] for found in observed["coverage"]["intervals"]] == [
        f"observation:{one['id']}",
        f"observation:{two['id']}",
    ]
    assert (observed["log"]["version"], observed["log"]["observations"]) == (2, 2)
    assert observed["log"]["tokens"] == one["tokens"] + two["tokens"]
    assert observed["compression"]["source_tokens"] == one["message_tokens"] + two["message_tokens"]

    assert (await ask(service, "reflect", **WAIT)).status_code == 200
    reflected = await service.memory("s1")
    [note] = await items(service, "reflections")
    assert reflected["coverage"]["intervals"] == [{"from": 1, "to": 2, "by": f"reflection:{note['id']}"}]
    assert (reflected["log"]["version"], reflected["log"]["observations"], reflected["log"]["reflections"]) == (3, 0, 1)
    assert reflected["last_reflector_run"]["outcome"] == "recorded"
    assert (note["sources"], note["level"], note["status"]) == ([one["id"], two["id"]], 1, "active")


async def test_lists_are_paged_and_filtered(service: Service) -> None:
    await remember(service, *FACTS)
    await ask(service, "reflect", **WAIT)
    await remember(service, "I like tea.")
    whole = await items(service, "observations")
    assert [found["from_seq"] for found in whole] == [1, 2, 3, 4]
    for limit in (1, 2, 3, 4):
        assert await items(service, "observations", limit=limit) == whole
    assert [found["from_seq"] for found in await items(service, "observations", status="retired")] == [1, 2, 3]
    assert [found["from_seq"] for found in await items(service, "observations", status="active", limit=1)] == [4]
    assert len(await items(service, "reflections")) == 1
    assert (await service.get(f"{MEMORY}/reflections", status="retired"))["items"] == []
    runs = await items(service, "runs", limit=2)
    assert [run["id"] for run in runs] == sorted((run["id"] for run in runs), reverse=True)
    assert {run["kind"] for run in runs} == {"observe", "reflect"}
    assert {run["session"] for run in runs} == {"s1"}
    assert (await service.get(f"{MEMORY}/runs", outcome="failed"))["items"] == []


async def test_a_page_of_notes_ends_when_their_texts_have_half_a_megabyte(service: Service, database_url: str) -> None:
    """One of 500 edited notes had 337 MB, and held up every request for 22 seconds."""
    await remember(service, *FACTS)
    await ask(service, "reflect", **WAIT)
    connection = await asyncpg.connect(database_url)
    await connection.execute("UPDATE observations SET text = repeat('x', 300_000)")
    await connection.execute("UPDATE reflections SET text = repeat('x', 300_000)")
    await connection.close()
    whole = await items(service, "observations")
    assert [found["from_seq"] for found in whole] == [1, 2, 3]
    page = await service.get(f"{MEMORY}/observations")
    assert [found["from_seq"] for found in page["items"]] == [1, 2]
    assert (await service.get(f"{MEMORY}/observations", limit=2))["next_cursor"] == page["next_cursor"]
    last = await service.get(f"{MEMORY}/observations", cursor=page["next_cursor"])
    assert (len(last["items"]), last["next_cursor"]) == (1, None)
    assert len(await items(service, "reflections")) == 1


async def test_the_versions_are_listed_newest_first_with_where_the_session_stood(service: Service) -> None:
    await remember(service, *FACTS)
    whole = await items(service, "versions")
    assert [(v["version"], v["cause"], v["last_seq"], v["observed_seq"], v["tail_from_seq"]) for v in whole] == [
        (3, "observed", 3, 3, 1),
        (2, "observed", 2, 2, 1),
        (1, "observed", 1, 1, 1),
    ]
    assert await items(service, "versions", limit=2) == whole
    assert (await service.client.get("/sessions/never/memory/versions")).status_code == 404


async def test_a_past_log_is_as_it_was(service: Service) -> None:
    await service.client.put("/sessions/s1", json={"metadata": {"plan": "pro"}})
    seen = {0: await service.get(f"{MEMORY}/log")}
    assert seen[0]["text"] == ""
    await service.configure("s1", cache_ttl=0)
    for day, fact in enumerate(FACTS, start=1):
        await service.append("s1", {"role": "user", "content": fact, "created_at": f"2030-01-{day:02}T10:00:00Z"})
        await ask(service, "observe", **WAIT)
        seen[day] = await service.get(f"{MEMORY}/log")
    await ask(service, "reflect", **WAIT)
    await service.append("s1", {"role": "user", "content": "Bye.", "created_at": "2030-02-01T10:00:00Z"})
    for version, log in seen.items():
        assert await service.get(f"{MEMORY}/log", version=version) == log
    assert "(yesterday)" in seen[3]["text"]
    answer = await service.client.get(f"{MEMORY}/log", params={"version": 5})
    assert (answer.status_code, answer.json()["type"]) == (404, "/problems/version-not-found")


@pytest.mark.parametrize("what", ["observations", "reflections", "runs"])
async def test_wrong_parameters_of_a_list_are_refused_by_their_name(service: Service, what: str) -> None:
    await talk(service, FACTS[0])
    filtered = "outcome" if what == "runs" else "status"
    for name, wrong in {"limit": "0", "cursor": "OTIyMzM3MjAzNjg1NDc3NTgwOA", filtered: "\0"}.items():
        answer = await service.client.get(f"{MEMORY}/{what}", params={name: wrong})
        assert answer.status_code == 422
        assert [error["pointer"] for error in answer.json()["errors"]] == [name]


async def test_the_log_can_be_read_as_it_was_at_every_version(service: Service) -> None:
    await remember(service, *FACTS[:2])
    before = [await service.get(f"{MEMORY}/log", version=version) for version in (0, 1, 2)]
    assert [log["version"] for log in before] == [0, 1, 2]
    assert [[fact[:-1] in log["text"] for fact in FACTS[:2]] for log in before] == [
        [False, False],
        [True, False],
        [True, True],
    ]
    assert all(log["chars"] == len(log["text"]) for log in before)
    newest = await service.get(f"{MEMORY}/log")
    assert newest["text"] == before[2]["text"]
    assert newest["text"] in (await service.get("/sessions/s1/context", format="text"))["payload"]["text"]

    await ask(service, "reflect", **WAIT)
    reflected = await service.get(f"{MEMORY}/log")
    assert reflected["text"] in (await service.get("/sessions/s1/context", format="text"))["payload"]["text"]
    assert [await service.get(f"{MEMORY}/log", version=version) for version in (0, 1, 2)] == before
    assert (await service.get(f"{MEMORY}/log"))["version"] == 3


async def test_a_version_that_is_not_there_is_not_found(service: Service) -> None:
    await remember(service, FACTS[0])
    answer = await service.client.get(f"{MEMORY}/log", params={"version": 2})
    assert (answer.status_code, answer.json()["type"]) == (404, "/problems/version-not-found")
    for wrong in ("-1", "x", str(2**63)):
        assert (await service.client.get(f"{MEMORY}/log", params={"version": wrong})).status_code == 422


async def idle(service: Service) -> dict[str, Any]:
    while (memory := await service.memory("s1"))["status"] != "idle":
        pass
    return memory


async def test_a_step_asked_for_is_accepted_and_then_done(service: Service) -> None:
    await talk(service, FACTS[0])
    for step, version in (("observe", 1), ("reflect", 2), ("redrive", 2)):
        answer = await ask(service, step)
        assert (answer.status_code, answer.json()) == (202, {"session": "s1", "requested": step, "memory": None})
        assert (await idle(service))["log"]["version"] == version


async def test_who_waits_for_a_step_is_told_what_came_of_it(service: Service) -> None:
    await talk(service, FACTS[0])
    for step, version in (("observe", 1), ("reflect", 2), ("redrive", 2), ("observe", 2)):
        answer = await ask(service, step, **WAIT)
        assert answer.status_code == 200
        assert answer.json()["memory"] == await service.memory("s1")
        assert answer.json()["memory"]["log"]["version"] == version


async def test_a_disabled_memory_takes_no_step(service: Service) -> None:
    await service.configure("s1", enabled=False)
    await talk(service, FACTS[0])
    answer = await ask(service, "observe", **WAIT)
    assert answer.json()["memory"]["log"]["version"] == 0


REPLY = "<observations>\nDate: Aug 1, 2026\n* 🔴 [fact] User moved to Lisbon. #1\n</observations>"


def script(tmp_path: Path, *rules: dict[str, Any]) -> dict[str, Any]:
    """Settings of a service whose model answers by these rules."""
    path = tmp_path / "replies.json"
    path.write_text(json.dumps(rules))
    return {"provider": "scripted", "model": str(path)}


async def test_a_step_that_runs_is_told_with_its_lease(start_service: StartService, models: ModelServer) -> None:
    models.fail_next(Fault.HANG)
    async with start_service(provider="openai") as service:
        await talk(service, FACTS[0])
        await ask(service, "observe")
        assert await asyncio.to_thread(models.wait_for_requests, 1)
        memory = await service.memory("s1")
        assert memory["status"] == "observing"
        assert set(memory["lease"]) == {"owner", "epoch", "expires_at", "step"}
        assert memory["lease"]["step"] == "observe"
        models.release()
        assert (await idle(service))["lease"] is None


async def test_a_lease_that_ran_out_is_none(start_service: StartService, database_url: str) -> None:
    async with start_service(engine={"sweep_seconds": 600}) as service:
        await talk(service, FACTS[0])
        connection = await asyncpg.connect(database_url)
        for seconds in (60, -60):
            lease = "lease_owner = 'w', lease_step = 'observe', due_at = now() + make_interval(secs => $1)"
            await connection.execute(f"UPDATE memories SET {lease}", seconds)  # noqa: S608 - our own text
            memory = await service.memory("s1")
            assert (memory["lease"] is None, memory["status"] == "observing") == (seconds < 0, seconds > 0)
        await connection.close()


async def test_a_failure_is_told_until_a_redrive_mends_it(start_service: StartService, tmp_path: Path) -> None:
    fails = {"error": {"kind": "rate_limited", "retryable": True, "retry_after": 600}, "times": 1}
    async with start_service(**script(tmp_path, fails, {"reply": REPLY})) as service:
        await talk(service, FACTS[0])
        await ask(service, "observe")
        while (memory := await service.memory("s1"))["status"] != "backing_off":
            pass
        assert (memory["attempts"], memory["lease"], memory["pending"]["messages"]) == (1, None, 1)
        assert memory["next_attempt_at"] is not None
        assert set(memory["last_error"]) == {"at", "step", "kind", "message"}
        assert (memory["last_error"]["step"], memory["last_error"]["kind"]) == ("observe", "rate_limited")
        [run] = await items(service, "runs", outcome="failed")
        assert run["error"].startswith("rate_limited: ")

        memory = (await ask(service, "redrive", **WAIT)).json()["memory"]
        assert (memory["status"], memory["attempts"], memory["last_error"]) == ("idle", 0, None)
        assert (memory["next_attempt_at"], memory["log"]["version"]) == (None, 1)


async def test_an_output_that_was_refused_is_kept_for_inspection(start_service: StartService, tmp_path: Path) -> None:
    empty = {"reply": "I see nothing worth noting.", "times": 1}
    async with start_service(**script(tmp_path, empty, {"reply": REPLY})) as service:
        await talk(service, FACTS[0])
        await ask(service, "observe", **WAIT)
        recorded, rejected = await items(service, "runs")
        assert (recorded["outcome"], recorded["error"], recorded["rejected_output"]) == ("recorded", None, None)
        assert (rejected["outcome"], rejected["error"]) == ("rejected", "empty")
        assert rejected["rejected_output"] == "I see nothing worth noting."
        assert (rejected["from_seq"], rejected["to_seq"], rejected["provider"]) == (1, 1, "scripted")


async def test_what_was_never_seen_has_no_memory(service: Service) -> None:
    for what in ("", "/log", "/observations", "/reflections", "/runs"):
        answer = await service.client.get(f"{MEMORY}{what}")
        assert (answer.status_code, answer.json()["type"]) == (404, "/problems/session-not-found")
    for step in ("observe", "reflect", "redrive"):
        assert (await ask(service, step)).status_code == 404


async def test_a_service_is_ready_when_its_database_has_the_schema_of_its_code(
    service: Service, database_url: str
) -> None:
    assert await service.get("/healthz") == {"status": "ok"}
    ready = await service.get("/readyz")
    assert (ready["status"], ready["database"]) == ("ready", "the tests' database")
    assert ready["migration"] == ready["known"]
    answers = {}
    connection = await asyncpg.connect(database_url)
    try:
        for revision in ("0001", "of another", "9999"):
            await connection.execute("UPDATE alembic_version SET version_num = $1", revision)
            answers[revision] = await service.client.get("/readyz")
    finally:
        await connection.execute("UPDATE alembic_version SET version_num = $1", ready["migration"])
        await connection.close()
    newer = answers.pop("9999")
    assert newer.json() == ready | {"migration": "9999"}
    for answer in answers.values():
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert "daybook migrate" in answer.json()["detail"]
    assert (await service.get("/healthz"))["status"] == "ok"
