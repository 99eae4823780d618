"""A message is erased with what was derived from it, and its notes are made again without it (api.md, Messages)."""

import json
import re
from itertools import accumulate
from pathlib import Path
from typing import Any

import asyncpg
import httpx2 as httpx
import pytest

from app.context.model import Format
from app.sessions.erasing_store import SUMMED_MAX
from app.sessions.model import Role
from app.sessions.store import session_id
from app.sessions.wire import content_hash
from benchmarks.speed.filling import fill
from tests.conftest import Service, StartService
from tests.context.shapes import CHECKS
from tests.fuzz import laws
from tests.test_problems import assert_problem

SECRET = "XYZZY-4711"
FACTS = (
    "I moved to Lisbon.",
    "I work at a bank in Porto.",
    f"My code is {SECRET}.",
    "My dog is called Rex.",
    "I like green tea.",
)
WAIT = {"wait_ms": 50_000}
SUMS = "SELECT seq, tokens, tokens_before FROM messages ORDER BY seq"


async def say(service: Service, text: str, key: str = "s1", **fields: Any) -> None:
    await service.append(key, {"role": "user", "content": text, **fields}, **WAIT)


async def ask(service: Service, step: str, key: str = "s1") -> None:
    answer = await service.client.post(f"/sessions/{key}/memory/{step}", params=WAIT)
    assert answer.status_code == 200


async def observed(service: Service, key: str = "s1") -> None:
    """Each of the facts in an observation of its own."""
    for number, fact in enumerate(FACTS, start=1):
        await say(service, fact, key, id=f"m-{number}")
        await ask(service, "observe", key)


async def erase(service: Service, key: str = "s1", message: str = "m-3") -> dict[str, Any]:
    answer = await service.client.delete(f"/sessions/{key}/messages/{message}")
    assert answer.status_code == 200, answer.text
    receipt: dict[str, Any] = answer.json()
    return receipt


async def rest(service: Service, key: str = "s1") -> dict[str, Any]:
    """The memory once it has nothing to do."""
    await service.context(key, wait_ms=50_000)
    return await service.memory(key)


def cover(memory: dict[str, Any]) -> list[tuple[int, int, str]]:
    assert memory["coverage"]["gaps"] == []
    return [(one["from"], one["to"], one["by"].split(":")[0]) for one in memory["coverage"]["intervals"]]


async def test_what_a_summary_alone_told_when_a_branch_began_is_observed_there_once_that_was_emptied(
    service: Service,
) -> None:
    for number, fact in enumerate(FACTS[:4], start=1):
        await say(service, fact, id=f"m-{number}")
    answer = await service.client.post("/sessions/s1/compact", json={"up_to_seq": 3, "summary": "Ana pays."})
    assert answer.status_code == 200
    await say(service, FACTS[4])
    await erase(service, message="m-1")
    assert (2, 3, "observation") in cover(await rest(service))
    assert (await service.client.post("/sessions/s1/branch", json={"key": "s2", "at_seq": 5})).status_code == 201
    assert (2, 3, "observation") in cover(await rest(service, "s2"))


async def test_what_a_summary_tells_is_left_to_it_in_a_branch_of_a_session_with_erased_notes(service: Service) -> None:
    for number, fact in enumerate(FACTS, start=1):
        await say(service, fact, id=f"m-{number}")
    answer = await service.client.post("/sessions/s1/compact", json={"up_to_seq": 3, "summary": "Ana pays."})
    assert answer.status_code == 200
    await ask(service, "observe")
    await erase(service, message="m-4")
    parent = cover(await rest(service))
    assert (await service.client.post("/sessions/s1/branch", json={"key": "s2"})).status_code == 201
    assert parent[0] == (1, 3, "summary")
    assert cover(await rest(service, "s2")) == parent


async def log(service: Service, key: str = "s1", **parameters: Any) -> str:
    text: str = (await service.get(f"/sessions/{key}/memory/log", **parameters))["text"]
    return text


async def test_a_tombstone_stays_in_the_place_of_an_erased_message(service: Service) -> None:
    await observed(service)
    receipt = await erase(service)
    listed = (await service.get("/sessions/s1/messages"))["items"]
    gone = listed[2]
    assert (receipt["id"], receipt["seq"], receipt["sessions"]) == ("m-3", 3, ["s1"])
    assert [message["seq"] for message in listed] == [1, 2, 3, 4, 5]
    assert (gone["id"], gone["content"], gone["tokens"], gone["metadata"]) == ("m-3", [], 0, {})
    assert gone["erased_at"] is not None
    assert_problem(await service.client.get("/sessions/s1/messages/m-3"), 410, "message-erased")
    for content in (FACTS[2], "Something else"):
        said = [{"role": "user", "content": "New"}, {"id": "m-3", "role": "user", "content": content}]
        again: httpx.Response = await service.client.post("/sessions/s1/messages", json={"messages": said})
        assert assert_problem(again, 410, "message-erased")["errors"][0]["pointer"] == "/messages/1/id"
    assert len(await messages(service)) == 5


