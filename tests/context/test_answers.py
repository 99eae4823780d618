"""Contexts that are kept: answered again only as long as they are what would be compiled."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import asyncpg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.context.answers import NOTHING, Answers, Kept, Names, asked, kept_of
from app.context.compile import compile_context
from app.context.previous import PreviousCalls
from app.context.schemas import ContextIn, ContextQuery
from app.context.store import MARK_NOW, Budgets, ContextStore
from app.sessions.store import session_id
from app.state.templates import Scope
from tests.conftest import Service, StartService
from tests.context.building import NOW, ask, log_of, snapshot, user
from tests.memory.changing.test_retaining import after

EXAMPLES = 200 if "LONG" in os.environ else 3
SESSION = uuid4()
WAIT = {"wait_ms": 50_000}
BUDGETS = Budgets(presets={}, service=45_000, enabled=True)
NAMES: Names = {scope: {} for scope in Scope}

Write = Callable[[Service, str, int], Awaitable[None]]


async def say(service: Service, key: str, number: int) -> None:
    role = ("user", "assistant")[number % 2]
    await service.append(key, {"role": role, "content": f"{number}: the invoice is paid. " * (1 + number % 7)})


async def change(service: Service, key: str, number: int) -> None:
    """Another message in the place of one: as long as it was, or not."""
    listed = await service.get(f"/sessions/{key}/messages", order="desc", limit=1 + number % 3)
    path = f"/sessions/{key}/messages/{listed['items'][-1]['id']}" if listed["items"] else ""
    if path:
        await service.client.put(path, json={"role": "user", "content": f"changed to {number}"})


async def erase(service: Service, key: str, number: int) -> None:
    listed = await service.get(f"/sessions/{key}/messages")
    if listed["items"]:
        await service.client.delete(f"/sessions/{key}/messages/{listed['items'][number % len(listed['items'])]['id']}")


async def observe(service: Service, key: str, _number: int) -> None:
    await service.observe(key)


async def reflect(service: Service, key: str, _number: int) -> None:
    await service.reflect(key)


async def edit(service: Service, key: str, number: int) -> None:
    for found in (await service.get(f"/sessions/{key}/memory/observations"))["items"][:1]:
        path = f"/sessions/{key}/memory/observations/{found['id']}"
        if number % 2:
            await service.client.delete(path)
        else:
            await service.client.patch(path, json={"text": f"* 🔴 (10:00) User was edited: {number}."})


async def configure(service: Service, key: str, number: int) -> None:
    zones = ("UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago")  # 25 hours apart: never one day
    changes: tuple[dict[str, Any], ...] = (
        {"enabled": bool(number % 2)},
        {"timezone": zones[number % 3]},
        {"message_budget": 20 + number},
        {"keep_last": number % 4},
    )
    await service.configure(key, **changes[number % len(changes)])


async def set_state(service: Service, key: str, number: int) -> None:
    values = {"x": {"n": number}, "app:y": f"everyone's {number}"} if number % 3 else {"x": None}
    await service.client.patch(f"/sessions/{key}/state", json=values)


async def put_artifact(service: Service, key: str, number: int) -> None:
    text = {"content-type": "text/plain"}
    await service.client.put(f"/sessions/{key}/artifacts/a", content=f"text {number}".encode(), headers=text)


async def compact(service: Service, key: str, number: int) -> None:
    await service.client.post(f"/sessions/{key}/compact", json={"up_to_seq": 1 + number % 4, "summary": f"So {number}"})


async def note(service: Service, key: str, number: int) -> None:
    """A fact of the session's resource, which has the session's name, or a change of one."""
    path = f"/resources/{key}/facts"
    facts = (await service.get(path))["items"]
    if facts and number % 2:
        await service.client.delete(f"{path}/{facts[number % len(facts)]['id']}")
    elif facts and number % 3:
        changes = ({"text": f"Changed to {number}."}, {"valid_to": "2100-01-01T00:00:00Z"})
        await service.client.patch(f"{path}/{facts[number % len(facts)]['id']}", json=changes[number % 4 // 2])
    else:
        await service.client.post(path, json={"text": f"User is number {number}.", "category": "profile"})


async def expire(service: Service, key: str, number: int) -> None:
    """What was noted, or all of the session, is removed by age; of all of it another begins, for what comes next."""
    kept = ("memory", "nothing")[number % 2]
    await service.configure(key, keep_last=0, retention={"days": 30, "keep": kept})
    await observe(service, key, number)
    await after(service, 31)
    if kept == "nothing":
        await begin(service, key)


async def delete(service: Service, key: str, _number: int) -> None:
    await service.client.delete(f"/sessions/{key}")
    await begin(service, key)


async def begin(service: Service, key: str) -> None:
    await service.client.put(f"/sessions/{key}", json={"resource_id": key})
    await say(service, key, 0)


WRITES: tuple[Write, ...] = (
    *(say, say, say, change, erase, observe, observe, reflect, edit),
    *(configure, set_state, put_artifact, compact, note, note, expire, delete),
)
QUERIES = st.fixed_dictionaries(
    {},
    optional={
        "format": st.sampled_from(["neutral", "anthropic", "openai", "openai-responses", "gemini", "text"]),
        "message_budget": st.sampled_from([0, 25, 60]),
        "memory_budget": st.sampled_from([0, 40]),
        "max_observations": st.sampled_from([0, 1]),
        "max_reflections": st.sampled_from([0, 1]),
        "explain": st.sampled_from(["true", "false"]),
        "now": st.sampled_from(["2026-08-01T10:00:00Z", "2026-08-01T22:00:00Z", "2031-01-01T00:00:00+09:00"]),
        "min_seq": st.just(1),
        "query": st.just("invoice"),
        "as_of_seq": st.just(1),
    },
)
BODIES: tuple[dict[str, Any] | None, ...] = (
    None,
    {},
    {"system": ["You help."], "channel": "mail"},
    {"system": ["Of {x.n?}, {app:y|nobody} and {temp:z}."], "state": {"temp:z": [1, 2]}},
    {"system": ["With {artifact.a?}"], "knowledge": [{"title": "T", "text": "K"}]},
    {"incoming": [{"role": "user", "content": "And now?"}]},
    {"now": "2030-01-01T00:00:00Z"},
)
STEPS = st.lists(st.tuples(st.integers(0, 1), st.sampled_from(WRITES), st.integers(0, 40)), min_size=3, max_size=6)
QUESTIONS = st.lists(st.tuples(QUERIES, st.sampled_from(BODIES)), min_size=1, max_size=2)


async def told(service: Service, key: str, query: dict[str, Any], body: dict[str, Any] | None) -> tuple[Any, ...]:
    path = f"/sessions/{key}/context"
    if body is None:
        answer = await service.client.get(path, params=query)
    else:
        answer = await service.client.post(path, params=query, json=body)
    return answer.status_code, answer.headers.get("etag"), answer.json() if answer.status_code >= 400 else answer.text


@pytest.fixture
async def pair(start_service: StartService) -> AsyncIterator[tuple[Service, Service]]:
    """Two processes on one database, of which the second keeps nothing. Neither knows the other's calls."""
    keeping, compiling = {"previous_pieces_max": 0}, {"previous_pieces_max": 0, "answers_bytes_max": 0}
    async with start_service(context=keeping) as one, start_service(context=compiling) as other:
        yield one, other


