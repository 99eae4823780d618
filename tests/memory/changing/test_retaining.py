"""What was said is removed when it is as old as the retention rule of its session says (docs/decisions/0031)."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from app.kit.db import Database
from app.memory.changing.retaining import Retaining, RetainingConfig
from app.memory.changing.retaining_store import Lookout, RetainingStore
from app.memory.rules import MemoryConfig
from app.recall import index_store
from app.sessions.metrics import SessionMetrics
from app.sessions.store import session_id
from tests.artifacts.test_objects import objects_in
from tests.conftest import Service, StartService
from tests.diagnostics.test_events import listening
from tests.diagnostics.test_events import until as heard_until
from tests.diagnostics.test_metrics import samples, total
from tests.journeys.looks import until
from tests.memory.changing.test_branching import AHEAD
from tests.memory.changing.test_erasing import FACTS, SECRET, ask, cover, erase, log, observed, rest, say
from tests.memory.changing.test_parting import RULES
from tests.memory.test_sharing import share
from tests.model_replies import PromptKind
from tests.model_server import ModelServer
from tests.sessions.test_deleting import SEARCHED_AT_ONCE
from tests.test_problems import assert_problem

DAY = timedelta(days=1)
MONTH: dict[str, Any] = {"days": 30}


@pytest.fixture
async def service(start_service: StartService) -> AsyncIterator[Service]:
    async with start_service(recall=SEARCHED_AT_ONCE) as service:
        yield service


class Hand:
    """A clock that is set by hand: so long after now."""

    def __init__(self) -> None:
        self.later = timedelta(0)

    async def now(self) -> datetime:
        return datetime.now(UTC) + self.later


def retaining(
    service: Service,
    *,
    clock: Hand,
    rule: dict[str, Any] | None = None,
    store: RetainingStore | None = None,
    **config: Any,
) -> Retaining:
    database: Database = service.app.state.database
    return Retaining(
        database=database,
        store=store or RetainingStore(database),
        index=index_store,
        deleting=service.app.state.deleting,
        service_rules=MemoryConfig.model_validate({"retention": rule}).values(),
        now=clock.now,
        config=RetainingConfig(**config),
        metrics=SessionMetrics(),
    )


async def indexed(service: Service) -> None:
    """The search index has what was said: while it is written, a sweep passes the session by."""
    index = index_store.IndexStore(service.app.state.database)
    await until(lambda: index.behind(UUID(int=0), 100), lambda found: not found.behind)


async def after(service: Service, days: float, **options: Any) -> int:
    """So many days later, a sweep. Answers how many sessions it found to have something that is too old."""
    await indexed(service)
    clock = Hand()
    clock.later = days * DAY
    return await retaining(service, clock=clock, **options).sweep()


async def removed(service: Service, key: str = "s1") -> list[int]:
    listed = (await service.get(f"/sessions/{key}/messages"))["items"]
    return [message["seq"] for message in listed if message["erased_at"] is not None]


async def fall_silent(service: Service, key: str, *, days: int) -> None:
    """Nothing was said in the session for so long."""
    database: Database = service.app.state.database
    async with database.connection() as connection:
        await connection.execute(
            "UPDATE sessions SET last_active_at = last_active_at - make_interval(days => $2),"
            " created_at = created_at - make_interval(days => $2) WHERE key = $1",
            key,
            days,
        )


async def grow_old(service: Service, key: str, *, days: int) -> None:
    """All that was said in it was said so long ago."""
    database: Database = service.app.state.database
    async with database.connection() as connection:
        await connection.execute(
            "UPDATE messages SET ingested_at = ingested_at - make_interval(days => $2) WHERE session_id = $1",
            session_id("default", key),
            days,
        )


async def noted(service: Service, key: str = "s1", **config: Any) -> None:
    """Five messages, observed together, of which the newest is shown."""
    await service.configure(key, **{"keep_last": 0} | config)
    await service.append(key, *({"role": "user", "content": fact, "id": f"m-{n}"} for n, fact in enumerate(FACTS, 1)))
    await ask(service, "observe", key)


async def test_what_is_noted_and_shown_no_more_is_removed_and_its_notes_stay(service: Service) -> None:
    await noted(service, retention=MONTH)
    before = await service.memory("s1"), await log(service), (await service.context("s1"))["payload"]
    await after(service, 31)
    memory = await service.memory("s1")
    assert await removed(service) == [1, 2, 3, 4]
    assert memory["retention"] == {"days": 30, "keep": "memory", "expired_seq": 4}
    assert before == (
        memory | {"retention": before[0]["retention"]},
        await log(service),
        (await service.context("s1"))["payload"],
    )
    assert_problem(await service.client.get("/sessions/s1/messages/m-3"), 410, "message-erased")
    hits = await service.client.post("/sessions/s1/recall", json={"query": SECRET, "kinds": ["messages"]})
    assert hits.json()["hits"] == []


async def test_of_what_is_noted_only_what_is_too_old_is_removed(service: Service) -> None:
    await noted(service, retention=MONTH)
    database: Database = service.app.state.database
    async with database.connection() as connection:
        await connection.execute("UPDATE messages SET ingested_at = ingested_at - interval '31 days' WHERE seq <= 2")
    await after(service, 0)
    assert await removed(service) == [1, 2]


async def test_an_agent_that_sends_all_of_its_messages_again_goes_on_when_some_are_removed(service: Service) -> None:
    await noted(service, retention=MONTH)
    await after(service, 31)
    everything = [{"role": "user", "content": fact, "id": f"m-{n}"} for n, fact in enumerate((*FACTS, "And now?"), 1)]
    answer = await service.client.post("/sessions/s1/messages", json={"messages": everything})
    stored = answer.json()
    assert (answer.status_code, stored["replayed"]) == (201, 5)
    assert [message["seq"] for message in stored["messages"]] == [1, 2, 3, 4, 5, 6]
    assert await removed(service) == [1, 2, 3, 4]
    await service.client.delete("/sessions/s1/messages/m-6")
    assert_problem(
        await service.client.post("/sessions/s1/messages", json={"messages": everything}), 410, "message-erased"
    )


async def test_nothing_that_was_said_is_left_in_the_row_of_a_removed_message(service: Service) -> None:
    await service.configure("s1", keep_last=0, retention=MONTH)
    said = {"role": "user", "name": "ann", "content": SECRET, "metadata": {"said": SECRET}}
    await service.append("s1", said, {"role": "user", "content": FACTS[0]})
    await ask(service, "observe", "s1")
    await after(service, 31)
    database: Database = service.app.state.database
    async with database.connection() as connection:
        row = await connection.fetchrow("SELECT parts, name, metadata, content_hash FROM messages WHERE seq = 1")

    assert tuple(row) == ([], None, None, b"")


@pytest.mark.parametrize(
    ("days", "goes"),
    [(0, False), (29.99, False), (30.01, True), (30_000, True)],
    ids=["now", "before", "after", "long"],
)
async def test_a_message_is_as_old_as_it_is_stored(service: Service, days: float, goes: bool) -> None:
    await service.configure("s1", keep_last=0, retention=MONTH)
    await say(service, FACTS[0], created_at="1999-12-31T00:00:00Z")
    await say(service, FACTS[1])
    await ask(service, "observe")
    await after(service, days)
    assert (await removed(service) == [1]) is goes


@pytest.mark.parametrize(
    ("of_service", "removed_of"),
    [
        (None, {"month"}),
        (MONTH, {"unset", "month"}),
        ({"days": 90}, {"month"}),
    ],
)
async def test_a_session_s_rule_stands_in_the_place_of_the_service_s(
    service: Service, of_service: dict[str, Any] | None, removed_of: set[str]
) -> None:
    for key, rule in {"unset": None, "never": {"days": 0}, "month": MONTH, "quarter": {"days": 90}}.items():
        await noted(service, key, retention=rule)
    await after(service, 31, rule=of_service)
    assert {key for key in ("unset", "never", "month", "quarter") if await removed(service, key)} == removed_of


async def test_what_is_not_observed_stays_however_old_it_is(service: Service) -> None:
    await service.configure("s1", retention=MONTH)
    await say(service, FACTS[0])
    assert await after(service, 1_000) == 0
    assert await removed(service) == []


@pytest.mark.parametrize("keep", ["memory", "nothing"])
async def test_a_session_of_which_nothing_ever_goes_is_not_held_for_it(service: Service, keep: str) -> None:
    await noted(service, retention={"days": 0, "keep": keep})
    assert await after(service, 1_000, rule=MONTH) == 0


async def test_what_was_erased_before_it_is_too_old_was_erased_then(service: Service) -> None:
    await noted(service, retention=MONTH)
    await erase(service, message="m-2")
    await rest(service)
    erased = (await service.get("/sessions/s1/messages"))["items"][1]["erased_at"]
    await after(service, 31)
    assert await removed(service) == [1, 2, 3, 4]
    assert (await service.get("/sessions/s1/messages"))["items"][1]["erased_at"] == erased


async def test_what_the_context_shows_stays_however_old_it_is(service: Service) -> None:
    await noted(service, retention=MONTH, keep_last=3)
    await after(service, 1_000)
    assert await removed(service) == [1, 2]
    assert FACTS[2] in str((await service.context("s1"))["payload"])


async def test_what_a_memory_that_was_switched_off_shows_stays(service: Service) -> None:
    await noted(service, retention=MONTH)
    await service.configure("s1", enabled=False)
    await after(service, 1_000)
    assert FACTS[0] in str((await service.context("s1"))["payload"])


async def test_where_nothing_is_kept_a_session_goes_after_its_days_of_silence(service: Service) -> None:
    for key in ("s1", "s2"):
        await service.configure(key, retention=MONTH | {"keep": "nothing"})
        await say(service, FACTS[0], key)
    await service.configure("s3", retention=MONTH)
    await after(service, 29)
    await service.append("s2", {"role": "user", "content": FACTS[1]})
    assert len((await service.get("/sessions"))["items"]) == 3
    await after(service, 30.0)
    assert len((await service.get("/sessions"))["items"]) == 1
    assert_problem(await service.client.get("/sessions/s1"), 404, "session-not-found")


async def test_where_nothing_is_kept_the_objects_of_a_session_go_with_it(
    start_service: StartService, tmp_path: Path
) -> None:
    async with start_service(recall=SEARCHED_AT_ONCE, artifacts={"url": f"file://{tmp_path}/objects"}) as service:
        await service.configure("s1", retention=MONTH | {"keep": "nothing"})
        assert (await service.client.put("/sessions/s1/artifacts/plan", content=b"first")).status_code == 201
        before = objects_in(tmp_path)
        await after(service, 30.0)
        assert (len(before), objects_in(tmp_path)) == (1, [])


@pytest.mark.parametrize("shared", [False, True])
async def test_a_branch_at_an_early_message_is_silent_since_it_was_made(service: Service, shared: bool) -> None:
    rule = MONTH | {"keep": "nothing"}
    if shared:
        await share(service, "s1", "s2", **RULES, retention=rule)
    else:
        await service.configure("s1", retention=rule)
    for fact in FACTS[:2]:
        await say(service, fact, "s1")
    await grow_old(service, "s1", days=31)
    await say(service, FACTS[2], "s1")
    assert (await service.client.post("/sessions/s1/branch", json={"key": "b", "at_seq": 1})).status_code == 201
    await after(service, 1)
    assert (await service.client.get("/sessions/b")).status_code == 200
    await after(service, 31)
    assert_problem(await service.client.get("/sessions/b"), 404, "session-not-found")


async def test_a_silent_session_leaves_the_memory_that_others_go_on_with(service: Service) -> None:
    await share(service, "s1", "s2", **RULES, retention=MONTH | {"keep": "nothing"})
    for key, fact in (("s1", FACTS[2]), ("s2", FACTS[0])):
        await say(service, fact, key)
        await ask(service, "observe", key)
    await fall_silent(service, "s1", days=31)
    await after(service, 0)
    memory = await rest(service, "s2")
    assert_problem(await service.client.get("/sessions/s1"), 404, "session-not-found")
    assert SECRET not in await log(service, "s2")
    assert FACTS[0] in await log(service, "s2")
    assert cover(memory) == [(1, 1, "observation")]


async def test_the_last_sessions_to_fall_silent_take_the_memory_they_shared_with_them(service: Service) -> None:
    await share(service, "s1", "s2", **RULES, retention=MONTH | {"keep": "nothing"})
    for key in ("s1", "s2"):
        await say(service, FACTS[0], key)
        await ask(service, "observe", key)
    await after(service, 31)
    database: Database = service.app.state.database
    async with database.connection() as connection:
        counts = [await connection.fetchval(f"SELECT count(*) FROM {table}") for table in ("memories", "observations")]  # noqa: S608 - our own tables
    assert counts == [0, 0]
    assert (await service.get("/sessions"))["items"] == []


async def shared_and_removed(service: Service) -> None:
    """Of two that share a memory one has said all its facts, of which the rule has removed all but the last."""
    await share(service, "s1", "s2", **RULES, retention=MONTH)
    for fact in FACTS:
        await say(service, fact, "s1")
    await ask(service, "observe", "s1")
    await after(service, 31)
    assert await removed(service) == [1, 2, 3, 4]


async def test_a_silent_session_stays_in_a_shared_memory_where_the_memory_is_kept(service: Service) -> None:
    await shared_and_removed(service)
    assert FACTS[0] in await log(service, "s2")
    assert len((await service.get("/sessions"))["items"]) == 2


async def test_of_a_session_in_a_shared_memory_only_what_is_left_is_read_for_facts(
    start_service: StartService, models: ModelServer
) -> None:
    async with start_service(provider="openai", recall=SEARCHED_AT_ONCE) as service:
        await shared_and_removed(service)
        await service.client.post("/sessions/s1/end")
        await rest(service, "s1")
    [asked] = models.asked(PromptKind.EXTRACTOR)
    assert re.findall(r"#(\d+)", asked.prompt) == ["5"]


class SpokenMeanwhile(RetainingStore):
    """Between the look and the lock something is said everywhere."""

    async def look(self, *args: Any, **options: Any) -> Lookout:
        found = await super().look(*args, **options)
        async with self._database.connection() as connection:
            await connection.execute("UPDATE sessions SET last_active_at = now() + interval '31 days'")
        return found


async def test_a_session_that_speaks_again_before_it_is_locked_stays(service: Service) -> None:
    await share(service, "s1", "s2", **RULES, retention=MONTH | {"keep": "nothing"})
    await say(service, FACTS[0], "s1")
    await after(service, 31, store=SpokenMeanwhile(service.app.state.database))
    assert len((await service.get("/sessions"))["items"]) == 2


async def test_a_session_that_is_held_keeps_no_other_waiting_and_goes_with_a_later_look(
    service: Service,
) -> None:
    keys = sorted((f"s{number}" for number in range(4)), key=lambda key: session_id("default", key))
    for number, key in enumerate(keys):
        await service.configure(key, retention=MONTH | {"keep": "nothing"})
        await say(service, FACTS[number], key)
    await indexed(service)
    database: Database = service.app.state.database
    async with database.tx() as tx, asyncio.timeout(20):  # a statement of the service waits for 30 seconds
        for key in keys[:2]:
            await tx.execute("SELECT FROM sessions WHERE id = $1 FOR UPDATE", session_id("default", key))
        await after(service, 31)
        left = [listed["session"] for listed in (await service.get("/sessions"))["items"]]
    await after(service, 31)
    assert sorted(left) == sorted(keys[:2])
    assert (await service.get("/sessions"))["items"] == []


async def test_a_transaction_removes_a_batch_at_most_and_a_sweep_goes_on_where_the_last_one_was(
    service: Service,
) -> None:
    keys = [f"s{number}" for number in range(1, 4)]
    for key in keys:
        await noted(service, key, retention=MONTH)
    await indexed(service)
    clock = Hand()
    sweeping = retaining(service, clock=clock, sweep_sessions=1, batch_messages=2)
    clock.later = 31 * DAY
    found = [await sweeping.sweep() for _ in range(7)]
    assert found == [1, 1, 1, 0, 0, 0, 0]
    assert [len(await removed(service, key)) for key in keys] == [4, 4, 4]


async def test_two_at_once_remove_a_message_once(service: Service) -> None:
    await noted(service, retention=MONTH)
    await indexed(service)
    clock = Hand()
    clock.later = 31 * DAY
    one, other = (retaining(service, clock=clock, batch_messages=1) for _ in range(2))
    await one.sweep()
    times = [message["erased_at"] for message in (await service.get("/sessions/s1/messages"))["items"]]
    await other.sweep()
    assert times == [message["erased_at"] for message in (await service.get("/sessions/s1/messages"))["items"]]


async def test_what_was_removed_is_not_observed_again_after_an_erasure(service: Service) -> None:
    await service.configure("s1", keep_last=0, retention=MONTH)
    await observed(service)
    await after(service, 31)
    gone = await removed(service)
    await erase(service, message="m-2")
    memory = await rest(service)
    assert FACTS[0] in await log(service)
    assert cover(memory)[0] == (1, 1, "observation")
    assert cover(memory)[1] == (2, gone[-1], "erased")
    assert FACTS[4][2:-1] in await log(service)


@pytest.mark.parametrize("observe", [True, False])
async def test_a_fact_of_what_was_removed_goes_when_that_is_erased(service: Service, observe: bool) -> None:
    """Also of what no note tells of: the observer was not shown it, or its notes were erased with another message."""
    said = {"id": "m-0", "role": "user", "content": "My code is 4711.", "observe": observe}
    await service.client.post("/sessions/s1/messages", json={"messages": [said], "resource_id": "ana"})
    await noted(service, retention=MONTH)
    fact = {"text": "The code is 4711.", "sources": [{"session": "s1", "cites": [1]}]}
    assert (await service.client.post("/resources/ana/facts", json=fact)).status_code == 201
    await after(service, 31)
    assert 1 in await removed(service)

    receipts = [(await service.client.delete("/sessions/s1/messages/m-0")).json()["rows"]["facts"] for _ in range(2)]

    assert receipts == [1, 0]
    assert (await service.get("/resources/ana/facts"))["items"] == []


@pytest.mark.parametrize("observe", [True, False])
async def test_a_summary_of_what_was_removed_is_emptied_when_that_is_erased(service: Service, observe: bool) -> None:
    """As above: also of what no note tells of."""
    await summed_up_and_removed(service, observe=observe)

    gone = (await service.get("/sessions/s1/messages"))["items"][0]
    receipts = [(await erase(service, message="m-0"))["rows"]["messages"] for _ in range(2)]

    assert receipts == [1 + observe, 0]
    assert (await service.get("/sessions/s1/messages"))["items"][0]["erased_at"] == gone["erased_at"]
    assert "is 8152" not in str((await service.get("/sessions/s1/messages"))["items"])
    assert "is 8152" not in str((await service.context("s1"))["payload"])
    assert (await rest(service))["coverage"]["gaps"] == []


async def test_what_an_emptied_summary_told_beside_what_was_removed_is_observed(service: Service) -> None:
    await service.append("s1", {"id": "m-0", "role": "user", "content": "My code is 8152.", "observe": False})
    await noted(service, retention=MONTH)
    await after(service, 31)
    assert 1 in await removed(service)
    for text in ("My cat is called Tom.", "And now?"):
        await say(service, text)
    told = (await service.get("/sessions/s1/messages"))["items"][-2]
    body = {"up_to_seq": told["seq"], "summary": "The code is 8152."}
    assert (await service.client.post("/sessions/s1/compact", json=body)).status_code == 200
    assert "Tom" not in await log(service)

    receipt = await erase(service, message="m-0")

    await rest(service)
    assert receipt["rebuilding"]
    assert "Tom" in await log(service)


async def test_a_summary_of_what_was_removed_is_emptied_in_a_branch_too(service: Service) -> None:
    await summed_up_and_removed(service, observe=False)
    assert (await service.client.post("/sessions/s1/branch", json={"key": "s2"})).status_code == 201
    receipt = await erase(service, message="m-0")
    assert (receipt["sessions"], receipt["rows"]["messages"]) == (["s1", "s2"], 2)
    assert "is 8152" not in str((await service.get("/sessions/s2/messages"))["items"])


async def test_a_fact_of_the_last_message_that_was_removed_goes_when_that_is_erased(service: Service) -> None:
    said = {"role": "user", "content": "My code is 4711.", "id": "m-0", "observe": False}
    await service.configure("s1", keep_last=0, retention=MONTH)
    body = {"messages": [{"role": "user", "content": FACTS[0]}, said], "resource_id": "ana"}
    await service.client.post("/sessions/s1/messages", json=body)
    await say(service, FACTS[1])
    await ask(service, "observe")
    fact = {"text": "The code is 4711.", "sources": [{"session": "s1", "cites": [2]}]}
    assert (await service.client.post("/resources/ana/facts", json=fact)).status_code == 201
    await after(service, 31)
    assert await removed(service) == [1, 2]
    assert (await erase(service, message="m-0"))["rows"]["facts"] == 1


async def test_what_was_noted_after_it_was_removed_stays_when_it_is_erased(service: Service) -> None:
    said = {"id": "m-0", "role": "user", "content": "My code is 4711.", "observe": False}
    await service.client.post("/sessions/s1/messages", json={"messages": [said], "resource_id": "ana"})
    await noted(service, retention=MONTH)
    await after(service, 31)
    assert 1 in await removed(service)
    await service.client.post("/sessions/s1/end")
    before = await rest(service)
    facts = (await service.get("/resources/ana/facts"))["items"]

    receipt = await erase(service, message="m-0")

    assert facts != []
    assert (set(receipt["rows"].values()), (await rest(service))["log"]) == ({0}, before["log"])
    assert (await service.get("/resources/ana/facts"))["items"] == facts


async def summed_up_and_removed(service: Service, *, observe: bool) -> None:
    """Of ``m-0``, which was removed, a caller's summary tells."""
    await service.append("s1", {"id": "m-0", "role": "user", "content": "My code is 8152.", "observe": observe})
    await noted(service, retention=MONTH)
    summary = {"up_to_seq": 4, "summary": "The code is 8152."}
    assert (await service.client.post("/sessions/s1/compact", json=summary)).status_code == 200
    await say(service, FACTS[0])
    await ask(service, "observe")
    await say(service, FACTS[1])
    await after(service, 31)
    assert 1 in await removed(service)