async def test_who_said_it_what_was_noted_beside_it_and_its_hash_go_with_it(
    service: Service, database_url: str
) -> None:
    said = {"id": "m-1", "role": "user", "name": "Maria", "content": "Hello", "metadata": {"ip": "192.0.2.7"}}
    await service.append("s1", said)
    assert {"name": "Maria", "metadata": {"ip": "192.0.2.7"}}.items() <= (await messages(service))[0].items()

    await service.client.delete("/sessions/s1/messages/m-1")

    (gone,) = await messages(service)
    assert "Maria" not in str(gone)
    assert gone["metadata"] == {}
    connection = await asyncpg.connect(database_url)
    assert await connection.fetchval("SELECT content_hash FROM messages") == b""
    await connection.close()


async def test_what_it_took_of_a_budget_is_free_again(service: Service) -> None:
    await service.append("s1", *({"role": "user", "content": f"Number {n} was seen."} for n in range(60)))
    await service.append("s1", {"id": "m-large", "role": "user", "content": "word " * 2_000})
    await say(service, "And now?")

    await service.client.delete("/sessions/s1/messages/m-large")

    assert str(await service.context("s1", message_budget=1_000)).count("was seen") == 60


async def test_the_running_sums_of_a_tail_are_those_of_what_is_left_and_before_it_nothing_is_counted_anew(
    service: Service, database_url: str
) -> None:
    for number, fact in enumerate(FACTS, start=1):
        await say(service, fact, id=f"m-{number}")
    body = {"up_to_seq": 2, "summary": "Ana has moved."}
    summary = (await service.client.post("/sessions/s1/compact", json=body)).json()["summary"]
    await say(service, "And now?")
    connection = await asyncpg.connect(database_url)
    sums: list[list[int]] = []
    for message in (summary["id"], "m-1", "m-3", "m-4"):  # the third begins the tail
        await erase(service, message=message)
        rows = await connection.fetch("SELECT kind, tokens, tokens_before FROM messages WHERE seq >= 3 ORDER BY seq")
        sizes = [0 if row["kind"] == "summary" else row["tokens"] for row in rows]
        total = await connection.fetchval("SELECT total_tokens FROM sessions")
        sums.append([row["tokens_before"] for row in rows])
        assert [*accumulate(sizes, initial=sums[-1][0])] == [*sums[-1], total]
    await connection.close()
    assert sums[0] == sums[1]
    assert sums[1][-1] > sums[2][-1] > sums[3][-1]


async def messages(service: Service) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await service.get("/sessions/s1/messages"))["items"]
    return found


async def test_the_notes_that_may_tell_of_it_are_made_again_without_it(service: Service) -> None:
    await observed(service)
    before = await log(service)
    receipt = await erase(service)
    memory = await rest(service)
    after = await log(service)
    assert SECRET in before
    assert receipt["rows"] == {
        "messages": 1,
        "observations": 3,
        "reflections": 0,
        "memory_versions": 0,
        "runs": 0,
        "facts": 0,
    }
    assert receipt["rebuilding"]
    assert cover(memory) == [
        (1, 1, "observation"),
        (2, 2, "observation"),
        (3, 3, "erased"),
        (4, 5, "observation"),
    ]
    assert [fact in after for fact in ("Lisbon", "Porto", SECRET, "Rex", "green tea")] == [
        True,
        True,
        False,
        True,
        True,
    ]


NOTE = "<observations>\nDate: Aug 1, 2026\n* 🔴 [fact] User said something. #1\n</observations>"


def failing_after(path: Path, notes: int) -> dict[str, Any]:
    """Settings with a model that notes so often, and then fails."""
    rules = [{"reply": NOTE, "times": notes}, {"error": {"kind": "server_error", "retryable": True}}]
    path.write_text(json.dumps(rules))
    return {"provider": "scripted", "model": str(path), "memory": {"keep_last": 0}}


async def test_a_task_that_was_told_before_it_stays_now_and_in_the_past(
    start_service: StartService, tmp_path: Path
) -> None:
    tasks = ("Book the flight", "Call the bank", "Pay the bill")
    path = tmp_path / "replies.json"
    path.write_text(json.dumps([{"reply": f"{NOTE}\n<current-task>{t}</current-task>", "times": 1} for t in tasks]))
    memory = {"message_tokens": 1_000, "buffer_every": 0.1}

    async def told(**moment: Any) -> list[str]:
        context = str(await service.context("s1", **moment))
        return [task for task in tasks if task in context]

    async with start_service(provider="scripted", model=str(path), memory=memory) as service:
        await say(service, FACTS[0], id="m-1")
        await ask(service, "observe")
        await say(service, "And so on it went, day by day. " * 20, id="m-2")
        ahead, version = (await service.memory("s1"))["buffered"]["observations"], 1
        await erase(service, message="m-2")
        of_first = await told()
        await say(service, FACTS[2], id="m-3")
        await ask(service, "observe")
        of_last = await told()
        await erase(service)
        past = [await told(as_of_version=version + later) for later in range(3)]

    assert ahead == 1
    assert (of_first, of_last) == ([tasks[0]], [tasks[2]])
    assert past == [[tasks[0]], [tasks[0]], []]