@settings(max_examples=EXAMPLES)
@given(steps=STEPS, questions=QUESTIONS)
async def test_what_is_kept_is_what_would_be_compiled_whatever_happens_in_either_process(
    pair: tuple[Service, Service],
    steps: list[tuple[int, Write, int]],
    questions: list[tuple[dict[str, Any], dict[str, Any] | None]],
) -> None:
    keeping, compiling = pair
    key = f"s-{uuid4().hex}"
    for number in (0, 6, 12):
        await keeping.client.post(f"/resources/{key}/facts", json={"text": f"Fact {number}.", "category": "profile"})
    await begin(keeping, key)
    for where, write, number in steps:
        await write(pair[where], key, number)
        await keeping.client.get(f"/sessions/{key}/context", params=WAIT)  # until nothing is at work any more
        for query, body in questions * 2:
            assert await told(keeping, key, query, body) == await told(compiling, key, query, body)


@pytest.mark.parametrize("write", [say, change, erase, observe, delete])
async def test_what_is_kept_in_a_shared_memory_is_what_would_be_compiled_whatever_another_session_does(
    pair: tuple[Service, Service], write: Write
) -> None:
    keeping, compiling = pair
    shared = {"resource_id": "ana", "config": {"scope": "resource"}}
    for key in ("monday", "tuesday"):
        await keeping.client.put(f"/sessions/{key}", json=shared)
        await say(keeping, key, 0)
    before = await told(keeping, "monday", {}, None)
    await write(keeping, "tuesday", 0)
    await keeping.client.get("/sessions/monday/context", params=WAIT)
    after = await told(keeping, "monday", {}, None)
    assert before != after == await told(compiling, "monday", {}, None)