async def test_nothing_is_removed_of_a_session_that_is_to_be_observed_again(service: Service) -> None:
    await noted(service, retention=MONTH)
    database: Database = service.app.state.database
    async with database.connection() as connection:
        await connection.execute("""UPDATE memories SET rebuilding = '[[2, 3]]', due_at = NULL""")
    await after(service, 31)
    assert await removed(service) == []


async def test_a_branch_of_a_past_moment_observes_nothing_that_was_removed(service: Service) -> None:
    await noted(service, retention=MONTH)
    await after(service, 31)
    answer = await service.client.post("/sessions/s1/branch", json={"key": "s2", "at_seq": 3})
    assert answer.status_code == 201
    assert (await service.memory("s2"))["pending"]["tokens"] == 0
    assert cover(await service.memory("s2")) == [(1, 3, "erased")]


async def test_a_branch_of_a_session_in_a_shared_memory_observes_nothing_that_was_removed(service: Service) -> None:
    await shared_and_removed(service)
    (left,) = (await service.get("/sessions/s1/messages"))["items"][4:]
    assert (await service.client.post("/sessions/s1/branch", json={"key": "s3"})).status_code == 201
    assert (await service.memory("s3"))["pending"]["tokens"] == left["tokens"]
    await ask(service, "observe", "s3")
    assert cover(await service.memory("s3")) == [(1, 4, "erased"), (5, 5, "observation")]