async def test_a_response_that_was_suggested_without_a_task_is_erased_of_every_version(
    start_service: StartService, tmp_path: Path, database_url: str
) -> None:
    path = tmp_path / "replies.json"
    path.write_text(json.dumps([{"reply": f"{NOTE}\n<suggested-response>It is {SECRET}.</suggested-response>"}]))
    connection = await asyncpg.connect(database_url)

    async def suggested() -> list[str | None]:
        return [row[0] for row in await connection.fetch("SELECT suggested_response FROM memory_versions")]

    async with start_service(provider="scripted", model=str(path)) as service:
        await say(service, FACTS[2], id="m-3")
        await ask(service, "observe")
        before = await suggested()
        await erase(service)
        after = await suggested()
    await connection.close()
    assert (before, after) == ([f"It is {SECRET}."], [None, None])


async def lacks(service: Service, key: str = "s1") -> tuple[int, int, int]:
    """Messages that a context leaves out, those of them that no note tells, and how many it says that there are."""
    context = await service.context(key)
    [told] = re.findall(r"(\d+) earlier messages are neither shown nor in the notes yet", str(context["notices"])) or [
        0
    ]
    assert str(context["payload"]).count("neither shown nor in the notes yet") == bool(int(told))
    return context["omitted"]["messages"], context["omitted"]["unobserved_messages"], int(told)


async def test_until_its_notes_are_made_again_a_context_says_what_it_lacks(
    start_service: StartService, tmp_path: Path
) -> None:
    async with start_service(**failing_after(tmp_path / "replies.json", 2)) as service:
        await say(service, "Hello.", observe=False)  # neither is lacking, though both come before what is
        await say(service, "I am Ana.")
        await ask(service, "observe")
        for number, fact in enumerate(FACTS, start=1):
            await say(service, fact, id=f"m-{number}")
        await ask(service, "observe")
        before = await lacks(service)
        await erase(service)
        assert cover(await service.memory("s1"))[2:] == [
            (3, 4, "rebuilding"),
            (5, 5, "erased"),
            (6, 7, "rebuilding"),
        ]
        assert (before, await lacks(service)) == ((0, 0, 0), (3, 3, 3))  # the newest is in the tail


async def test_what_is_to_be_observed_again_still_is_after_another_erasure(
    start_service: StartService, tmp_path: Path
) -> None:
    async with start_service(**failing_after(tmp_path / "replies.json", 1)) as service:
        for number, fact in enumerate(FACTS, start=1):
            await say(service, fact, id=f"m-{number}")
        await ask(service, "observe")
        await service.append("s1", {"role": "user", "content": "And now?", "id": "m-6"})
        await erase(service)
        await erase(service, message="m-6")
        left = [(1, 2, "rebuilding"), (3, 3, "erased"), (4, 5, "rebuilding")]
        assert cover(await service.memory("s1"))[:3] == left


async def test_what_was_erased_before_any_note_told_it_is_not_lacking(service: Service) -> None:
    """Whether it lies before all that is read for a context, or is read and left out."""
    await service.configure("s1", message_budget=600, message_tokens=100_000, buffer_every=None)
    await say(service, FACTS[0], id="m-0")
    await ask(service, "observe")
    await erase(service, message="m-0")
    await service.append("s1", *({"role": "user", "content": "word " * 100, "id": f"m-{n}"} for n in range(1, 61)))
    for erased, message in enumerate(("m-2", "m-40"), start=1):
        await erase(service, message=message)
        lacking = 60 - erased - len((await service.context("s1"))["payload"]["messages"])
        assert (await lacks(service))[1:] == (lacking, lacking)


async def test_a_summary_and_what_no_observer_is_shown_are_not_lacking(
    start_service: StartService, tmp_path: Path
) -> None:
    settings = failing_after(tmp_path / "replies.json", 2)
    async with start_service(**settings | {"memory": {"compact_on_observe": True}}) as service:
        for half in (0, 10):
            for number, fact in enumerate(FACTS, start=half + 1):
                await say(service, fact, id=f"m-{number}", observe=number != 2)
            await ask(service, "observe")
        await erase(service)
        assert await lacks(service) == (7, 7, 7)  # number 6 is a summary, and 11 in the tail


@pytest.mark.parametrize(
    ("erased", "lacking"), [("one", [(3, 3, 3), (4, 4, 4)]), ("two", [(0, 0, 0), (3, 3, 3)])], ids=["first", "second"]
)
async def test_of_a_shared_memory_each_session_says_what_of_it_is_lacking(
    start_service: StartService, tmp_path: Path, erased: str, lacking: list[tuple[int, int, int]]
) -> None:
    async with start_service(**failing_after(tmp_path / "replies.json", 2)) as service:
        for key in ("one", "two"):
            await service.client.put(f"/sessions/{key}", json={"resource_id": "ana", "config": {"scope": "resource"}})
            for number, fact in enumerate(FACTS, start=1):
                await say(service, fact, key, id=f"m-{number}")
            await ask(service, "observe", key)
        await erase(service, erased, "m-1")
        assert [await lacks(service, key) for key in ("one", "two")] == lacking