async def test_what_is_kept_is_told_on_its_day_alone(pair: tuple[Service, Service]) -> None:
    keeping, compiling = pair
    await say(keeping, "s1", 0)
    await observe(keeping, "s1", 0)
    answers = []
    for day in ("2030-01-01", "2030-01-02"):
        query = {"now": f"{day}T10:00:00Z"}
        answers.append(await told(keeping, "s1", query, None))
        assert answers[-1] == await told(compiling, "s1", query, None)
    assert answers[0] != answers[1]


async def test_an_unchanged_session_is_not_read_again(service: Service) -> None:
    await service.append("s1", {"role": "user", "content": "hello"})
    first = await service.client.get("/sessions/s1/context")
    store = ContextStore(service.app.state.database)
    found = await store.snapshot(session_id("default", "s1"), BUDGETS)
    assert found
    mark = found[-1]["head"]["mark"]
    assert await store.snapshot(session_id("default", "s1"), BUDGETS, known=mark) is None
    assert await store.snapshot(uuid4(), BUDGETS, known=mark) == []
    for _ in range(3):  # the third is expected to be the same, and only asked for
        again = await service.client.get("/sessions/s1/context")
        assert (again.headers["etag"], again.json()["payload"]) == (first.headers["etag"], first.json()["payload"])


@pytest.mark.parametrize("names", [(), ("x", "app:y")])
async def test_a_mark_holds_until_something_is_written(service: Service, names: tuple[str, ...]) -> None:
    await begin(service, "s1")
    session, store = session_id("default", "s1"), ContextStore(service.app.state.database, facts_max=5)
    for write in (say, note, set_state, configure):
        await service.client.get("/sessions/s1/context", params=WAIT)  # until nothing is at work any more
        found = await store.snapshot(session, BUDGETS, names)
        assert found
        mark = found[-1]["head"]["mark"]
        assert await store.holds(session, mark, names)
        assert not await store.holds(uuid4(), mark, names)
        await write(service, "s1", 7)
        assert await store.holds(session, mark, names) is (write is set_state and not names)


async def test_a_mark_tells_of_facts_that_are_written_together(service: Service, database_url: str) -> None:
    for number in (0, 6):
        await note(service, "s1", number)
    await begin(service, "s1")
    await service.client.get("/sessions/s1/context", params=WAIT)
    store, connection = ContextStore(service.app.state.database, facts_max=5), await asyncpg.connect(database_url)
    marks = []
    for _ in range(2):
        assert await connection.execute("UPDATE facts SET worth = worth") == "UPDATE 2"
        found = await store.snapshot(session_id("default", "s1"), BUDGETS)
        assert found
        marks.append(found[-1]["head"]["mark"])
    await connection.close()
    assert marks[0] != marks[1]