async def test_what_a_branch_goes_on_with_is_removed_though_more_was_of_its_parent(service: Service) -> None:
    await noted(service, retention=MONTH)
    await after(service, 31)
    assert (await service.client.post("/sessions/s1/branch", json={"key": "s2", "at_seq": 2})).status_code == 201
    for fact in FACTS[:2]:
        await say(service, fact, "s2")
    await ask(service, "observe", "s2")
    await after(service, 31)
    assert await removed(service, "s2") == [1, 2, 3]


async def test_what_was_removed_and_is_lost_from_what_a_branch_has_ahead_is_pending_there_no_more(
    start_service: StartService,
) -> None:
    text = " ".join(f"I paid invoice {number} for Rex in Lisbon." for number in range(14))
    async with start_service(memory=AHEAD | {"keep_last": 0}, recall=SEARCHED_AT_ONCE) as service:
        for number in range(6):
            await service.append("s1", {"role": "user", "content": text, "id": f"m-{number}"}, wait_ms=50_000)
        await ask(service, "observe")
        await after(service, 31, rule=MONTH)
        branched = await service.client.post("/sessions/s1/branch", json={"key": "s2", "at_seq": 4})
        assert branched.status_code == 201
        assert (await service.memory("s2"))["buffered"]["observations"] > 1
        await erase(service, message="m-0", key="s2")
        assert (await service.memory("s2"))["pending"]["tokens"] == 0
        assert cover(await rest(service, key="s2")) == [(1, 4, "erased")]