@pytest.mark.parametrize("shape", list(CHECKS))
async def test_where_the_result_of_a_call_is_erased_within_a_loop_a_provider_takes_what_is_left(
    service: Service, shape: Format
) -> None:
    called = [{"type": "tool_call", "id": f"c{number}", "name": "find", "arguments": {}} for number in (1, 2)]
    found = [{"type": "tool_result", "tool_call_id": f"c{number}", "output": "42"} for number in (1, 2)]
    await service.append("s", {"role": "user", "content": "Go"}, {"role": "assistant", "content": called[:1]})
    await service.append("s", {"id": "r1", "role": "tool", "content": found[:1]})
    await service.append("s", {"role": "assistant", "content": called[1:]}, {"role": "tool", "content": found[1:]})
    await service.client.delete("/sessions/s/messages/r1")
    payload = (await service.context("s", format=shape))["payload"]
    CHECKS[shape](payload)
    assert str(payload).count("(no result)") == 1


async def test_what_no_observer_was_shown_takes_no_note_with_it(service: Service) -> None:
    for number, fact in enumerate(FACTS[:3], start=1):
        await say(service, fact, id=f"m-{number}", observe=number != 2)
    await ask(service, "observe")
    for number, fact in enumerate(FACTS[3:], start=4):
        await say(service, fact, id=f"m-{number}", observe=number != 4)
    before, pending = await log(service), (await rest(service))["pending"]["tokens"]
    for message in ("m-2", "m-4"):
        receipt = await erase(service, message=message)
        assert (sum(receipt["rows"].values()), receipt["rebuilding"]) == (1, False)
    assert await log(service) == before
    assert (await rest(service))["pending"]["tokens"] == pending > 0


async def test_erasing_again_is_answered_the_same_and_changes_nothing(service: Service) -> None:
    await observed(service)
    await erase(service)
    await rest(service)
    body = {"up_to_seq": 4, "summary": "Ana has moved."}  # which nobody wrote with the message in view
    assert (await service.client.post("/sessions/s1/compact", json=body)).status_code == 200
    before = await rest(service)
    receipt = await erase(service)
    assert (receipt["seq"], set(receipt["rows"].values()), receipt["rebuilding"]) == (3, {0}, False)
    assert (await rest(service))["log"] == before["log"]


async def test_an_erasure_leaves_what_was_made_again_of_what_was_said_before_it(service: Service) -> None:
    await service.append("s1", *({"role": "user", "content": fact, "id": f"m-{n}"} for n, fact in enumerate(FACTS, 1)))
    await ask(service, "observe")
    await service.configure("s1", observer_input_tokens=30)
    await erase(service, message="m-5")
    before = cover(await rest(service))
    receipt = await erase(service, message="m-4")
    assert before == [(1, 2, "observation"), (3, 4, "observation"), (5, 5, "erased")]
    assert receipt["rows"]["observations"] == 1


async def test_what_is_not_there_cannot_be_erased(service: Service) -> None:
    assert_problem(await service.client.delete("/sessions/s1/messages/m-1"), 404, "session-not-found")
    await say(service, "Hello")
    assert_problem(await service.client.delete("/sessions/s1/messages/m-1"), 404, "message-not-found")


async def test_a_message_that_nobody_has_noted_is_never_observed(service: Service) -> None:
    await say(service, FACTS[0], id="m-1")
    await say(service, FACTS[2], id="m-3")
    receipt = await erase(service)
    pending = (await rest(service))["pending"]["tokens"]
    await ask(service, "observe")
    listed = (await service.get("/sessions/s1/messages"))["items"]
    assert (receipt["rebuilding"], pending) == (False, listed[0]["tokens"])
    assert cover(await service.memory("s1"))[-1][2] == "erased"
    assert SECRET not in await log(service)


async def test_past_versions_and_contexts_show_it_no_more(service: Service) -> None:
    await observed(service)
    await erase(service)
    memory = await rest(service)
    for version in range(1, memory["log"]["version"] + 1):
        assert SECRET not in await log(service, version=version)
        assert SECRET not in str(await service.context("s1", as_of_version=version))
    for seq in range(1, 6):
        assert SECRET not in str(await service.context("s1", as_of_seq=seq))


async def test_what_a_reflection_condensed_before_it_comes_back_as_it_was(service: Service) -> None:
    await observed(service)
    earlier = (await service.get("/sessions/s1/memory/observations"))["items"][:2]
    await ask(service, "reflect")
    assert (await service.memory("s1"))["log"]["reflections"] == 1
    receipt = await erase(service)
    memory = await rest(service)
    notes = (await service.get("/sessions/s1/memory/observations", status="active"))["items"]
    for kind in ("observations", "reflections"):
        emptied = (await service.get(f"/sessions/s1/memory/{kind}", status="retired"))["items"]
        assert {note["tokens"] for note in emptied if not note["text"]} == {0}
    assert receipt["rows"]["reflections"] == 1
    assert [note["text"] for note in notes[:2]] == [note["text"] for note in earlier]
    assert [(note["from_seq"], note["to_seq"]) for note in notes] == [(1, 1), (2, 2), (4, 5)]
    assert memory["log"]["reflections"] == 0
    assert (await erase(service, message="m-4"))["rows"]["reflections"] == 0


