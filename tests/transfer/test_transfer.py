"""What is exported can be imported under another key, and is then the same (api.md, Operation; docs/export.md)."""

import asyncio
import json
import os
import sys
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from structlog.testing import capture_logs

from app.artifacts.objects import Objects, open_objects
from app.commands import transferring
from app.kit.db import AWAY, Database
from app.kit.direct import JSON
from app.kit.errors import Unavailable
from app.sessions.errors import SessionExists
from app.sessions.store import session_id
from app.settings import Settings
from app.transfer import store
from app.transfer.checking import checked
from app.transfer.errors import TransferError
from app.transfer.exporting import Exporting
from app.transfer.importing import ROWS_AT_ONCE, Importing, read
from app.transfer.lines import CORRECTIONS, NUMBERED, TABLES, Place, moved
from app.transfer.rows import check_columns
from tests.conftest import Service, StartService
from tests.diagnostics.test_events import BEGINNING, listening, until
from tests.fuzz import laws
from tests.journeys import looks
from tests.journeys.processes import PROJECT, surroundings
from tests.journeys.test_broken_off import EXPORTING, THERE
from tests.memory.changing.test_retaining import after
from tests.model_replies import PromptKind
from tests.model_server import ModelServer
from tests.sessions.test_deleting import fill
from tests.sessions.test_lineage import BLOCKED
from tests.sessions.test_routes import said
from tests.test_problems import assert_problem

PLACE = Place(tenant="default", key="s2", id=session_id("default", "s2"))
KEYS_ANYHOW = '{"b": 1, "a": [2, {"z": 0, "y": null}]}'