async def test_a_summary_stays_while_the_tail_begins_with_it(service: Service) -> None:
    await noted(service, retention=MONTH)
    await service.client.post("/sessions/s1/compact", json={"up_to_seq": 4, "summary": "We met."})
    await say(service, FACTS[0])
    await ask(service, "observe")
    await say(service, FACTS[1])
    await after(service, 31)
    assert "We met." in str((await service.context("s1"))["payload"])
    await service.client.post("/sessions/s1/compact", json={"up_to_seq": 7, "summary": "We met again."})
    await ask(service, "observe")
    await say(service, FACTS[2])
    await after(service, 32)
    assert 6 in await removed(service)
    assert "We met again." in str((await service.context("s1"))["payload"])


async def test_what_was_refused_goes_with_what_it_was_made_of(service: Service) -> None:
    await noted(service, retention=MONTH)
    database: Database = service.app.state.database
    async with database.connection() as connection:
        await connection.execute(f"UPDATE runs SET rejected_output = '{SECRET}', error = 'failed: {SECRET}'")  # noqa: S608 - our own word
    await after(service, 31)
    runs = (await service.get("/sessions/s1/memory/runs"))["items"]
    assert {(run["rejected_output"], run["error"]) for run in runs} == {(None, "failed")}


async def refuse(service: Service, of: str) -> None:
    """Something was refused that quotes what was said, of the runs for which this is true, and not before today."""
    run = f"rejected_output = '{SECRET}', error = 'failed: {SECRET}', at = now() + interval '31 days'"
    error = "last_error = jsonb_build_object('step', 'observe', 'kind', 'failed', 'message', error, 'at', at)"
    database: Database = service.app.state.database
    async with database.connection() as connection:
        await connection.execute(f"UPDATE runs SET {run} WHERE {of}")  # noqa: S608 - our own words
        await connection.execute(f"UPDATE memories SET {error} FROM runs WHERE memory_id = memories.id AND {of}")  # noqa: S608