async def take_out_lisbon(service: Service) -> int:
    """Edit the only reflection so that no line of it tells of Lisbon. Answers the id of what took its place."""
    (note,) = (await service.get("/sessions/s1/memory/reflections"))["items"]
    assert "Lisbon" in note["text"]
    kept = "\n".join(line for line in note["text"].splitlines() if "Lisbon" not in line)
    edited = await service.client.patch(f"/sessions/s1/memory/reflections/{note['id']}", json={"text": kept})
    assert edited.status_code == 200, edited.text
    taken_out: int = edited.json()["id"]
    return taken_out


async def test_what_an_operator_took_out_of_a_reflection_does_not_come_back_with_what_it_condensed(
    service: Service,
) -> None:
    await observed(service)
    await ask(service, "reflect")
    await take_out_lisbon(service)
    before = await log(service)
    await erase(service)
    memory = await rest(service)
    found = await service.client.post("/sessions/s1/recall", json={"query": "Lisbon", "kinds": ["observations"]})

    assert "Porto" in before
    assert "Lisbon" not in before
    assert ("Porto" in await log(service), "Lisbon" in await log(service)) == (True, False)
    assert found.json()["hits"] == []
    assert cover(memory) == [(1, 1, "deleted"), (2, 2, "observation"), (3, 3, "erased"), (4, 5, "observation")]


async def test_what_was_taken_out_of_a_reflection_does_not_come_back_though_it_was_edited_again(
    service: Service,
) -> None:
    await observed(service)
    await ask(service, "reflect")
    edited = await take_out_lisbon(service)
    (note,) = (await service.get("/sessions/s1/memory/reflections", status="active"))["items"]
    kept = "\n".join(line for line in note["text"].splitlines() if "tea" not in line)
    path = f"/sessions/s1/memory/reflections/{edited}"
    assert (await service.client.patch(path, json={"text": kept})).status_code == 200
    await erase(service)
    memory = await rest(service)
    assert cover(memory)[:2] == [(1, 1, "deleted"), (2, 2, "observation")]
    assert "Lisbon" not in await log(service)


@pytest.mark.parametrize(("at_seq", "comes_back"), [(5, True), (6, False)], ids=["before the edit", "after it"])
async def test_what_was_taken_out_of_a_reflection_does_not_come_back_in_a_branch_made_since_of_a_moment_after_it(
    service: Service, *, at_seq: int, comes_back: bool
) -> None:
    await observed(service)
    await ask(service, "reflect")
    await say(service, "What is new?")
    await take_out_lisbon(service)
    await say(service, "And now?")
    await erase(service)
    await rest(service)
    assert (await service.client.post("/sessions/s1/branch", json={"key": "s2", "at_seq": at_seq})).status_code == 201
    await rest(service, "s2")
    told = await log(service, "s2")
    assert ("Lisbon" in told, "Porto" in told) == (comes_back, True)


async def test_what_was_taken_out_of_a_reflection_that_was_deleted_then_does_not_come_back_in_a_branch_of_between(
    service: Service,
) -> None:
    await observed(service)
    await ask(service, "reflect")
    edited = await take_out_lisbon(service)
    await say(service, "And now?")
    assert (await service.client.delete(f"/sessions/s1/memory/reflections/{edited}")).status_code == 200
    await erase(service)
    assert (await service.client.post("/sessions/s1/branch", json={"key": "s2", "at_seq": 5})).status_code == 201
    memory = await rest(service, "s2")
    assert cover(memory) == [(1, 2, "deleted"), (3, 3, "erased"), (4, 5, "observation")]
    assert "Lisbon" not in await log(service, "s2")


@pytest.mark.parametrize("kind", ["observations", "reflections"])
async def test_what_an_operator_deleted_is_not_observed_again(service: Service, kind: str) -> None:
    await observed(service)
    if kind == "reflections":
        await ask(service, "reflect")
    notes = (await service.get(f"/sessions/s1/memory/{kind}"))["items"]
    [of_rex] = [note["id"] for note in notes if FACTS[3] in note["text"]]
    assert (await service.client.delete(f"/sessions/s1/memory/{kind}/{of_rex}")).status_code == 200
    await erase(service)
    memory = await rest(service)
    assert FACTS[3] not in await log(service)
    assert (4, 5 if kind == "reflections" else 4, "deleted") in cover(memory)
    assert memory["status"] == "idle"


