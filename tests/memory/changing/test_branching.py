"""A branch is what its parent was at a point, costs no model call, and goes its own way (api.md, Sessions)."""

import asyncio
import re
from typing import Any

import httpx2 as httpx
import pytest

from app.kit.db import Database
from app.memory.changing.branch_store import BRANCH, BRANCH_APART
from app.memory.changing.branching import Branching
from app.memory.tables import MemoryRow, MemoryVersionRow, ObservationRow, ReflectionRow
from app.sessions.errors import SessionNotFound
from app.sessions.store import session_id
from app.sessions.tables import MessageRow, SessionConfigRow, SessionRow
from tests.conftest import Service, StartService
from tests.fuzz import laws
from tests.journeys.looks import until
from tests.sessions.test_group_commit import WAITS

PARENT, BRANCHED = "s1", "s2"
FACTS = ("I moved to Lisbon.", "I work at a bank in Porto.", "My dog is called Rex.", "I like green tea.")
WAIT = {"wait_ms": 50_000}
AHEAD = {"message_tokens": 1_000, "buffer_every": 0.1, "retain_tokens": 0}

# What a branch begins anew: its lease, its errors, its costs, what its agent reported.
ANEW = {
    "sessions": {"cold_at", "actor_model", "created_at", "ended_at", "waiting"}
    | {f"actor_{what}_tokens" for what in ("input", "cached", "written", "output")}
    | {"actor_turns", "actor_cost_usd"},
    "memories": {"due_at", "attempts", "last_error", "requested", "requested_at", "usage", "paused", "rebuilding"}
    | {f"lease_{what}" for what in ("epoch", "owner", "step")},
}


async def say(service: Service, text: str, key: str = PARENT) -> None:
    await service.append(key, {"role": "user", "content": text}, **WAIT)


async def ask(service: Service, of: str = PARENT, **body: Any) -> httpx.Response:
    return await service.client.post(f"/sessions/{of}/branch", json=body)


async def branch(service: Service, **body: Any) -> dict[str, Any]:
    answer = await ask(service, **{"key": BRANCHED, **body})
    assert answer.status_code == 201, answer.text
    session: dict[str, Any] = answer.json()
    return session


async def items(service: Service, key: str, what: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await service.get(f"/sessions/{key}/{what}", limit=500))["items"]
    return found


async def facts(service: Service, key: str) -> laws.Facts:
    found = await laws.read_facts(service.app.state.database, session_id("default", key))
    assert found is not None
    return found


def check(found: laws.Facts) -> None:
    """The laws over the rows, but for that of the calls: a branch has none of its own."""
    laws.log_is_whole(found)
    laws.each_message_is_derived_once(found)
    laws.live_log_covers_what_is_observed(found)
    laws.what_is_made_ahead_can_be_used(found)
    laws.counters_are_sums(found)
    laws.versions_follow_one_another(found)
    laws.past_logs_cover_their_past(found)


@pytest.mark.parametrize(
    "table", [SessionRow, SessionConfigRow, MessageRow, MemoryRow, MemoryVersionRow, ObservationRow, ReflectionRow]
)
def test_every_column_is_copied_or_begins_anew(table: Any) -> None:
    name = table.__tablename__
    copied = re.search(rf"INSERT INTO {name} \(([^)]*)\)", BRANCH)
    assert copied is not None
    named = set(re.split(r",\s*", copied[1]))
    assert named | ANEW.get(name, set()) == {column.name for column in table.__table__.columns}
    assert not named & ANEW.get(name, set())


@pytest.mark.parametrize("table", [SessionConfigRow, MessageRow])
def test_a_branch_of_a_shared_memory_copies_the_same_columns_of_its_session(table: Any) -> None:
    copied = [re.search(rf"INSERT INTO {table.__tablename__} \(([^)]*)\)", text) for text in (BRANCH, BRANCH_APART)]
    one, other = (set() if found is None else set(re.split(r",\s*", found[1])) for found in copied)
    assert one == other