async def quoting(service: Service) -> list[int | None]:
    """Of each refused output that is left from which message on it was made; of notes it is made of none."""
    runs = (await service.get("/sessions/s1/memory/runs"))["items"]
    left = [run for run in runs if run["rejected_output"] is not None]
    assert [run for run in runs if SECRET in (run["error"] or "")] == left
    return [run["from_seq"] for run in left]


async def test_what_was_refused_later_goes_with_the_messages_it_was_made_of(service: Service) -> None:
    await noted(service, retention=MONTH)
    await say(service, FACTS[0])
    await ask(service, "observe")
    await refuse(service, "true")
    assert await quoting(service) == [6, 1]
    await after(service, 31)
    assert await removed(service) == [1, 2, 3, 4, 5]
    assert await quoting(service) == [6]


async def test_an_error_that_quotes_what_was_said_goes_with_it_and_its_kind_stays(service: Service) -> None:
    await noted(service, retention=MONTH)
    await refuse(service, "true")
    await after(service, 31)
    error = (await service.memory("s1"))["last_error"]
    assert (error["kind"], error["message"]) == ("failed", "")


async def test_what_was_refused_of_the_notes_goes_with_the_first_messages_that_go(service: Service) -> None:
    await noted(service, retention=MONTH)
    await ask(service, "reflect")
    await refuse(service, "kind = 'reflect'")
    assert await quoting(service) == [None]
    await after(service, 31)
    assert await quoting(service) == []