async def test_what_was_taken_out_of_a_reflection_of_reflections_does_not_come_back_with_these(
    service: Service,
) -> None:
    await service.configure("s1", consolidate_at=2)
    for number, fact in enumerate(FACTS, start=1):
        await say(service, fact, id=f"m-{number}")
        await ask(service, "observe")
        if number in {2, 5}:
            await ask(service, "reflect")
    (note,) = (await service.get("/sessions/s1/memory/reflections", status="active"))["items"]
    for text in (f"{note['text']}\n* 🔴 [fact] User: {FACTS[0]} #1", note["text"]):
        (now,) = (await service.get("/sessions/s1/memory/reflections", status="active"))["items"]
        edited = await service.client.patch(f"/sessions/s1/memory/reflections/{now['id']}", json={"text": text})
        assert edited.status_code == 200, edited.text
    await say(service, "And now?")
    await erase(service, message="m-4")
    assert (await service.client.post("/sessions/s1/branch", json={"key": "s2", "at_seq": 5})).status_code == 201

    assert note["level"] == 2
    for key in ("s1", "s2"):
        await rest(service, key)
        notes, left = (await service.get(f"/sessions/{key}/memory/reflections"))["items"], await log(service, key)
        assert [(one["level"], one["to_seq"]) for one in notes if one["status"] == "active"] == [(1, 2)]
        assert (FACTS[0] in notes[0]["text"], FACTS[0] in left) == (True, False)
        assert all(fact in left for fact in FACTS[1:3])
        query = {"query": "Lisbon", "kinds": ["observations"]}
        found = await service.client.post(f"/sessions/{key}/recall", json=query)
        assert found.json()["hits"] == []
    await erase(service, message="m-2")
    for key in ("s1", "s2"):
        await rest(service, key)
        left = await log(service, key)
        assert [fact in left for fact in FACTS[:3]] == [False, False, True]


async def test_branches_that_hold_it_lose_it_and_the_parent_of_one_does_not(service: Service) -> None:
    await observed(service)
    for parent, key, at in (("s1", "child", 4), ("child", "grandchild", 3), ("s1", "earlier", 2)):
        answer = await service.client.post(f"/sessions/{parent}/branch", json={"key": key, "at_seq": at})
        assert answer.status_code == 201
    assert (await erase(service, "child"))["sessions"] == ["child", "grandchild"]
    assert SECRET in await log(service)
    assert (await erase(service))["sessions"] == ["s1", "child", "grandchild"]
    for key in ("s1", "child", "grandchild", "earlier"):
        await rest(service, key)
        assert SECRET not in await log(service, key)


async def test_what_a_branch_said_itself_under_the_same_id_and_number_stays_though_it_was_stored_with_it(
    service: Service, database_url: str
) -> None:
    """Appends that come at once share a transaction and so its time."""
    await say(service, FACTS[0], id="m-1")
    for parent, key in (("s1", "child"), ("child", "grandchild")):
        assert (await service.client.post(f"/sessions/{parent}/branch", json={"key": key})).status_code == 201
        if key == "child":
            await say(service, FACTS[2], id="m-2")
            await say(service, FACTS[3], "child", id="m-2")
    connection = await asyncpg.connect(database_url)
    await connection.execute("UPDATE messages SET ingested_at = '2026-08-01' WHERE id = 'm-2'")
    await connection.close()
    assert (await erase(service, message="m-2"))["sessions"] == ["s1"]
    for key in ("child", "grandchild"):
        assert FACTS[3] in str((await service.get(f"/sessions/{key}/messages"))["items"])


async def test_a_branch_of_a_former_session_of_the_key_keeps_what_it_has_under_the_same_id_and_number(
    service: Service,
) -> None:
    await say(service, FACTS[0], id="m-1")
    assert (await service.client.post("/sessions/s1/branch", json={"key": "child"})).status_code == 201
    assert (await service.client.delete("/sessions/s1")).status_code == 200
    await say(service, FACTS[1], id="m-1")
    assert (await erase(service, message="m-1"))["sessions"] == ["s1"]
    assert FACTS[0] in str((await service.get("/sessions/child/messages"))["items"])


async def test_a_branch_of_a_former_session_of_the_key_is_given_to_no_parent_of_a_later_one(service: Service) -> None:
    await say(service, FACTS[0], id="m-1")
    await say(service, FACTS[1], "other")
    assert (await service.client.post("/sessions/s1/branch", json={"key": "child"})).status_code == 201
    assert (await service.client.delete("/sessions/s1")).status_code == 200
    assert (await service.client.post("/sessions/other/branch", json={"key": "s1"})).status_code == 201
    assert (await service.client.delete("/sessions/s1")).status_code == 200
    assert (await service.get("/sessions/child"))["parent"] == {"key": "s1", "at_seq": 1}


async def test_a_branch_loses_it_though_the_session_between_was_deleted(service: Service) -> None:
    await observed(service)
    for parent, key, at in (("s1", "middle", 4), ("middle", "lower", 4), ("lower", "lowest", 3)):
        answer = await service.client.post(f"/sessions/{parent}/branch", json={"key": key, "at_seq": at})
        assert answer.status_code == 201
    for key in ("lower", "middle"):
        assert (await service.client.delete(f"/sessions/{key}")).status_code == 200
    parent = (await service.get("/sessions/lowest"))["parent"]
    assert (await erase(service))["sessions"] == ["s1", "lowest"]
    await rest(service, "lowest")
    assert parent == {"key": "s1", "at_seq": 3}
    assert SECRET not in await log(service, "lowest")
    assert SECRET not in str((await service.get("/sessions/lowest/messages"))["items"])