async def test_a_branch_is_answered_as_a_session_with_its_parent(service: Service) -> None:
    await service.client.put(f"/sessions/{PARENT}", json={"resource_id": "ada", "metadata": {"plan": "pro"}})
    await service.configure(PARENT, keep_last=3)
    for fact in FACTS:
        await say(service, fact)
    answer = await ask(service, key=BRANCHED, at_seq=2)
    assert (answer.status_code, answer.headers["Location"]) == (201, f"/sessions/{BRANCHED}")
    session = answer.json()
    assert session == await service.get(f"/sessions/{BRANCHED}")
    assert session["parent"] == {"key": PARENT, "at_seq": 2}
    assert (session["resource_id"], session["metadata"], session["last_seq"]) == ("ada", {"plan": "pro"}, 2)
    assert session["config"] == {"keep_last": 3}
    assert (await service.get(f"/sessions/{PARENT}"))["parent"] is None
    assert [listed["parent"] for listed in (await service.get("/sessions"))["items"]] == [None, session["parent"]]
    assert await items(service, BRANCHED, "messages") == (await items(service, PARENT, "messages"))[:2]


async def test_a_branch_is_by_default_all_there_is(service: Service) -> None:
    for fact in FACTS[:3]:
        await say(service, fact)
        await service.observe(PARENT)
    await service.reflect(PARENT)
    await say(service, FACTS[3])
    assert (await branch(service))["parent"] == {"key": PARENT, "at_seq": 4}
    for what in ("messages", "memory/observations", "memory/reflections", "memory/versions"):
        own, parents = [await items(service, key, what) for key in (BRANCHED, PARENT)]
        assert own == [{**item, **({"session": BRANCHED} if "session" in item else {})} for item in parents]
    assert await items(service, BRANCHED, "memory/runs") == []
    memory, parents_memory = await service.memory(BRANCHED), await service.memory(PARENT)
    for told in (memory, parents_memory):
        del told["pending"]["seconds"]  # each was asked at a moment of its own
    apart = dict.fromkeys(("session", "last_observer_run", "last_reflector_run", "usage"))
    assert {**memory, **apart} == {**parents_memory, **apart}
    check(await facts(service, BRANCHED))


async def test_the_memory_is_that_of_then(service: Service) -> None:
    """Neither what was noted later is there, nor an edit, nor a deletion, nor a change of the config."""
    await service.configure(PARENT, keep_last=1)
    await say(service, FACTS[0])
    await service.observe(PARENT)
    [first] = await items(service, PARENT, "memory/observations")
    before = await service.context(PARENT, now="2099-01-01T00:00:00Z")
    await say(service, FACTS[1])
    await service.observe(PARENT)
    edit = {"text": "* 🔴 [fact] User moved to Turin. #1"}
    await service.client.patch(f"/sessions/{PARENT}/memory/observations/{first['id']}", json=edit)
    await service.reflect(PARENT)
    await service.client.delete(f"/sessions/{PARENT}/memory/reflections")
    await service.configure(PARENT, enabled=False)
    await branch(service, at_seq=1)
    assert await items(service, BRANCHED, "memory/observations") == [{**first, "session": BRANCHED}]
    after = await service.context(BRANCHED, now="2099-01-01T00:00:00Z")
    assert {**after, "session": PARENT} == before
    check(await facts(service, BRANCHED))