def told(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


async def export(service: Service, path: Path, key: str = "s1") -> list[dict[str, Any]]:
    exporting: Exporting = service.app.state.exporting
    return kept(b"".join([line async for line in exporting.session("default", key)]), path)


def kept(text: bytes, path: Path) -> list[dict[str, Any]]:
    path.write_bytes(text)
    return told(text.decode())


def rewritten(lines: list[dict[str, Any]], path: Path) -> None:
    """As by who changed them and means so, or by an older Daybook."""
    told_none = [{name: value for name, value in line.items() if name != "sha256"} for line in lines]
    kept(b"".join(json.dumps(line).encode() + b"\n" for line in told_none), path)


async def bring(service: Service, path: Path, key: str, objects: Objects | None = None) -> None:
    database: Database = service.app.state.database
    importing = Importing(database=database, objects=objects)
    await importing.check(path)
    await importing.session(path, tenant="default", key=key, progress=lambda _rows: None)


async def bring_changed(service: Service, path: Path, key: str, lines: list[dict[str, Any]]) -> None:
    rewritten(lines, path)
    await bring(service, path, key)


async def filled(service: Service) -> None:
    await fill(service, "s1", resource_id="user-1")
    call = {"type": "tool_call", "id": "c1", "name": "look", "arguments": json.loads(KEYS_ANYHOW)}
    await service.append("s1", {"role": "assistant", "content": [call]})
    nothing = await service.client.put("/sessions/s1/state/nothing", content="null", headers={"Content-Type": JSON})
    assert nothing.status_code in {200, 201}


async def test_an_imported_session_has_the_same_contexts_byte_for_byte(service: Service, tmp_path: Path) -> None:
    await filled(service)
    path = tmp_path / "s1.ndjson"
    await export(service, path)
    await bring(service, path, "s2")
    version = (await service.memory("s1"))["log"]["version"]
    for moment in ({}, *({"as_of_version": one} for one in range(version + 1)), {"as_of_seq": 7}):
        one, other = [
            (
                await service.client.get(f"/sessions/{key}/context", params={"now": "2027-01-01T00:00:00Z", **moment})
            ).text
            for key in ("s1", "s2")
        ]
        assert other == one.replace('"session":"s1"', '"session":"s2"')
    for path_of in ("messages", "state", "memory/observations", "memory/reflections", "memory/versions"):
        one, other = [(await service.client.get(f"/sessions/{key}/{path_of}")).text for key in ("s1", "s2")]
        assert other == one.replace('"session":"s1"', '"session":"s2"'), path_of


@pytest.mark.parametrize(("stored", "imported"), [("database", "database"), ("store", "database"), ("store", "store")])
async def test_artifacts_come_with_their_session_wherever_their_bytes_are(
    start_service: StartService, tmp_path: Path, stored: str, imported: str
) -> None:
    path, url, versions = tmp_path / "s1.ndjson", f"file://{tmp_path}/objects", [bytes(range(256)), b"second"]
    async with start_service(artifacts={"url": url} if stored == "store" else {}) as service:
        await service.append("s1", said("Hello"))
        for content in versions:
            await service.client.put("/sessions/s1/artifacts/data.bin", content=content)
        lines = await export(service, path)
        kept = (await service.get("/sessions/s1/artifacts/data.bin/versions"))["items"]
        await service.client.delete("/sessions/s1")
        await bring(service, path, "s2", open_objects(url) if imported == "store" else None)
        again = (await service.get("/sessions/s2/artifacts/data.bin/versions"))["items"]
        found = [
            await service.client.get("/sessions/s2/artifacts/data.bin", params={"version": number}) for number in (1, 2)
        ]
    assert [answer.content for answer in found] == versions
    assert [one["created_at"] for one in again] == [one["created_at"] for one in kept]
    artifacts = [line["data"] for line in lines if line["type"] == "artifacts"]
    assert [(one["version"], "object_key" in one) for one in artifacts] == [(1, False), (2, False)]
    objects = (tmp_path / "objects" / str(session_id("default", "s2"))).glob("*")
    assert len([*objects]) == (2 if imported == "store" else 0)


@pytest.mark.parametrize("url", [None, "objects"])
async def test_a_handle_of_a_deleted_artifact_names_no_other_bytes_where_its_session_is_imported(
    start_service: StartService, tmp_path: Path, url: str | None
) -> None:
    path, report = tmp_path / "s1.ndjson", "/sessions/s1/artifacts/report"
    async with start_service(artifacts={} if url is None else {"url": f"file://{tmp_path}/{url}"}) as service:
        await service.append("s1", said("See artifact://s1/report?version=1"))
        for content in (b"first", b"second"):
            await service.client.put(report, content=content)
        await service.client.delete(report)
        lines = await export(service, path)
        await service.client.delete("/sessions/s1")
        await bring(service, path, "s1")
        assert (await service.get("/sessions/s1/artifacts"))["items"] == []
        assert (await service.client.put(report, content=b"other")).json()["version"] == 3
        assert (await service.client.get(report, params={"version": 2})).status_code == 404
    (deleted,) = (line["data"] for line in lines if line["type"] == "artifacts")
    assert (deleted["version"], "content" in deleted, lines[-1]["lost"]) == (2, False, 0)


@pytest.mark.parametrize("trouble", ["lost", "cut"])
async def test_an_artifact_that_is_lost_is_told_by_the_export_and_left_out_by_the_import(
    start_service: StartService, tmp_path: Path, trouble: str
) -> None:
    path, store = tmp_path / "s1.ndjson", tmp_path / "objects"
    async with start_service(artifacts={"url": f"file://{store}"}) as service:
        await service.append("s1", said("Hello"))
        for name, content in (("data.bin", b"first"), ("data.bin", b"second"), ("new.bin", b"only")):
            await service.client.put(f"/sessions/s1/artifacts/{name}", content=content)
        for path_of in store.glob("*/*"):
            if path_of.read_bytes() == b"only":
                path_of.unlink()
        (broken,) = (one for one in store.glob("*/*") if one.read_bytes() == b"first")
        broken.unlink() if trouble == "lost" else broken.write_bytes(b"fi")
        with capture_logs() as logs:
            lines = await export(service, path)
        await bring(service, path, "s2")
        (left,) = (await service.get("/sessions/s2/artifacts/data.bin/versions"))["items"]
        found = await service.client.get("/sessions/s2/artifacts/data.bin")
        anew = await service.client.put("/sessions/s2/artifacts/new.bin", content=b"another")

    artifacts = [line["data"] for line in lines if line["type"] == "artifacts"]
    assert [(one["version"], one["content"] is None) for one in artifacts] == [(1, True), (2, False), (1, True)]
    assert (lines[-1]["lost"], lines[-1]["lines"]) == (2, len(lines) - 1)
    warned = [one for one in logs if one["event"] == "artifact_lost"]
    told_of = [(one["session"], one["artifact"], one["version"]) for one in warned]
    assert told_of == [("s1", "data.bin", 1), ("s1", "new.bin", 1)]
    assert (left["version"], found.content, anew.json()["version"]) == (2, b"second", 2)


async def test_an_export_that_cannot_reach_the_store_names_what_it_wanted(
    start_service: StartService, tmp_path: Path
) -> None:
    store = tmp_path / "objects"
    async with start_service(artifacts={"url": f"file://{store}"}) as service:
        await service.append("s1", said("Hello"))
        await service.client.put("/sessions/s1/artifacts/data.bin", content=b"first")
        (store / ".daybook").unlink()
        with pytest.raises(Unavailable, match=r"^version 1 of the artifact 'data.bin' of session 's1': "):
            await export(service, tmp_path / "s1.ndjson")


async def test_an_export_is_refused_where_its_store_is_not_configured(
    start_service: StartService, tmp_path: Path
) -> None:
    async with start_service(artifacts={"url": f"file://{tmp_path}/objects"}) as service:
        for key, resource in (("s1", "ana"), ("s2", "bob")):
            await service.client.put(f"/sessions/{key}", json={"resource_id": resource})
        await service.client.put("/sessions/s1/artifacts/data.bin", content=b"first")
    async with start_service() as service:
        refused = await service.client.get("/resources/ana/export")
        other = await service.client.get("/resources/bob/export")
        exporting: Exporting = service.app.state.exporting
        of_another_tenant = [line async for line in await exporting.resource("other", "ana", sharer="other")]
        with pytest.raises(Unavailable, match="DAYBOOK_ARTIFACTS__URL"):
            await export(service, tmp_path / "s1.ndjson")

    assert_problem(refused, 503, "unavailable")
    assert "DAYBOOK_ARTIFACTS__URL" in refused.json()["detail"]
    assert told(other.text)[-1]["type"] == "end"
    assert len(of_another_tenant) == 2


async def test_an_artifact_that_is_deleted_while_it_is_exported_is_told_as_deleted(
    start_service: StartService, tmp_path: Path
) -> None:
    async with start_service(artifacts={"url": f"file://{tmp_path}/objects"}) as service:
        await service.append("s1", said("Hello"))
        await service.client.put("/sessions/s1/artifacts/data.bin", content=b"first")
        exporting: Exporting = service.app.state.exporting
        read: list[dict[str, Any]] = []
        async for line in exporting.session("default", "s1"):
            if not read:
                assert (await service.client.delete("/sessions/s1/artifacts/data.bin")).is_success
                assert (await service.client.put("/sessions/s1/artifacts/data.bin", content=b"second")).is_success
            read.append(json.loads(line))
    (deleted,) = (line["data"] for line in read if line["type"] == "artifacts")
    assert deleted["deleted_at"] is not None
    assert "content" not in deleted
    assert read[-1]["lost"] == 0


async def test_a_file_that_was_changed_is_refused_and_taken_without_its_digest(
    service: Service, tmp_path: Path
) -> None:
    path = tmp_path / "s1.ndjson"
    await service.append("s1", said("Hello"), said("Goodbye"))
    lines = await export(service, path)
    *rows, end = [line for line in lines if "Goodbye" not in json.dumps(line)]
    fewer = [*rows, end | {"lines": len(rows)}]
    kept(b"".join(json.dumps(line).encode() + b"\n" for line in fewer), path)
    with pytest.raises(TransferError, match=f"^line {len(fewer)}: the lines before it differ from the export"):
        await bring(service, path, "s2")
    rewritten(lines, path)
    await bring(service, path, "s2")


async def test_artifacts_of_an_older_export_are_as_deleted(service: Service, tmp_path: Path) -> None:
    await service.append("s1", said("Hello"))
    await service.client.put("/sessions/s1/artifacts/data.bin", content=b"bytes")
    lines = await export(service, tmp_path / "s1.ndjson")
    for line in lines:
        line.get("data", {}).pop("content", None)
    rewritten(lines, tmp_path / "old.ndjson")
    await bring(service, tmp_path / "old.ndjson", "s2")
    assert (await service.get("/sessions/s2/artifacts"))["items"] == []
    anew = await service.client.put("/sessions/s2/artifacts/data.bin", content=b"other bytes")
    assert anew.json()["version"] == 2


async def test_a_null_in_a_config_is_an_unset_key_as_in_a_request(service: Service, tmp_path: Path) -> None:
    await service.configure("s1", timezone="Europe/Lisbon", message_tokens=500, buffer_every=None)
    await service.append("s1", said("Hello"))
    lines = await export(service, tmp_path / "s1.ndjson")
    for line in lines:
        if "config" in line.get("data", {}):
            line["data"]["config"] |= {"message_tokens": None, "retention": None, "preset": None}
    rewritten(lines, tmp_path / "nulls.ndjson")
    await bring(service, tmp_path / "nulls.ndjson", "s2")
    await service.append("s2", said("Hello again"))
    assert (await service.get("/sessions/s2"))["config"] == {"timezone": "Europe/Lisbon", "buffer_every": None}
    assert (await service.memory("s2"))["thresholds"]["buffer_every"] is None


async def test_the_zone_of_a_machine_which_an_older_version_took_is_left_out(service: Service, tmp_path: Path) -> None:
    await service.configure("s1", timezone="Europe/Lisbon", message_tokens=500)
    await service.append("s1", said("Hello"))
    lines = await export(service, tmp_path / "s1.ndjson")
    rewritten(json.loads(json.dumps(lines).replace("Europe/Lisbon", "localtime")), tmp_path / "old.ndjson")
    await bring(service, tmp_path / "old.ndjson", "s2")
    changes = (await service.get("/sessions/s2/configs"))["items"]
    assert [change["config"] for change in changes] == [{"message_tokens": 500}]
    assert (await service.get("/sessions/s2"))["config"] == {"message_tokens": 500}
    await service.append("s2", said("Hello again"))


async def test_large_messages_are_imported_a_few_at_a_time(service: Service, tmp_path: Path) -> None:
    path, batches = tmp_path / "s1.ndjson", list[int]()
    await service.configure("s1", enabled=False)
    for _ in range(2):
        await service.append("s1", *(said("x" * 1_000_000) for _ in range(6)))
    await export(service, path)
    importing = Importing(database=service.app.state.database, objects=None)
    await importing.session(path, tenant="default", key="s2", progress=batches.append)
    assert max(batches) == 5  # 100 in one statement took 865 MB of memory for 200 of such, not 142
    assert (await service.memory("s2"))["cursor"]["last_seq"] == 12


async def test_an_imported_session_keeps_the_laws_and_goes_on(service: Service, tmp_path: Path) -> None:
    await filled(service)
    await export(service, tmp_path / "s1.ndjson")
    await bring(service, tmp_path / "s1.ndjson", "s2")
    await service.append(
        "s2", *(said(f"I paid invoice {n} in Turin, and we keep it. " * 4) for n in range(4)), wait_ms=50_000
    )
    facts = await laws.read_facts(service.app.state.database, session_id("default", "s2"))
    assert facts is not None
    laws.check(facts, None)
    assert facts.last_seq == 29
    assert facts.observed_seq > 25


async def test_a_listener_hears_all_of_a_session_that_was_imported_in_the_place_of_the_one_it_heard(
    service: Service, tmp_path: Path
) -> None:
    """What was observed and called has the numbers that it had there."""
    await service.configure("s1", preset="compact", message_tokens=200, buffer_every=0.2, retain_tokens=20)
    for number in range(12):
        plan = f"Plan {number}: I bought {number + 3} tickets to Porto for May {number + 1}."
        await service.append("s1", {"role": "user", "content": plan}, wait_ms=50_000)
    async with listening(service, BEGINNING) as stream:
        heard = [(name, id_) for name, id_, _ in await until(stream, "activated")]
    await export(service, tmp_path / "s1.jsonl")
    await service.client.delete("/sessions/s1")
    await bring(service, tmp_path / "s1.jsonl", "s1")

    async with listening(service, heard[-1][1]) as stream:
        again = [name for name, _, _ in await until(stream, "activated")]

    assert again == [name for name, _ in heard]
    assert "buffered" in again


async def test_an_imported_session_is_read_for_facts_and_brings_back_none_that_was_taken_back(
    service: Service, tmp_path: Path
) -> None:
    facts = "/resources/ana/facts"
    texts = ("I live in Lisbon.", "I own a dog.", "I prefer a window seat.", "My sister is called Maria.")
    await service.client.put("/sessions/s1", json={"resource_id": "ana"})
    await service.append("s1", *map(said, texts))
    await service.client.post("/sessions/s1/end")
    await service.context("s1", min_seq=1, wait_ms=50_000)
    noted = {fact["text"]: f"{facts}/{fact['id']}" for fact in (await service.get(facts))["items"]}
    lisbon, dog, seat, _ = noted.values()
    await service.client.delete(dog)
    await service.client.patch(lisbon, json={"text": "User lived in Lisbon once."})
    await service.client.patch(seat, json={"category": "decision", "valid_to": "2100-01-01T00:00:00Z"})
    lines = await export(service, tmp_path / "s1.ndjson")
    corrections = [line["data"] for line in lines if line["type"] == "corrections"]
    exported = told((await service.client.get("/resources/ana/export")).text)
    assert {line["data"]["text"] for line in exported if line["type"] == "facts"} == {
        fact["text"] for fact in (await service.get(facts))["items"]
    }
    assert [one["cites"] for one in corrections] == [[1, 2], [3]]
    assert "Lisbon" not in json.dumps(corrections)
    many = [{"type": "corrections", "data": TOLD | {"cites": [100 + number]}} for number in range(ROWS_AT_ONCE)]
    lines = [*lines[:-1], *many, lines[-1] | {"lines": len(lines) + ROWS_AT_ONCE - 1}]
    for resource in ("boris", None):
        moved = json.dumps(lines).replace('"ana"', json.dumps(resource))
        rewritten(json.loads(moved), tmp_path / "moved")
        await bring(service, tmp_path / "moved", f"s-{resource}")
    await service.context("s-boris", min_seq=1, wait_ms=50_000)
    found = (await service.get("/resources/boris/facts"))["items"]
    assert [(fact["text"], fact["category"], fact["valid_to"]) for fact in found] == [
        ("User: I prefer a window seat.", "decision", "2100-01-01T00:00:00Z"),
        ("User: My sister is called Maria.", "profile", None),
    ]
    assert {source["session"] for fact in found for source in fact["sources"]} == {"s-boris"}


async def test_what_was_corrected_of_a_fact_that_cites_no_message_holds_where_its_session_is_imported(
    start_service: StartService, models: ModelServer, tmp_path: Path
) -> None:
    """A model may leave the citation out."""
    noted = "<observations>\nDate: Aug 1, 2026\n* 🔴 [fact] User is Portuguese.\n</observations>"
    models.answers[PromptKind.EXTRACTOR] = lambda _asked: noted
    async with start_service(provider="openai") as service:
        await service.client.put("/sessions/s1", json={"resource_id": "ana"})
        await service.append("s1", said("I live in Lisbon."))
        await service.client.post("/sessions/s1/end")
        await service.context("s1", min_seq=1, wait_ms=50_000)
        (fact,) = (await service.get("/resources/ana/facts"))["items"]
        assert [source["cites"] for source in fact["sources"]] == [[]]
        await service.client.patch(f"/resources/ana/facts/{fact['id']}", json={"category": "decision"})
        lines = await export(service, tmp_path / "s1.ndjson")
        rewritten(json.loads(json.dumps(lines).replace('"ana"', '"boris"')), tmp_path / "moved")
        await bring(service, tmp_path / "moved", "s2")
        await service.context("s2", min_seq=1, wait_ms=50_000)
        found = (await service.get("/resources/boris/facts"))["items"]
    assert [(fact["text"], fact["category"]) for fact in found] == [("User is Portuguese.", "decision")]


LONG_AGO = "2020-02-01T12:00:00+00:00"


def long_ago(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """An export as of then, of a session in which nothing was said since."""
    dated = {"created_at", "ingested_at", "last_active_at", "at"}
    return [
        line | {"data": line["data"] | dict.fromkeys(dated & line["data"].keys(), LONG_AGO)} if "data" in line else line
        for line in lines
    ]


async def test_two_imports_at_once_set_no_sequence_back(service: Service) -> None:
    """Ids would be drawn that notes of the same memory have."""
    database: Database = service.app.state.database
    drawn = "SELECT nextval(pg_get_serial_sequence('observations', 'id'))"
    high = await database.fetchval(drawn) + 1_000
    async with database.tx() as other:
        async with database.tx() as first:
            await store.end(first, session_id("default", "s1"), {"observations": high})
            ending = asyncio.create_task(store.end(other, session_id("default", "s2"), {"observations": high - 500}))
            while not ending.done() and not await first.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
                pass  # until it waits for the first one
            assert not ending.done()
        await ending
    assert await database.fetchval(drawn) == high + 1


async def test_numbers_are_drawn_above_the_highest_of_a_file_whatever_its_order(
    service: Service, tmp_path: Path
) -> None:
    await filled(service)
    database: Database = service.app.state.database
    drawn = "SELECT nextval(pg_get_serial_sequence('runs', 'id'))"
    high = await database.fetchval(drawn) + 1_000
    *rows, end = await export(service, tmp_path / "s1.ndjson")
    at, run = next((at, line) for at, line in enumerate(rows) if line["type"] == "runs")
    runs = [run | {"data": run["data"] | {"id": high - number}} for number in range(ROWS_AT_ONCE + 1)]
    changed = [*rows[:at], *runs, *(line for line in rows[at:] if line["type"] != "runs")]
    await bring_changed(service, tmp_path / "changed", "s2", [*changed, end | {"lines": len(changed)}])
    assert await database.fetchval(drawn) == high + 1


async def test_an_imported_session_is_silent_since_it_came_and_its_conversation_began_when_it_did(
    start_service: StartService, tmp_path: Path
) -> None:
    rule = {"retention": {"days": 30, "keep": "nothing"}}
    async with start_service(sessions={"ended_look_seconds": 3_600}) as service:
        await service.configure("s1", **rule)
        await service.append("s1", said("Hello"))
        await bring_changed(service, tmp_path / "old", "s2", long_ago(await export(service, tmp_path / "s1.ndjson")))
        again = [line for line in await export(service, tmp_path / "s2.ndjson", "s2") if line["type"] == "sessions"]
        await after(service, 1)
        ended = await service.app.state.ending.look()
        first = await service.context("s2", as_of_seq=0)
    assert ended == 0
    assert again[0]["data"]["began_at"] == moved("sessions", again[0]["data"], PLACE)["began_at"] == LONG_AGO
    assert again[0]["data"]["created_at"] > LONG_AGO
    assert first["cache"]["epoch"].split(":")[1] == "2020-02-01"


async def test_an_imported_session_is_the_branch_of_none(service: Service, tmp_path: Path) -> None:
    """Else it would lose what is erased of a session that is called as its parent was elsewhere."""
    await service.append("s1", said("Hello", id="m-1"))
    assert (await service.client.post("/sessions/s1/branch", json={"key": "branch"})).is_success
    await export(service, tmp_path / "branch.ndjson", "branch")
    await bring(service, tmp_path / "branch.ndjson", "s2")
    assert (await service.client.delete("/sessions/s1/messages/m-1")).is_success
    parents = [(await service.get(f"/sessions/{key}"))["parent"] for key in ("branch", "s2")]
    assert parents == [{"key": "s1", "at_seq": 1}, None]
    assert (await service.get("/sessions/s2/messages"))["items"][0]["content"][0]["text"] == "Hello"


LEASED = {"lease_owner": "another", "lease_step": "observe", "lease_epoch": 9}


async def test_what_somebody_was_to_do_where_a_session_was_exported_is_done_where_it_is_imported(
    service: Service, tmp_path: Path
) -> None:
    await service.configure("s1", enabled=False, message_tokens=100, retain_tokens=0, buffer_every=None)
    paid = (said(f"I paid invoice {number} in Turin, and we keep it. " * 4) for number in range(4))
    await service.append("s1", *paid)
    lines = await export(service, tmp_path / "s1.ndjson")
    for line in lines[1:-1]:
        if line["type"] == "memories":
            line["data"] |= LEASED | {"due_at": "2100-01-01T00:00:00+00:00"}
        if "config" in line["data"]:
            line["data"]["config"] |= {"enabled": True}
    await bring_changed(service, tmp_path / "leased", "s2", lines)
    await looks.until(partial(service.memory, "s2"), lambda memory: memory["cursor"]["observed_seq"] == 4)


async def test_a_session_without_a_message_is_imported(service: Service, tmp_path: Path) -> None:
    await service.configure("s1", message_tokens=100)
    await export(service, tmp_path / "s1.ndjson")
    await bring(service, tmp_path / "s1.ndjson", "s2")
    assert (await service.get("/sessions/s2"))["config"] == {"message_tokens": 100}
    assert [message["seq"] for message in (await service.append("s2", said("Hello")))["messages"]] == [1]


async def test_an_erased_message_is_imported_as_one(service: Service, tmp_path: Path) -> None:
    call = {"type": "tool_call", "id": "c1", "name": "look", "arguments": {}}
    result = {"id": "m-1", "role": "tool", "tool_call_id": "c1", "content": "It rains."}
    await service.append("s1", said("Hello"), {"role": "assistant", "content": [call]}, result)
    assert (await service.client.delete("/sessions/s1/messages/m-1")).is_success
    await export(service, tmp_path / "s1.ndjson")
    await bring(service, tmp_path / "s1.ndjson", "s2")
    assert_problem(await service.client.get("/sessions/s2/messages/m-1"), 410, "message-erased")
    listed = [(await service.get(f"/sessions/{key}/messages"))["items"] for key in ("s1", "s2")]
    assert listed[0] == listed[1] != []


def test_a_row_is_moved_without_what_is_of_its_former_place_alone() -> None:
    """Who holds the lease may go on with it; events tell the key of a run's session, whosever it is.

    Of a session that is to be read for facts again, those that are deleted meanwhile would not be noted.
    """
    memory = {"lease_owner": None, "lease_step": None, "lease_epoch": 0}
    assert moved("memories", LEASED, PLACE) == memory | {"id": str(PLACE.id), "tenant": PLACE.tenant}
    assert moved("runs", {"session_id": "theirs"}, PLACE) == {"memory_id": str(PLACE.id), "session_id": None}
    own = {"tenant": PLACE.tenant, "scope": "session", "owner": PLACE.key}
    assert moved("state_entries", {"version": 7}, PLACE) == own  # one that is drawn later would be the same ETag
    session = moved("sessions", {"waiting": True, "facts_seq": 5, "facts_again_seq": 7}, PLACE)
    assert (session["facts_seq"], session.keys() & {"waiting", "facts_again_seq"}) == (0, set())


async def test_a_session_is_imported_to_the_tenant_that_is_told(service: Service, tmp_path: Path) -> None:
    await filled(service)
    await export(service, tmp_path / "s1.ndjson")
    importing = Importing(database=service.app.state.database, objects=None)
    await importing.session(tmp_path / "s1.ndjson", tenant="other", key="s1", progress=lambda _rows: None)
    exporting: Exporting = service.app.state.exporting
    lines = told(b"".join([line async for line in exporting.session("other", "s1")]).decode())
    tenants = {line["type"]: line["data"]["tenant"] for line in lines[1:-1] if "tenant" in line["data"]}
    assert tenants == dict.fromkeys(("sessions", "memories", "state_entries"), "other")


async def test_a_session_of_a_shared_memory_comes_with_its_messages_alone(service: Service, tmp_path: Path) -> None:
    rules = {"message_tokens": 100, "retain_tokens": 0, "buffer_every": None}
    for key in ("s1", "other"):
        body = {"resource_id": "user-1", "config": {"scope": "resource"} | rules}
        await service.client.put(f"/sessions/{key}", json=body)
        paid = (said(f"{key} paid invoice {number} in Turin, and we keep it. " * 4) for number in range(4))
        await service.append(key, *paid, wait_ms=50_000)
    observed = (await service.memory("s1"))["cursor"]["observed_seq"]
    lines = await export(service, tmp_path / "s1.ndjson")
    whole = told((await service.client.get("/resources/user-1/export")).text)
    await bring(service, tmp_path / "s1.ndjson", "s2")
    begun = await service.memory("s2")
    await service.append("s2", said("And what else?"), wait_ms=50_000)
    facts = await laws.read_facts(service.app.state.database, session_id("default", "s2"))
    assert observed == 4
    assert {"memories", "observations", "memory_versions", "session_cursors"}.isdisjoint(line["type"] for line in lines)
    stood = {line["data"]["session_id"] for line in whole if line["type"] == "session_cursors"}
    assert stood == {str(session_id("default", key)) for key in ("s1", "other")}
    assert "other paid" not in (tmp_path / "s1.ndjson").read_text()
    assert (begun["scope"], begun["cursor"]["observed_seq"]) == ("session", 0)
    assert (await service.get("/sessions/s2"))["config"] == rules
    assert facts is not None
    laws.check(facts, None)
    assert facts.observed_seq > 0


ORDERED = (("session_configs", "number"), ("memory_versions", "version"), *((table, "id") for table in NUMBERED))


async def test_an_export_says_what_it_is_and_where_it_ends(service: Service, tmp_path: Path) -> None:
    await filled(service)
    await service.configure("s1", timezone="Europe/Lisbon")
    lines = await export(service, tmp_path / "s1.ndjson")
    kinds = list(dict.fromkeys(line["type"] for line in lines))
    assert (lines[0]["schema"], lines[0]["scope"], lines[0]["of"]) == (1, "session", "s1")
    assert kinds == ["header", *(table for table in TABLES if table != CORRECTIONS), "end"]
    assert lines[-1]["lines"] == len(lines) - 1
    assert {line["session"] for line in lines[1:-1]} == {"s1"}
    for table, name in ORDERED:
        numbers = [line["data"][name] for line in lines if line["type"] == table]
        assert numbers == sorted(numbers), table


async def test_a_resource_is_exported_with_all_its_sessions_and_its_own_state(service: Service) -> None:
    """Sessions and resources may be called alike, and have their state apart."""
    for key, resource in (("a", "user-1"), ("user-2", "user-1"), ("user-1", "user-2")):
        body = {"messages": [said(f"Hello from {key}")], "resource_id": resource}
        await service.client.post(f"/sessions/{key}/messages", json=body)
    await service.client.patch("/sessions/a/state", json={"user:name": "Ana", "page": "billing"})
    await service.client.patch("/sessions/user-1/state", json={"user:name": "Ben", "page": "orders"})
    await service.client.put("/sessions/a/artifacts/long", content=bytes(300_000))  # a line that comes in pieces
    for resource in ("user-1", "user-2"):
        await service.client.put(f"/resources/{resource}", json={"metadata": {"is": resource}})
        fact = {"text": f"This is {resource}.", "category": "profile"}
        await service.client.post(f"/resources/{resource}/facts", json=fact)
    answer = await service.client.get("/resources/user-1/export")
    lines = told(answer.text)
    texts = [line["data"]["parts"][0]["text"] for line in lines if line["type"] == "messages"]
    state = [(line["session"], line["data"]["value"]) for line in lines if line["type"] == "state_entries"]
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    assert texts == ["Hello from a", "Hello from user-2"]
    assert state == [(None, "Ana"), ("a", "billing")]
    assert [line["data"]["metadata"] for line in lines if line["type"] == "resources"] == [{"is": "user-1"}]
    assert [line["data"]["text"] for line in lines if line["type"] == "facts"] == ["This is user-1."]
    *before, _ = answer.content.splitlines(keepends=True)
    digest = sha256(b"".join(before)).hexdigest()
    assert lines[-1] == {"type": "end", "lines": len(before), "lost": 0, "sha256": digest}


async def test_a_resource_never_seen_is_exported_as_nothing(service: Service) -> None:
    lines = told((await service.client.get("/resources/nobody/export")).text)
    assert [line["type"] for line in lines] == ["header", "end"]


async def test_more_exports_than_there_may_be_are_refused(start_service: StartService) -> None:
    async with start_service(export={"concurrency": 1}) as service:
        running = service.app.state.exporting.session("default", "s1")
        await service.configure("s1")
        await anext(running)
        answer = await service.client.get("/resources/user-1/export")
        await running.aclose()
        again = await service.client.get("/resources/user-1/export")
    assert_problem(answer, 503, "too-many-exports")
    assert (answer.headers["retry-after"], again.status_code) == ("30", 200)


async def test_an_export_whose_connection_was_ended_is_not_told_of_a_reader_that_stopped(
    service: Service, database_url: str
) -> None:
    await service.append("s1", said("Hello"))
    running = service.app.state.exporting.session("default", "s1")
    for _ in range(2):
        await anext(running)
    watching = await asyncpg.connect(database_url)
    await watching.execute("SELECT pg_terminate_backend($1)", await watching.fetchval(EXPORTING))
    await watching.close()
    with pytest.raises(AWAY):
        [line async for line in running]


async def test_a_key_that_is_taken_is_not_imported_to(service: Service, tmp_path: Path) -> None:
    await service.append("s1", said("Hello"))
    await export(service, tmp_path / "s1.ndjson")
    with pytest.raises(SessionExists):
        await bring(service, tmp_path / "s1.ndjson", "s1")


async def test_a_key_that_is_taken_while_it_is_imported_to_is_not_imported_to(service: Service, tmp_path: Path) -> None:
    await service.append("s1", said("Hello"))
    lines = await export(service, tmp_path / "s1.ndjson")
    (row,) = (line["data"] for line in lines if line["type"] == "sessions")
    database: Database = service.app.state.database
    async with database.tx() as maker:
        await store.put(maker, "sessions", [moved("sessions", row, PLACE)])
        bringing = asyncio.create_task(bring(service, tmp_path / "s1.ndjson", PLACE.key))
        process = await maker.fetchval("SELECT pg_backend_pid()")
        await looks.until(lambda: database.fetchval(BLOCKED, process), bool)
    with pytest.raises(SessionExists):
        await bringing
    assert (await service.get(f"/sessions/{PLACE.key}/messages"))["items"] == []


async def test_a_file_writes_to_no_other_and_names_no_other(service: Service, tmp_path: Path) -> None:
    """What says whose a row is says it of the session that is made, also where somebody has changed the file."""
    await service.append("theirs", said("Hello"))
    await filled(service)
    lines = await export(service, tmp_path / "s1.ndjson")
    for line in lines:
        match line["type"]:
            case "state_entries":
                line["data"] |= {"scope": "user", "owner": "ana", "tenant": "other"}
            case "runs":
                line["data"]["session_id"] = str(session_id("default", "theirs"))
    rewritten(lines, tmp_path / "s1.ndjson")
    await bring(service, tmp_path / "s1.ndjson", "ana")
    assert (await service.client.put("/sessions/new", json={"resource_id": "ana"})).is_success
    assert await service.get("/sessions/new/state") == {}
    assert await service.get("/sessions/ana/state") != {}
    runs = (await service.get("/sessions/ana/memory/runs"))["items"]
    assert [run for run in runs if "theirs" in json.dumps(run)] == []
    assert runs


# Erasing from a session with such a note, or branching it, would fail or leave it out.
OF_NO_VERSION: list[dict[str, Any]] = [
    {"born_version": None},
    {"born_version": 0},
    {"born_version": 99},
    {"retired_version": 99},
    {"from_seq": 0},
    {"to_seq": 99},
]
UNREADABLE: dict[str, list[dict[str, Any]]] = {
    "sessions": [
        {"metadata": [1]},
        {"metadata": "x"},
        {"metadata": None},
        {"resource_id": "bad id"},
        {"next_seq": 1},
        {"next_seq": 2**62},
        {"observed_seq": 26},
        {"buffered_seq": 26},
        {"activated_seq": 26},
        {"summary_seq": 26},
        {"compacted_seq": 26},
        {"expired_seq": 26},
        {"tail_from_seq": 27},
        {"last_active_at": "infinity"},
        {"anchor_date": "0001-01-01"},
        {"config.timezone": "Mars/Olympus"},
        {"config.message_tokens": "500"},
    ],
    "messages": [
        {"role": "robot"},
        {"kind": "alien"},
        {"trust": "alien"},
        {"id": "a b"},
        {"parts": "text"},
        {"parts.0.type": "alien"},
        {"parts.0.text": 5},
        {"parts.0.type": "input_text"},
        {"parts": [{"type": "tool_result", "tool_call_id": "c1", "output": "It is so."}]},
        {"metadata": [1]},
        {"covers": [1]},
        {"tokens": -5},
        {"seq": 7},
        {"seq": "one"},
        {"created_at": "-infinity"},
        {"created_at": "20000-01-01T00:00:00+00:00"},
        {"name": "\0"},
    ],
    "memories": [
        {"last_error": "boom"},
        {"last_error": {"at": "never", "step": "observe", "kind": "timeout", "message": ""}},
        {"requested": "alien"},
        {"usage": []},
        {"rebuilding": [1]},
    ],
    "memory_versions": [{"cursors.any.last_seq": "x"}, {"at": "infinity"}, {"version": 2**63 - 1}, {"version": 99}],
    "observations": [{"status": "alien"}, {"items": ["x"]}, {"items.0.tag": "alien"}, {"covers": [1]}, *OF_NO_VERSION],
    "reflections": [
        {"sources.observations": ["x"]},
        {"sources.reflections": [2**40]},
        {"covers.any": [[1]]},
        *OF_NO_VERSION,
    ],
    "state_entries": [{"name": "bad name"}, {"name": "user:page"}],
    "artifacts": [
        {"media_type": "text/html\r\nSet-Cookie: a=b"},
        {"media_type": "text/\u20ac"},
        {"version": 0},
        {"version": 2**63 - 1},
        {"name": "message:1:0"},
        {"name": 'a/../b"'},
        {"created_at": "infinity"},
    ],
}


def changed_at(row: dict[str, Any], path: str, value: Any) -> None:
    """``any`` is whichever key there is."""
    *way, last = path.split(".")
    at: Any = row
    for step in way:
        at = at[int(step)] if step.isdecimal() else at[next(iter(at)) if step == "any" else step]
    at[next(iter(at)) if last == "any" else last] = value


async def test_a_row_that_the_service_could_not_read_is_refused_by_its_line_and_its_column(
    service: Service, tmp_path: Path
) -> None:
    await filled(service)
    await service.client.put("/sessions/s1/artifacts/a.txt", content=b"Hello", headers={"Content-Type": "text/plain"})
    lines = await export(service, tmp_path / "s1.ndjson")
    wrong = []
    for table, changes in UNREADABLE.items():
        number = next(number for number, line in enumerate(lines, 1) if line["type"] == table)
        for ((path, value),) in (change.items() for change in changes):
            changed = json.loads(json.dumps(lines))
            changed_at(changed[number - 1]["data"], path, value)
            rewritten(changed, tmp_path / "changed")
            try:
                await bring(service, tmp_path / "changed", "s2")
                await service.client.delete("/sessions/s2")
                wrong.append((path, value, "it was imported"))
            except TransferError as error:
                column = path.split(".")[0]
                if not str(error).startswith(f"line {number}: {table} with a {column}"):
                    wrong.append((path, value, str(error)))
    assert wrong == []
    await bring(service, tmp_path / "s1.ndjson", "s2")


NOTE = {"status": "active", "items": [], "covers": [], "from_seq": 5, "to_seq": 5, "born_version": 2}
RETIRED = {"status": "retired", "retired_version": 2}


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [
        ({"to_seq": 4}, "to_seq: it is before from_seq"),
        ({"born_version": None}, "born_version: what is active, or was condensed, has one"),
        ({"status": "buffered"}, "born_version: what is buffered has none"),
        ({"retired_version": 2}, "retired_version: what is not retired has none"),
        ({"status": "retired"}, "born_version: what is retired came before it went"),
        (RETIRED | {"retired_version": 1}, "born_version: what is retired came before it went"),
        (
            RETIRED | {"born_version": None, "retired_by": "reflection:1"},
            "born_version: what is active, or was condensed, has one",
        ),
    ],
)
def test_a_note_that_cannot_be_is_refused_by_its_own_columns(changed: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ValueError, match=f"^{wrong}$"):
        check_columns("observations", NOTE | changed, dict.fromkeys(NOTE | changed, ""))


@pytest.mark.parametrize(
    "changed",
    [
        {"status": "buffered", "born_version": None},
        RETIRED,
        RETIRED | {"born_version": None, "retired_by": "deleted"},
    ],
    ids=["buffered", "gone with the version in which it came", "deleted while it was buffered"],
)
def test_a_note_that_was_in_no_version_is_taken(changed: dict[str, Any]) -> None:
    check_columns("observations", NOTE | changed, dict.fromkeys(NOTE | changed, ""))


async def test_notes_without_their_memory_are_refused_and_need_not_tell_its_id(
    service: Service, tmp_path: Path
) -> None:
    """As by who takes a line out, or the ids: their session could not be observed, nor be erased from."""
    path = tmp_path / "s1.ndjson"
    await filled(service)
    whole = await export(service, path)
    for line in whole[1:-1]:
        line["data"].pop("memory_id", None)
    without = [line for line in whole if line["type"] != "memories"]
    without[-1]["lines"] = len(without) - 1
    rewritten(without, path)
    first = next(at for at, line in enumerate(without, 1) if line["type"] == "memory_versions")
    with pytest.raises(TransferError, match=f"^line {first}: memory_versions without a line of memories"):
        await bring(service, path, "s2")
    whole[-1]["lines"] = len(whole) - 1
    rewritten(whole, path)
    await bring(service, path, "s2")
    log, again = [await service.get(f"/sessions/{key}/memory/log") for key in ("s1", "s2")]
    assert again == log | {"session": "s2"}


@pytest.mark.parametrize("size", [500, -5])
async def test_an_artifact_of_another_size_than_its_bytes_is_refused(
    service: Service, tmp_path: Path, size: int
) -> None:
    await service.append("s1", said("Hello"))
    await service.client.put("/sessions/s1/artifacts/a.txt", content=b"Hello")
    lines = await export(service, tmp_path / "s1.ndjson")
    lines[-2]["data"]["size"] = size
    rewritten(lines, tmp_path / "s1.ndjson")
    with pytest.raises(
        TransferError, match=f"^line {len(lines) - 1}: the artifact 'a.txt': the number of its bytes does not match"
    ):
        await bring(service, tmp_path / "s1.ndjson", "s2")


async def test_a_version_of_an_artifact_that_is_there_twice_is_refused(service: Service, tmp_path: Path) -> None:
    await service.append("s1", said("Hello"))
    await service.client.put("/sessions/s1/artifacts/a.txt", content=b"Hello")
    *rows, end = await export(service, tmp_path / "s1.ndjson")
    rewritten([*rows, rows[-1], end | {"lines": len(rows) + 1}], tmp_path / "s1.ndjson")
    with pytest.raises(TransferError, match="a row cannot be stored: "):
        await bring(service, tmp_path / "s1.ndjson", "s2")


@pytest.mark.parametrize(
    "changed", [{"observe": "perhaps"}, {"observe": None}, {"id": "m-1"}, {"content_hash": "\\xzz"}]
)
async def test_rows_that_cannot_be_stored_are_told_in_one_line_and_nothing_is(
    service: Service, tmp_path: Path, changed: dict[str, Any]
) -> None:
    await service.append("s1", said("Hello"), said("Goodbye", id="m-1"))
    lines = await export(service, tmp_path / "s1.ndjson")
    message = next(line for line in lines if line["type"] == "messages")
    message["data"] |= changed
    rewritten(lines, tmp_path / "s1.ndjson")
    at = 1 + lines.index(message) + ("id" in changed)  # two of the same: it is the second that is too much
    with pytest.raises(TransferError, match=f"^line {at}: the row cannot be stored: ") as refused:
        await bring(service, tmp_path / "s1.ndjson", "s2")
    assert "\n" not in str(refused.value)
    assert (await service.client.get("/sessions/s2")).status_code == 404


HEADER = {"type": "header", "schema": 1, "scope": "session", "of": "s1"}
SESSION = {"type": "sessions", "session": "s1", "data": {"id": "x"}}
MESSAGE = {"seq": 1, "id": "m-1", "kind": "user_message", "role": "user", "parts": [], "tokens": 0, "trust": "user"}
SAID = {"type": "messages", "session": "s1", "data": MESSAGE}
TOLD = {
    "cites": [1],
    "noted_as": "profile",
    "category": "profile",
    "trust": "user",
    "valid_from": None,
    "valid_to": None,
}
ARTIFACT = {"type": "artifacts", "session": "s1", "data": {"name": "a", "sha256": "0", "content": "YQ=="}}


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ([], "the file is empty"),
        ([HEADER | {"schema": 2}], "line 1: not the header"),
        ([HEADER | {"scope": "resource"}], "line 1: not the header"),
        ([HEADER, SESSION, SAID], "line 3: the file was cut off"),
        ([HEADER, SAID, {"type": "end", "lines": 2}], "line 3"),
        ([HEADER, SESSION, SAID, {"type": "end", "lines": 3}], "line 2: sessions with a next_seq: 2 is expected"),
        ([HEADER, SESSION, SESSION, {"type": "end", "lines": 3}], "line 4: the file was cut off, or has no session"),
        ([HEADER, SESSION, {"type": "end", "lines": 3}], "line 3: 2 lines are before it"),
        ([HEADER, SESSION, {"type": "end", "lines": 2}, SAID], "line 4: not a line"),
        ([HEADER, SAID, SESSION], "line 3: a line of type 'sessions' is not expected here"),
        ([HEADER, SESSION | {"type": "keys"}], "line 2: a line of type 'keys' is not expected here"),
        ([HEADER, SESSION | {"data": {"later": 1}}], "line 2: sessions has no column 'later'"),
        ([HEADER, SESSION | {"data": None}], "line 2: no row"),
        ([HEADER, [1]], "line 2: not a line"),
        ([HEADER, SESSION, ARTIFACT], "line 3: the artifact 'a': its bytes do not match"),
        ([HEADER, SESSION, ARTIFACT | {"data": {"name": "a", "content": "Y"}}], "line 3: the artifact 'a': "),
        (
            [HEADER, {"type": "sessions", "data": {"config": {"timezone": "Mars/Olympus"}}}],
            "line 2: sessions with a config.timezone: .*Mars",
        ),
        (
            [HEADER, SESSION, {"type": "session_configs", "data": {"config": {"message_tokens": "many"}}}],
            "line 3: session_configs with a config.message_tokens",
        ),
        ([HEADER, {"type": "sessions", "data": {"config": None}}], "line 2: sessions with a config"),
        *(
            ([HEADER, SESSION, {"type": "corrections", "data": told}], "line 3: corrections")
            for told in ({"cites": [1]}, TOLD | {"cites": [0]}, TOLD | {"cites": ["1"]}, TOLD | {"cites": [2**63]})
        ),
        ([HEADER, SESSION, {"type": "corrections", "data": TOLD | {"category": "x"}}], "line 3: corrections"),
        ([HEADER, SESSION, {"type": "corrections", "data": TOLD | {"valid_to": "2026-05-01"}}], "line 3: corrections"),
        (
            [HEADER, SESSION, {"type": "corrections", "data": TOLD | {"text": "x"}}],
            "line 3: corrections has no column 'text'",
        ),
        ([HEADER, SESSION, {"type": "runs", "data": {"seq": 1}}], "line 3: runs without a number in 'id'"),
        ([HEADER, SESSION, {"type": "runs", "data": {"id": 0}}], "line 3: runs without a number in 'id', from 1"),
        (
            [HEADER, SESSION, {"type": "runs", "data": {"id": 2**63 - 1}}],
            "line 3: runs without a number in 'id', from 1",
        ),
        ([HEADER, SESSION, {"type": "reflections", "data": {"id": 1}}], "line 3: reflections without .* 'covers'"),
    ],
)
def test_a_file_that_is_no_whole_export_is_refused_by_its_line(lines: list[Any], wrong: str) -> None:
    columns = {table: dict.fromkeys({"name", "sha256", "content", "config", *MESSAGE}, "text") for table in TABLES}
    with pytest.raises(TransferError, match=wrong):
        checked(enumerate(lines, start=1), columns)