async def test_a_branch_of_a_moment_before_the_erasure_is_whole_again_without_it(service: Service) -> None:
    await observed(service)
    await ask(service, "reflect")
    await erase(service)
    await rest(service)
    answer = await service.client.post("/sessions/s1/branch", json={"key": "s2", "at_seq": 4})
    assert answer.status_code == 201
    memory = await rest(service, "s2")
    assert cover(memory)[2] == (3, 3, "erased")
    told = await log(service, "s2")
    assert [fact in told for fact in ("Lisbon", "Porto", SECRET)] == [True, True, False]


@pytest.mark.parametrize(("erased", "messages"), [(0, 2), (1, 1)])
async def test_a_summary_that_is_erased_is_counted_once_with_those_that_may_repeat_it(
    service: Service, erased: int, messages: int
) -> None:
    for number, fact in enumerate(FACTS, start=1):
        await say(service, fact, id=f"m-{number}")
    summaries = [
        (await service.client.post("/sessions/s1/compact", json={"up_to_seq": seq, "summary": "S"})).json()
        for seq in (2, 3)
    ]
    await say(service, "And now?")
    receipt = (await service.client.delete(f"/sessions/s1/messages/{summaries[erased]['summary']['id']}")).json()
    assert receipt["rows"]["messages"] == messages


@pytest.mark.parametrize("stays", [True, False])
async def test_what_is_observed_again_tells_the_current_task_unless_a_later_note_stays(
    start_service: StartService, tmp_path: Path, *, stays: bool
) -> None:
    path, tasks = tmp_path / "replies.json", ("Book the flight", "Call the bank")
    told = [f"<current-task>{t}</current-task>\n<suggested-response>{t}?</suggested-response>" for t in tasks]
    path.write_text(json.dumps([{"reply": f"{NOTE}\n{task}", "times": 1} for task in told]))
    async with start_service(provider="scripted", model=str(path)) as service:
        for number, fact in enumerate(FACTS, start=1):
            await say(service, fact, id=f"m-{number}")
        if stays:  # what only a summary told is observed before it
            body = {"up_to_seq": 4, "summary": "Ana has moved."}
            assert (await service.client.post("/sessions/s1/compact", json=body)).status_code == 200
        await ask(service, "observe")
        await erase(service, message="m-1")
        memory = await rest(service)
    assert cover(memory)[:2] == [(1, 1, "erased"), (2, 4 if stays else 5, "observation")]
    task = tasks[0 if stays else 1]
    assert (memory["current_task"], memory["suggested_response"]) == (task, f"{task}?")


async def test_what_an_error_quoted_of_it_is_told_no_more_though_the_memory_is_paused(
    start_service: StartService, tmp_path: Path, database_url: str
) -> None:
    settings = failing_after(tmp_path / "replies.json", 1)
    async with start_service(**settings, caps={"session_tokens_per_day": 1}) as service:
        for number, fact in enumerate(FACTS[2:4], start=3):
            await say(service, fact, id=f"m-{number}")
            await ask(service, "observe")
        connection = await asyncpg.connect(database_url)
        quoting = "UPDATE memories SET last_error = jsonb_build_object('at', now(), 'step', 'observe', 'kind', 'x', "
        await connection.execute(f"{quoting}'message', $1::text)", FACTS[2])
        await connection.execute("UPDATE runs SET error = 'x: ' || $1", FACTS[2])
        await connection.close()
        assert SECRET in (await service.memory("s1"))["last_error"]["message"]
        receipt = await erase(service)
        memory, runs = await rest(service), (await service.get("/sessions/s1/memory/runs"))["items"]
    assert (memory["status"], memory["last_error"]["message"]) == ("paused", "")
    assert [run["error"] for run in runs] == ["x"] * receipt["rows"]["runs"] != []


async def test_what_was_live_and_what_was_ahead_beside_it_are_observed_again_apart(start_service: StartService) -> None:
    async with start_service(memory={"message_tokens": 1_000, "buffer_every": 0.1, "retain_tokens": 0}) as service:
        for number, fact in enumerate(FACTS, start=1):
            await say(service, fact, id=f"m-{number}")
        await ask(service, "observe")
        await say(service, "My sister moved to Faro with her two dogs and a cat. " * 12)
        before = cover(await rest(service))
        await erase(service, message="m-1")
        after = cover(await rest(service))
    assert before == [(1, 5, "observation"), (6, 6, "buffered")]
    assert after == [(1, 1, "erased"), (2, 5, "observation"), (6, 6, "buffered")]


async def test_what_was_only_condensed_ahead_beside_it_is_observed_again(service: Service) -> None:
    for number, fact in enumerate(FACTS[:3], start=1):
        await say(service, fact, id=f"m-{number}")
    await ask(service, "observe")
    await say(service, "And now?")
    await ask(service, "reflect")
    branched = await service.client.post("/sessions/s1/branch", json={"key": "s2", "at_seq": 3})
    (ahead,) = (await service.get("/sessions/s2/memory/reflections"))["items"]
    await erase(service, "s2")
    assert (branched.status_code, ahead["status"]) == (201, "buffered")
    assert cover(await rest(service, "s2")) == [(1, 2, "observation"), (3, 3, "erased")]