async def test_a_branch_and_its_parent_go_their_own_way_and_note_each_message_once(service: Service) -> None:
    for fact in FACTS[:2]:
        await say(service, fact)
        await service.observe(PARENT)
    before = await facts(service, PARENT)
    await branch(service)
    await say(service, FACTS[2], BRANCHED)
    await service.observe(BRANCHED)
    after = await facts(service, PARENT)
    assert {**after.session, "now": None} == {**before.session, "now": None}
    assert (after.memory, after.messages, after.runs) == (before.memory, before.messages, before.runs)
    assert (after.observations, after.versions) == (before.observations, before.versions)
    await say(service, FACTS[3])
    await service.observe(PARENT)
    for key, last in ((PARENT, FACTS[3]), (BRANCHED, FACTS[2])):
        check(await facts(service, key))
        assert [note["from_seq"] for note in await items(service, key, "memory/observations")] == [1, 2, 3]
        assert (await items(service, key, "messages"))[-1]["content"][0]["text"] == last
    assert [(run["from_seq"], run["to_seq"]) for run in await items(service, BRANCHED, "memory/runs")] == [(3, 3)]


async def test_what_was_observed_ahead_is_not_observed_again(start_service: StartService) -> None:
    text = " ".join(f"I paid invoice {number} for Rex in Lisbon." for number in range(14))
    async with start_service(memory=AHEAD) as service:
        for _ in range(6):
            await say(service, text)
        ahead = (await service.memory(PARENT))["buffered"]
        assert ahead["observations"] > 1
        await branch(service)
        await branch(service, key="s3", at_seq=3)
        assert (await service.memory(BRANCHED))["buffered"] == ahead
        for key in (BRANCHED, "s3"):
            check(await facts(service, key))
        while (await service.memory(BRANCHED))["log"]["version"] == 0:
            await say(service, text, BRANCHED)
        found = await facts(service, BRANCHED)
        check(found)
        assert min(run["from_seq"] for run in found.runs) > 6
        assert (await service.memory("s3"))["buffered"]["observations"] > 0


async def test_a_reflection_of_what_was_live_then_is_not_made_again(service: Service) -> None:
    """It is one made ahead in the branch, and becomes live there when there is enough to condense."""
    for fact in FACTS[:3]:
        await say(service, fact)
        await service.observe(PARENT)
    await say(service, FACTS[3])
    await service.reflect(PARENT)
    [note] = await items(service, PARENT, "memory/reflections")
    await branch(service, at_seq=3)
    check(await facts(service, BRANCHED))
    [ahead] = await items(service, BRANCHED, "memory/reflections")
    assert (ahead["id"], ahead["text"], ahead["status"]) == (note["id"], note["text"], "buffered")
    await service.configure(BRANCHED, observation_tokens=1)
    await service.context(BRANCHED, **WAIT)
    [live] = await items(service, BRANCHED, "memory/reflections")
    assert (live["id"], live["status"], live["born_version"]) == (note["id"], "active", 4)
    found = await facts(service, BRANCHED)
    check(found)
    assert found.runs == []


async def test_two_reflections_that_were_condensed_later_are_not_condensed_ahead(service: Service) -> None:
    await service.configure(PARENT, consolidate_at=3)
    for fact in FACTS[:2]:
        await say(service, fact)
        await service.observe(PARENT)
        await service.reflect(PARENT)
    await say(service, FACTS[2])
    await service.configure(PARENT, consolidate_at=2)
    await service.reflect(PARENT)
    await branch(service, at_seq=2)
    assert [note["level"] for note in await items(service, PARENT, "memory/reflections")] == [1, 1, 2]
    assert [note["status"] for note in await items(service, BRANCHED, "memory/reflections")] == ["active", "active"]
    check(await facts(service, BRANCHED))


async def test_a_chunk_that_was_edited_later_is_ahead_as_it_was(start_service: StartService) -> None:
    text = " ".join(f"I paid invoice {number} for Rex in Lisbon." for number in range(14))
    async with start_service(memory=AHEAD) as service:
        for _ in range(4):
            await say(service, text)
        before = await items(service, PARENT, "memory/observations")
        edit = {"text": "* 🔴 [fact] User paid it all. #1"}
        await service.client.patch(f"/sessions/{PARENT}/memory/observations/{before[0]['id']}", json=edit)
        await say(service, text)
        await service.observe(PARENT)
        assert {note["status"] for note in await items(service, PARENT, "memory/observations")} == {"retired", "active"}
        await branch(service, at_seq=3)
        notes = await items(service, BRANCHED, "memory/observations")
        assert notes == [{**note, "session": BRANCHED} for note in before[: len(notes)]]
        assert (notes[0]["status"], notes[0]["born_version"]) == ("buffered", None)
        check(await facts(service, BRANCHED))