async def test_in_a_shared_memory_what_was_refused_of_another_session_s_messages_stays(service: Service) -> None:
    await share(service, "s1", "s2", **RULES, retention=MONTH)
    for key in ("s1", "s2"):
        await say(service, FACTS[0], key)
        await say(service, FACTS[1], key)
        await ask(service, "observe", key)
    await refuse(service, "true")
    database: Database = service.app.state.database
    async with database.connection() as connection:
        await connection.execute(
            "UPDATE messages SET ingested_at = ingested_at + interval '9 days' WHERE session_id = $1",
            session_id("default", "s2"),
        )
    await after(service, 31)
    async with database.connection() as connection:
        left = await connection.fetch("SELECT session_id FROM runs WHERE rejected_output IS NOT NULL")
    assert (len(await removed(service, "s1")), await removed(service, "s2")) == (1, [])
    assert {row["session_id"] for row in left} == {session_id("default", "s2")}


async def test_the_service_sweeps_by_itself_and_tells_of_it(start_service: StartService) -> None:
    moment = 0.000_001
    async with start_service(retention={"sweep_seconds": 0.05}, events={"poll_seconds": 0.05}) as service:
        await noted(service)
        await say(service, FACTS[0], "s2")
        async with listening(service) as stream:
            await service.configure("s1", retention={"days": moment})
            heard = await heard_until(stream, "expired")
        await service.configure("s2", retention={"days": moment, "keep": "nothing"})
        await until(lambda: _status(service, "/sessions/s2"), (404).__eq__)
        counted = await samples(service)
    assert heard[-1][2]["to_seq"] == 4
    assert total(counted, "expired_total", what="messages") == 5
    assert total(counted, "expired_total", what="sessions") == 1


async def _status(service: Service, path: str) -> int:
    return (await service.client.get(path)).status_code