@pytest.mark.parametrize("summary", [f"The code is {SECRET}", None])
async def test_what_only_a_summary_told_is_observed_without_it(service: Service, summary: str | None) -> None:
    for number, fact in enumerate(FACTS, start=1):
        await say(service, fact, id=f"m-{number}")
    compacted = await service.client.post("/sessions/s1/compact", json={"up_to_seq": 4, "summary": summary})
    assert SECRET in compacted.text
    receipt = await erase(service)
    memory = await rest(service)
    assert receipt["rows"]["messages"] == 2
    assert cover(memory)[:3] == [(1, 2, "observation"), (3, 3, "erased"), (4, 4, "observation")]
    assert SECRET not in str(await service.context("s1"))


async def test_a_summary_that_ends_with_it_is_emptied(service: Service, database_url: str) -> None:
    for number, fact in enumerate(FACTS, start=1):
        await say(service, fact, id=f"m-{number}")
    body = {"up_to_seq": 3, "summary": f"The code is {SECRET}. " * 20}
    told = (await service.client.post("/sessions/s1/compact", json=body)).json()["summary"]
    await erase(service)
    left = await service.get(f"/sessions/s1/messages/{told['id']}")
    assert SECRET not in str((left, await service.context("s1")))
    assert left["tokens"] < told["tokens"]
    connection = await asyncpg.connect(database_url)
    hashed = await connection.fetchval("SELECT content_hash FROM messages WHERE kind = 'summary'")
    await connection.close()
    assert hashed == content_hash(Role.USER, None, left["content"])


async def test_a_summary_of_what_was_said_before_it_stays(service: Service) -> None:
    for number, fact in enumerate(FACTS, start=1):
        await say(service, fact, id=f"m-{number}")
    await service.client.post("/sessions/s1/compact", json={"up_to_seq": 2, "summary": "Ana has moved."})
    receipt = await erase(service)
    assert receipt["rows"]["messages"] == 1
    assert "Ana has moved." in str((await service.context("s1"))["payload"])


async def test_an_erased_summary_takes_its_tokens_from_no_sum(service: Service) -> None:
    """They were in none."""
    for number, fact in enumerate(FACTS, start=1):
        await say(service, fact, id=f"m-{number}")
    compacted = await service.client.post("/sessions/s1/compact", json={"up_to_seq": 2, "summary": "Ana has moved."})
    await say(service, "Hello?", id="m-last")
    await erase(service, message=compacted.json()["summary"]["id"])
    found = await laws.read_facts(service.app.state.database, session_id("default", "s1"))
    assert found is not None
    laws.log_is_whole(found)


@pytest.mark.parametrize(("erased", "shown"), [("m-1", True), ("m-3", False)])
async def test_of_what_an_emptied_summary_told_a_memory_that_is_off_shows_the_messages(
    service: Service, erased: str, *, shown: bool
) -> None:
    for number, fact in enumerate(FACTS, start=1):
        await say(service, fact, id=f"m-{number}")
    await service.client.post("/sessions/s1/compact", json={"up_to_seq": 2, "summary": "Ana has moved."})
    await service.configure("s1", enabled=False)
    await erase(service, message=erased)
    assert (FACTS[1] in str((await service.context("s1"))["payload"])) is shown


async def test_what_was_observed_ahead_is_observed_ahead_again(start_service: StartService) -> None:
    async with start_service(memory={"message_tokens": 1_000, "buffer_every": 0.1, "retain_tokens": 0}) as service:
        for number in range(1, 9):
            await say(
                service, f"{FACTS[2 if number == 3 else 0]} " + "And so on it went, day by day. " * 8, id=f"m-{number}"
            )
        before = await rest(service)
        await erase(service)
        after = await rest(service)
    assert before["buffered"]["observations"] >= 3
    assert before["cursor"] == after["cursor"]
    assert {by for _, _, by in cover(after)} == {"buffered", "erased", "tail"}
    assert after["pending"]["tokens"] < before["pending"]["tokens"]


async def test_an_erasure_far_behind_the_end_of_a_long_tail_changes_no_other_message(
    service: Service, database_url: str
) -> None:
    """In a tail of 200,000 messages, as with the memory off, one took five seconds; in one of a million it failed."""
    await fill(database_url, ["long"], SUMMED_MAX + 100, observed=False, wake_tokens=10**9)
    connection = await asyncpg.connect(database_url)
    before = await connection.fetch(SUMS)
    receipt = await erase(service, "long", "m-7")
    after = await connection.fetch(SUMS)
    assert receipt["rows"]["messages"] == 1
    assert after == before

    await erase(service, "long", f"m-{SUMMED_MAX}")
    changed = [old["seq"] for old, new in zip(before, await connection.fetch(SUMS), strict=True) if old != new]
    await connection.close()
    assert changed == [*range(SUMMED_MAX, SUMMED_MAX + 101)]