async def test_a_mark_tells_of_another_time_that_the_same_transaction_wrote(
    service: Service, database_url: str
) -> None:
    """Of a restored database the transactions have the numbers of those that were lost."""
    await begin(service, "s1")
    await service.client.get("/sessions/s1/context", params=WAIT)
    connection, marks = await asyncpg.connect(database_url), []
    async with connection.transaction():
        for days in (1, 2):
            await connection.execute("UPDATE sessions SET last_active_at = now() + make_interval(days => $1)", days)
            marks.append(await connection.fetchval(MARK_NOW, session_id("default", "s1"), 5))
    await connection.close()
    assert marks[0] != marks[1]


def kept(turns: int = 1, *, key: str = "s1") -> Kept:
    seen = replace(snapshot(log_of(*(user(f"turn {n}") for n in range(turns)))), key=key, mark="1/2")
    return kept_of(seen, compile_context(seen, ask()), ContextQuery(), names=NAMES, now=NOW)


def answers(bytes_max: int) -> Answers:
    return Answers(PreviousCalls(pieces_max=1_000_000), bytes_max=bytes_max)


@pytest.mark.parametrize(("room", "left"), [(0.0, []), (0.99, []), (1.0, [2]), (2.99, [1, 2]), (3.0, [0, 1, 2])])
def test_contexts_asked_for_longest_ago_give_way(room: float, left: list[int]) -> None:
    one = kept()
    some = answers(round(room * one.bytes))
    for question in range(3):
        some.put(question, one)
    assert [question for question in range(3) if some.get(question)] == left


def test_one_that_is_asked_for_stays() -> None:
    one = kept()
    some = answers(2 * one.bytes)
    some.put("a", one)
    some.put("b", one)
    some.get("a")
    some.put("c", one)
    assert [question for question in "abc" if some.get(question)] == ["a", "c"]


def test_a_newer_one_takes_the_place_of_the_older_and_no_more_room() -> None:
    one, longer = kept(), kept(20)
    some = answers(longer.bytes)
    for new in (one, longer, one, longer):
        some.put("a", new)
    assert some.get("a") is longer


@pytest.mark.parametrize(
    ("zone", "holds"), [("UTC", True), ("Pacific/Kiritimati", True), ("America/New_York", True), ("Asia/Seoul", False)]
)
def test_a_day_is_that_of_the_session(zone: str, holds: bool) -> None:
    at = datetime(2026, 11, 21, 13, 0, tzinfo=UTC)
    here = replace(kept(), zone=ZoneInfo(zone), day=at.astimezone(ZoneInfo(zone)).date())
    assert here.holds_at(at.replace(hour=16)) is holds


@pytest.mark.parametrize(
    ("query", "body"),
    [
        (ContextQuery(as_of_seq=1), NOTHING),
        (ContextQuery(as_of_version=0), NOTHING),
        (ContextQuery(query="x"), NOTHING),
        (ContextQuery(), ContextIn.model_validate({"incoming": [{"role": "user", "content": "x"}]})),
    ],
)
def test_what_is_good_for_once_is_not_kept(query: ContextQuery, body: ContextIn) -> None:
    assert asked(SESSION, query, body) is None


def test_an_answer_depends_on_every_parameter_but_when_to_answer() -> None:
    values: dict[str, Any] = {
        "format": "text",
        "memory_budget": 1,
        "message_budget": 1,
        "max_reflections": 1,
        "max_observations": 1,
        "breakpoints": False,
        "explain": True,
        "now": NOW,
        "min_seq": 1,
        "wait_ms": 1,
    }
    once = {"query", "as_of_version", "as_of_seq"}
    assert values.keys() | once == ContextQuery.model_fields.keys()
    plain = asked(SESSION, ContextQuery(), NOTHING)
    same = {name for name, value in values.items() if asked(SESSION, ContextQuery(**{name: value}), NOTHING) == plain}
    assert same == {"min_seq", "wait_ms"}
