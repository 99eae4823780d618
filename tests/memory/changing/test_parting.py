"""Erasing a message, or a whole session, of a memory that sessions share (docs/sharing.md)."""

import json
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import SQLModel

import app.memory.tables  # noqa: F401 - fills the metadata
from app.memory.changing.parting_store import FORGET_MEMORIES
from app.sessions.sharing_store import FORGET_LONELY
from tests.conftest import Service, StartService
from tests.memory.changing.test_erasing import FACTS, NOTE, SECRET, ask, cover, erase, log, rest, say
from tests.memory.test_sharing import SMALL, share
from tests.test_problems import assert_problem

OTHER = ("I have a sister in Faro.", "My bicycle is red.", "I read every evening.")
RULES = SMALL | {"message_tokens": 10_000}


async def interleaved(service: Service) -> None:
    """Five notes of session one and three of session two, by turns; the secret is in the third of the one."""
    await share(service, "one", "two", **RULES)
    for number, fact in enumerate(FACTS, start=1):
        await say(service, fact, "one", id=f"m-{number}")
        await ask(service, "observe", "one")
        if number % 2:
            await say(service, OTHER[number // 2], "two", id=f"o-{number}")
            await ask(service, "observe", "two")


async def notes(service: Service, key: str = "one") -> list[tuple[str, int, int]]:
    found = (await service.get(f"/sessions/{key}/memory/observations", status="active"))["items"]
    return [(note["session"], note["from_seq"], note["to_seq"]) for note in found]


async def test_notes_of_every_session_that_may_tell_of_it_are_made_again(service: Service) -> None:
    await interleaved(service)
    before = await log(service, "two")
    receipt = await erase(service, "one")
    assert SECRET in before
    assert (receipt["sessions"], receipt["rebuilding"], receipt["rows"]["observations"]) == (["one"], True, 5)
    one, two = await rest(service, "one"), await rest(service, "two")
    after = await log(service, "two")
    assert cover(one) == [(1, 1, "observation"), (2, 2, "observation"), (3, 3, "erased"), (4, 5, "observation")]
    assert cover(two) == [(1, 1, "observation"), (2, 3, "observation")]
    assert SECRET not in after
    assert all(fact in after for fact in ("Lisbon", "Porto", "Rex", "green tea", "Faro", "bicycle", "evening"))
    # As it was said: what waited longest comes first.
    assert await notes(service) == [("one", 1, 1), ("two", 1, 1), ("one", 2, 2), ("two", 2, 3), ("one", 4, 5)]


async def test_until_they_are_each_session_says_what_of_it_is_rebuilding(service: Service) -> None:
    await interleaved(service)
    await service.client.put("/resources/ana", json={"config": {"enabled": False}})
    await erase(service, "one")
    before = [cover(await service.memory(key)) for key in ("one", "two")]
    await service.client.put("/resources/ana", json={"config": {"enabled": None}})
    after = [cover(await rest(service, key)) for key in ("one", "two")]
    assert before[0][2:] == [(3, 3, "erased"), (4, 5, "rebuilding")]
    assert before[1] == [(1, 1, "observation"), (2, 3, "rebuilding")]
    assert not any(by == "rebuilding" for one in after for _, _, by in one)


async def test_what_a_reflection_of_both_condensed_before_it_comes_back(service: Service) -> None:
    await interleaved(service)
    await ask(service, "reflect", "one")
    assert (await service.memory("two"))["log"]["reflections"] == 1
    receipt = await erase(service, "one")
    memory = await rest(service, "two")
    assert receipt["rows"]["reflections"] == 1
    assert memory["log"]["reflections"] == 0
    assert (await notes(service))[-2:] == [("two", 2, 3), ("one", 4, 5)]
    assert {("one", 1, 1), ("two", 1, 1), ("one", 2, 2)} <= set(await notes(service))
    assert SECRET not in await log(service, "two")


async def test_an_erasure_in_what_was_made_again_takes_only_what_came_after(service: Service) -> None:
    await interleaved(service)
    await erase(service, "one")
    await rest(service, "one")
    receipt = await erase(service, "two", "o-3")
    one, two = await rest(service, "one"), await rest(service, "two")
    assert receipt["rows"]["observations"] == 2
    assert cover(one) == [(1, 1, "observation"), (2, 2, "observation"), (3, 3, "erased"), (4, 5, "observation")]
    assert cover(two) == [(1, 1, "observation"), (2, 2, "erased"), (3, 3, "observation")]


async def test_past_versions_and_contexts_of_every_session_show_it_no_more(service: Service) -> None:
    await interleaved(service)
    await erase(service, "one")
    for key in ("one", "two"):
        memory = await rest(service, key)
        for version in range(1, memory["log"]["version"] + 1):
            assert SECRET not in await log(service, key, version=version)
            assert SECRET not in str(await service.context(key, as_of_version=version))


async def test_what_is_not_observed_is_erased_beside_the_others(service: Service) -> None:
    await share(service, "one", "two", **RULES)
    await say(service, FACTS[2], "one", id="m-3")
    await say(service, OTHER[0], "two", id="o-1")
    shown = SECRET in str(await service.context("two"))
    await erase(service, "one")
    pending = (await rest(service, "two"))["pending"]["tokens"]
    listed = (await service.get("/sessions/two/messages"))["items"]
    assert shown
    assert pending == listed[0]["tokens"]
    assert SECRET not in str(await service.context("two"))


async def test_a_deleted_session_is_gone_from_the_memory_that_others_go_on_with(service: Service) -> None:
    await interleaved(service)
    await say(service, "One more thing.", "one")
    await say(service, "Aside.", "one", observe=False)
    receipt = await service.client.delete("/sessions/one")
    memory = await rest(service, "two")
    told = await log(service, "two")
    assert receipt.json()["rows"]["observations"] == 8
    assert receipt.json()["rows"]["memories"] == 0
    assert cover(memory) == [(1, 3, "observation")]
    assert (memory["pending"]["tokens"], memory["status"]) == (0, "idle")
    assert not any(fact in told for fact in ("Lisbon", SECRET, "Rex"))
    assert all(fact in told for fact in ("Faro", "bicycle", "evening"))
    assert_problem(await service.client.get("/sessions/one/memory"), 404, "session-not-found")


async def test_what_was_deleted_unseen_of_a_deleted_session_is_taken_from_what_is_pending_once(
    service: Service,
) -> None:
    await share(service, "one", "two", **RULES | {"message_tokens": 1_000, "buffer_every": 0.1})
    await say(service, "And so on it went, day by day. " * 20, "one")
    (ahead,) = (await service.get("/sessions/one/memory/observations", status="buffered"))["items"]
    assert (await service.client.delete(f"/sessions/one/memory/observations/{ahead['id']}")).status_code == 200
    await say(service, "Hello.", "two")
    await service.client.delete("/sessions/one")
    (message,) = (await service.get("/sessions/two/messages"))["items"]
    assert (await rest(service, "two"))["pending"]["tokens"] == message["tokens"]


async def test_what_was_taken_out_of_a_reflection_does_not_come_back_when_a_session_is_deleted_nor_does_its_key(
    service: Service,
) -> None:
    await share(service, "one", "two", **RULES)
    for fact, key in ((OTHER[0], "two"), (OTHER[1], "two"), (FACTS[0], "one")):
        await say(service, fact, key)
        await ask(service, "observe", key)
    await ask(service, "reflect", "two")
    (note,) = (await service.get("/sessions/two/memory/reflections"))["items"]
    kept = "\n".join(line for line in note["text"].splitlines() if "Faro" not in line)
    path = f"/sessions/two/memory/reflections/{note['id']}"
    assert (await service.client.patch(path, json={"text": kept})).status_code == 200
    assert (await service.client.delete("/sessions/one")).status_code == 200
    await share(service, "one")
    await say(service, "I am new here.", "one")
    assert cover(await rest(service, "one")) == [(1, 1, "tail")]
    told = await log(service, "two")
    assert ("Faro" in note["text"], "Faro" in told, "bicycle" in told) == (True, False, True)


async def test_the_current_task_stays_where_the_deleted_session_was_in_no_note(
    start_service: StartService, tmp_path: Path
) -> None:
    path = tmp_path / "replies.json"
    path.write_text(json.dumps([{"reply": f"{NOTE}\n<current-task>Pay Ana</current-task>"}]))
    async with start_service(observer={"provider": "scripted", "model": str(path)}) as service:
        await share(service, "one", "two", **RULES)
        await say(service, FACTS[0], "one")
        await ask(service, "observe", "one")
        await say(service, OTHER[0], "two")
        assert (await service.client.delete("/sessions/two")).status_code == 200
        assert (await rest(service, "one"))["current_task"] == "Pay Ana"


async def test_what_was_skipped_at_the_end_of_a_note_that_is_made_again_is_no_gap(service: Service) -> None:
    await share(service, "one", "two", **RULES)
    await say(service, FACTS[2], "one", id="m-3")
    await ask(service, "observe", "one")
    await say(service, OTHER[0], "two")
    await say(service, "Aside.", "two", observe=False)
    await ask(service, "observe", "two")
    before = await notes(service)
    await erase(service, "one")
    memory = await rest(service, "two")
    assert before == [("one", 1, 1), ("two", 1, 2)]
    assert await notes(service) == [("two", 1, 1)]
    assert cover(memory) == [(1, 1, "observation"), (2, 2, "skip")]


async def test_the_key_of_a_deleted_session_can_be_used_again_in_the_same_memory(service: Service) -> None:
    await interleaved(service)
    await ask(service, "reflect", "one")
    assert (await service.client.delete("/sessions/one/memory/reflections")).status_code == 200
    await service.client.delete("/sessions/one")
    await share(service, "one")
    await say(service, "I am new here.", "one")
    fresh = await service.memory("one")
    runs = (await service.get("/sessions/two/memory/runs"))["items"]
    past = await service.context("one", as_of_seq=1)
    await ask(service, "observe", "one")
    memory = await rest(service, "one")
    assert cover(fresh) == [(1, 1, "tail")]
    assert {run["session"] for run in runs} == {None, "two"}
    assert past["memory_version"] == fresh["log"]["version"]
    assert cover(memory) == [(1, 1, "observation")]
    assert "I am new here" in await log(service, "two")


async def test_the_last_session_takes_the_memory_with_it(service: Service) -> None:
    await interleaved(service)
    await service.client.delete("/sessions/one")
    rows: dict[str, Any] = (await service.client.delete("/sessions/two")).json()["rows"]
    assert rows["memories"] == 1


@pytest.mark.parametrize("statement", [FORGET_MEMORIES, FORGET_LONELY])
def test_a_memory_goes_with_all_rows_of_its_own(statement: str) -> None:
    tables = {table.name for table in SQLModel.metadata.tables.values() if "memory_id" in table.columns}
    assert tables > {"memory_versions", "observations"}
    assert [table for table in tables - {"sessions"} if f" FROM {table} WHERE memory_id" not in statement] == []