@pytest.mark.parametrize("broken", ["{bad", "", '{"type": "messages", "data": {"seq": 1'])
def test_a_line_that_is_no_json_is_refused_by_its_number(tmp_path: Path, broken: str) -> None:
    file = tmp_path / "export"
    file.write_text("\n".join([json.dumps(HEADER), json.dumps(SESSION), broken, ""]), encoding="utf-8")
    with pytest.raises(TransferError, match=r"^line 3: not JSON, at character [0-9]+: [^:]+$"):
        list(read(file))


def test_a_pipe_is_refused_because_a_file_is_read_twice() -> None:
    reading, writing = os.pipe()
    os.write(writing, b'{"type": "header"}\n')
    os.close(writing)
    with pytest.raises(TransferError, match="must be a file"):
        checked(read(Path(f"/dev/fd/{reading}")), {})
    os.close(reading)


async def test_the_commands_write_a_file_and_make_a_session_of_it(
    service: Service, database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await service.append("s1", said("Hello"), said("Goodbye"))
    settings, path = Settings(database_url=database_url), tmp_path / "s1.ndjson"
    out = partial(transferring.export_session, settings, tenant="default", path=path)
    back = partial(transferring.import_session, settings, tenant="default", path=path)
    await asyncio.to_thread(out, key="s1")
    rows = await asyncio.to_thread(back, key="s2")
    with pytest.raises(TransferError, match="'s2' exists already"):
        await asyncio.to_thread(back, key="s2")
    with pytest.raises(TransferError, match="there is no session"):
        await asyncio.to_thread(out, key="s3")
    assert rows == 4
    assert (await service.get("/sessions/s2/messages"))["items"][1]["content"][0]["text"] == "Goodbye"
    assert os.listdir(tmp_path) == [path.name]  # noqa: PTH208 - no folder is read here for long
    assert "importing s2" in capsys.readouterr().err


async def out(service_url: str, path: Path | None) -> None:
    export = partial(transferring.export_session, Settings(database_url=service_url), tenant="default", key="s1")
    await asyncio.to_thread(export, path=path)


async def test_an_export_to_a_pipe_is_written_into_it_and_leaves_it_where_it_is(
    service: Service, database_url: str, tmp_path: Path
) -> None:
    await service.append("s1", said("Hello"))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    await out(database_url, pipe)
    read = os.read(reading, 64 * 1024)
    os.close(reading)
    assert told(read.decode())[-1]["type"] == "end"
    assert pipe.is_fifo()
    assert os.listdir(tmp_path) == [pipe.name]  # noqa: PTH208 - no folder is read here for long


async def test_an_export_to_a_pipe_that_nobody_reads_from_waits_as_long_as_is_set(
    service: Service, database_url: str, tmp_path: Path
) -> None:
    await service.append("s1", *[said("a" * 50_000) for _ in range(4)])  # more than a pipe holds
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    settings = Settings.model_validate({"database_url": database_url, "export": {"stall_seconds": 1}})
    export = partial(transferring.export_session, settings, tenant="default", key="s1", path=pipe)
    exporting = asyncio.create_task(asyncio.to_thread(export))
    watching = await asyncpg.connect(database_url)
    with await asyncio.to_thread(pipe.open, "rb") as reading:
        process = await looks.until(lambda: watching.fetchval(EXPORTING), bool)
        await looks.until(lambda: watching.fetchval(THERE, process), (0).__eq__, seconds=30)  # the default waits 60
        read = reading.read()
    await watching.close()
    with pytest.raises(TransferError, match=r"took nothing for 1 s \(DAYBOOK_EXPORT__STALL_SECONDS\)"):
        await exporting
    assert b'"type":"end"' not in read


async def test_an_export_to_a_link_is_written_where_it_leads(
    service: Service, database_url: str, tmp_path: Path
) -> None:
    await service.append("s1", said("Hello"))
    file, link = tmp_path / "folder" / "s1.ndjson", tmp_path / "link"
    file.parent.mkdir()
    file.write_text("an older one")
    link.symlink_to(file)
    await out(database_url, link)
    assert link.is_symlink()
    assert told(file.read_text())[-1]["type"] == "end"
    assert os.listdir(file.parent) == [file.name]  # noqa: PTH208 - no folder is read here for long


async def test_an_export_whose_standard_output_takes_nothing_says_so_in_one_line(
    service: Service, database_url: str
) -> None:
    await service.append("s1", said("Hello"))
    reading, writing = os.pipe()
    os.close(reading)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "from app.cli import main; main()", "export", "s1"),
        cwd=PROJECT,
        env=surroundings({"DAYBOOK_DATABASE_URL": database_url}),
        stdout=writing,
        stderr=asyncio.subprocess.PIPE,
    )
    os.close(writing)
    _, errors = await process.communicate()
    *_, last = errors.decode().splitlines()
    assert (process.returncode, last) == (2, "daybook: standard output: Broken pipe")
    assert "Traceback" not in errors.decode()