async def test_a_chunk_that_was_deleted_unseen_stays_deleted(start_service: StartService) -> None:
    text = " ".join(f"I paid invoice {number} for Rex in Lisbon." for number in range(14))
    async with start_service(memory=AHEAD) as service:
        for _ in range(4):
            await say(service, text)
        [one, two] = [note["id"] for note in await items(service, PARENT, "memory/observations")][:2]
        await service.client.delete(f"/sessions/{PARENT}/memory/observations/{one}")
        edit = {"text": "* 🔴 [fact] User paid it all. #2"}
        await service.client.patch(f"/sessions/{PARENT}/memory/observations/{two}", json=edit)
        await branch(service)
        assert (await service.memory(BRANCHED))["coverage"] == (await service.memory(PARENT))["coverage"]
        check(await facts(service, BRANCHED))


async def test_what_was_erased_of_a_chunk_that_was_deleted_unseen_is_counted_once(start_service: StartService) -> None:
    text = " ".join(f"I paid invoice {number} for Rex in Lisbon." for number in range(14))
    async with start_service(memory=AHEAD) as service:
        for number in range(4):
            await service.append(PARENT, {"id": f"m-{number}", "role": "user", "content": text}, **WAIT)
        (ahead, *_) = await items(service, PARENT, "memory/observations")
        await service.client.delete(f"/sessions/{PARENT}/memory/observations/{ahead['id']}")
        await service.client.delete(f"/sessions/{PARENT}/messages/m-0")
        await service.context(PARENT, **WAIT)
        await branch(service)
        parent, branched = await facts(service, PARENT), await facts(service, BRANCHED)
        assert (ahead["status"], ahead["from_seq"]) == ("buffered", 1)
        assert branched.memory["pending_tokens"] == parent.memory["pending_tokens"]
        check(branched)


async def test_a_branch_has_the_past_of_its_parent_and_branches_in_turn(service: Service) -> None:
    await service.configure(PARENT, keep_last=1)
    for fact in FACTS:
        await say(service, fact)
        await service.observe(PARENT)
    await branch(service, at_seq=3)
    again = await ask(service, BRANCHED, key="s3", at_seq=2)
    assert again.json()["parent"] == {"key": BRANCHED, "at_seq": 2}
    for seq in (1, 2):
        past = [await service.context(key, as_of_seq=seq) for key in (PARENT, BRANCHED, "s3")]
        assert [{**context, "session": ""} for context in past] == [{**past[0], "session": ""}] * 3
    check(await facts(service, "s3"))


@pytest.mark.parametrize("scope", ["session", "resource"])
async def test_what_a_branch_goes_on_with_is_read_for_facts_though_its_parent_was_read_further(
    service: Service, scope: str
) -> None:
    put = {"resource_id": "ana", "config": {"scope": scope}}
    assert (await service.client.put(f"/sessions/{PARENT}", json=put)).status_code == 201
    for fact in FACTS[:3]:
        await say(service, fact)
    await service.client.post(f"/sessions/{PARENT}/end")
    await service.context(PARENT, **WAIT)
    assert (await facts(service, PARENT)).session["facts_seq"] == 3
    await branch(service, at_seq=1)
    await say(service, FACTS[3], BRANCHED)
    await service.client.post(f"/sessions/{BRANCHED}/end")
    await service.context(BRANCHED, **WAIT)
    noted = (await service.get("/resources/ana/facts"))["items"]
    assert any("green tea" in fact["text"] for fact in noted)


async def test_a_branch_waits_for_who_changes_its_parent_and_has_what_became_of_it(service: Service) -> None:
    for fact in FACTS[:2]:
        await say(service, fact)
    database: Database = service.app.state.database
    parent = session_id("default", PARENT)
    async with database.tx() as tx:
        await tx.execute("SELECT FROM sessions WHERE id = $1 FOR UPDATE", parent)
        asked = asyncio.create_task(branch(service))
        await until(lambda: tx.fetch(WAITS), lambda waiting: bool(waiting) or asked.done())
        await tx.execute("UPDATE messages SET parts = '[]' WHERE session_id = $1 AND seq = 1", parent)
    await asked
    assert [len(message["content"]) for message in await items(service, BRANCHED, "messages")] == [0, 1]


async def test_what_cannot_be_branched_is_refused_and_leaves_nothing(start_service: StartService) -> None:
    async with start_service(sessions={"branch_messages_max": 2}) as service:

        async def refused(**body: Any) -> tuple[int, str, list[str]]:
            answer = await ask(service, **body)
            told = answer.json()
            pointers = [error["pointer"] for error in told.get("errors", [])]
            return answer.status_code, told["type"].removeprefix("/problems/"), pointers

        assert await refused(key=BRANCHED) == (404, "session-not-found", [])
        await service.configure(PARENT, keep_last=1)
        assert await refused(key=BRANCHED) == (422, "invalid", ["/at_seq"])
        for fact in FACTS[:3]:
            await say(service, fact)
        assert await refused(key=BRANCHED) == (413, "too-large", ["/at_seq"])
        for at_seq in (0, -1, 4, "x", "1", True, 2**63):
            assert await refused(key=BRANCHED, at_seq=at_seq) == (422, "invalid", ["/at_seq"])
        for wrong in ("a b", "", None):
            assert await refused(key=wrong, at_seq=1) == (422, "invalid", ["/key"])
        assert await refused(key=PARENT, at_seq=1) == (409, "session-exists", ["/key"])
        assert (await service.client.get(f"/sessions/{BRANCHED}")).status_code == 404
        await branch(service, at_seq=2)
        assert await refused(key=BRANCHED, at_seq=1) == (409, "session-exists", ["/key"])
        assert (await service.get(f"/sessions/{BRANCHED}"))["last_seq"] == 2


async def test_nobody_branches_a_session_of_another_tenant(service: Service) -> None:
    await say(service, FACTS[0])
    branching: Branching = service.app.state.branching
    with pytest.raises(SessionNotFound):
        await branching.branch(tenant="other", key=PARENT, into=BRANCHED, at_seq=1)


async def test_messages_left_to_a_summary_later_are_in_the_branch_to_be_observed(service: Service) -> None:
    await service.configure(PARENT, keep_last=1)
    await say(service, FACTS[0])
    await service.observe(PARENT)
    for text in ("One more.", "And one.", "And another."):
        await say(service, text)
    await say(service, FACTS[1])
    answer = await service.client.post(f"/sessions/{PARENT}/compact", json={"up_to_seq": 3, "summary": "Small talk."})
    assert answer.status_code == 200, answer.text
    await service.configure(PARENT, observer_input_tokens=10)
    await service.observe(PARENT)
    check(await facts(service, PARENT))
    chunks = [(note["from_seq"], note["to_seq"]) for note in await items(service, PARENT, "memory/observations")]
    assert chunks == [(1, 1), (4, 4), (5, 6)]
    await branch(service, at_seq=5)
    await branch(service, key="s3")
    before, after = await service.memory(BRANCHED), await service.memory("s3")
    assert [found["by"].partition(":")[0] for found in before["coverage"]["intervals"]] == ["observation", "tail"]
    assert after["coverage"] == (await service.memory(PARENT))["coverage"]
    for key in (BRANCHED, "s3"):
        check(await facts(service, key))
        await service.observe(key)
        check(await facts(service, key))
