"""Facts over HTTP (api.md, Sessions; docs/facts.md)."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import combinations
from typing import Any

import asyncpg
import httpx2 as httpx
import pytest

from app.facts import writing_store
from app.facts.model import Fact
from app.facts.store import FactStore
from app.sessions.store import session_id
from tests.conftest import Service, StartService
from tests.facts.noted import FACTS, texts
from tests.journeys.looks import until
from tests.test_problems import assert_problem

FACTS_MAX = 1_000
MANY_FACTS = f"""
INSERT INTO facts (tenant, resource_id, text, category, trust, author, valid_from)
SELECT tenant, resource_id, text || number, category, trust, author, valid_from
FROM facts, generate_series(2, {FACTS_MAX}) AS number
"""  # noqa: S608 - our own number
MARCH, MAY, JULY = (f"2026-{month}-01T00:00:00Z" for month in ("03", "05", "07"))


async def note(service: Service, text: str = "User likes tea.", **fields: Any) -> dict[str, Any]:
    answer = await post(service, text, **fields)
    assert answer.status_code == 201, answer.text
    fact: dict[str, Any] = answer.json()
    return fact


async def post(service: Service, text: str = "User likes tea.", **fields: Any) -> httpx.Response:
    return await service.client.post(FACTS, json={"text": text, "category": "preference"} | fields)


async def say(service: Service, *ids: str, key: str = "s1", resource: str | None = "ana") -> None:
    said = [{"id": one, "role": "user", "content": f"This is {one}."} for one in ids]
    answer = await service.client.post(f"/sessions/{key}/messages", json={"messages": said, "resource_id": resource})
    assert answer.status_code == 201


def citing(*cites: int, key: str = "s1") -> dict[str, Any]:
    return {"session": key, "cites": list(cites)}


async def test_a_resource_begins_without_facts(service: Service) -> None:
    assert await service.get(FACTS) == {"items": [], "next_cursor": None}
    assert (await service.client.delete(FACTS)).json() == {"resource_id": "ana", "deleted": 0}
    assert_problem(await service.client.get(f"{FACTS}/1"), 404, "fact-not-found")
    assert_problem(await service.client.patch(f"{FACTS}/1", json={"text": "x"}), 404, "fact-not-found")


async def test_a_fact_is_of_the_users_profile_unless_it_is_told_of_what_else(service: Service) -> None:
    noted = (await service.client.post(FACTS, json={"text": "User lives in Lisbon."})).json()
    assert noted["category"] == "profile"


async def test_a_fact_is_noted_read_corrected_and_deleted(service: Service) -> None:
    fact = await note(service, valid_from=MARCH)
    path = f"{FACTS}/{fact['id']}"
    assert (fact["author"], fact["trust"], fact["sources"]) == ("caller", "operator", [])
    assert await service.get(path) == fact
    for nothing in ({}, {"text": "User likes tea.", "category": None}):
        assert (await service.client.patch(path, json=nothing)).json() == fact
    corrected = (await service.client.patch(path, json={"text": "User likes green tea."})).json()
    assert corrected == fact | {"text": "User likes green tea.", "updated_at": corrected["updated_at"]}
    assert (await service.client.delete(path)).json()["deleted"] == 1
    assert (await service.client.delete(path)).json()["deleted"] == 0
    assert await texts(service) == []


async def test_the_same_words_are_noted_once_while_they_are_true(service: Service) -> None:
    first = await note(service)
    again = await post(service)
    assert (again.status_code, again.json()) == (200, first)
    await service.client.patch(f"{FACTS}/{first['id']}", json={"valid_to": "2100-01-01T00:00:00Z"})
    await note(service)


async def test_what_is_known_rests_on_what_is_cited_later_too(service: Service) -> None:
    await say(service, "m-1", "m-2")
    fact = await note(service, sources=[citing(1)])
    again = await post(service, sources=[citing(2), citing(1)])
    assert (again.status_code, again.json()["id"]) == (200, fact["id"])
    assert [source["cites"] for source in again.json()["sources"]] == [[1], [2]]
    assert (await post(service, sources=[citing(2)])).json() == again.json()

    assert (await service.client.delete("/sessions/s1/messages/m-2")).status_code == 200
    assert await texts(service) == []


async def test_a_strangers_word_is_never_a_source_of_the_users_in_the_same_words(service: Service) -> None:
    await say(service, "m-1")
    await say(service, "m-1", key="s2")
    users = await note(service, category="insight", trust="user", sources=[citing(1)])
    for trust in ("tool", "external"):
        told = await post(service, category="insight", trust=trust, sources=[citing(1, key="s2")])
        assert (told.status_code, told.json()["trust"]) == ((201, "tool") if trust == "tool" else (200, "tool"))
    await service.client.delete("/sessions/s2")
    assert (await service.get(FACTS))["items"] == [users]


async def test_the_operators_word_takes_the_place_of_a_tools_in_the_same_words(service: Service) -> None:
    tools = await note(service, category="insight", trust="tool")
    own = await note(service, category="insight")
    assert (await post(service, category="insight")).json() == own
    [past, now] = (await service.get(FACTS, validity="all"))["items"]
    assert (past["id"], past["replaced_by"], now) == (tools["id"], own["id"], own)
    await note(service, category="insight", trust="tool")
    assert (await service.get(FACTS))["items"][0] == own
    await service.client.delete(f"{FACTS}/{own['id']}")
    assert (await service.get(FACTS))["items"][0]["id"] == tools["id"]


async def test_what_lasts_until_a_day_by_a_tools_word_stands_beside_the_operators(service: Service) -> None:
    until = {"category": "insight", "valid_from": MARCH, "valid_to": "2100-01-01T00:00:00Z"}
    tools = await note(service, trust="tool", **until)
    own = await note(service, **until)
    assert (await service.get(FACTS))["items"] == [tools, own]


async def test_a_tools_word_that_holds_from_later_on_ends_when_it_begins(service: Service) -> None:
    tools = await note(service, trust="tool", category="insight", valid_from=JULY)
    own = await note(service, category="insight", valid_from=MARCH)
    ended = await service.get(f"{FACTS}/{tools['id']}")
    assert (ended["valid_from"], ended["valid_to"], ended["replaced_by"]) == (JULY, JULY, own["id"])


async def test_a_fact_rests_on_so_many_sources_however_they_come(service: Service) -> None:
    await say(service, *(f"m-{number}" for number in range(1, 22)))
    fact = await note(service, sources=[citing(seq) for seq in range(1, 21)])
    assert_problem(await post(service, sources=[citing(21)]), 422, "invalid")
    assert (await post(service, sources=[citing(20)])).json() == fact


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "\u3000"])
async def test_blanks_are_no_fact(service: Service, text: str) -> None:
    assert_problem(await post(service, text), 422, "invalid")
    fact = await note(service, " User\nlikes tea. ")
    assert_problem(await service.client.patch(f"{FACTS}/{fact['id']}", json={"text": text}), 422, "invalid")


async def test_two_that_note_the_same_at_once_note_it_once(service: Service) -> None:
    answers = await asyncio.gather(*(post(service) for _ in range(6)))
    assert sorted(answer.status_code for answer in answers) == [200] * 5 + [201]


async def calls(work: Callable[[], Awaitable[Any]]) -> tuple[Any, int]:
    """Its answer, and how many calls of Python it took in this thread, which has the event loop."""
    made = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal made
        made += event == "call"

    sys.setprofile(count)
    try:
        return await work(), made
    finally:
        sys.setprofile(None)


async def test_all_facts_of_a_resource_are_read_beside_the_event_loop(service: Service, database_url: str) -> None:
    await note(service)
    connection = await asyncpg.connect(database_url)
    await connection.execute(MANY_FACTS)
    await connection.close()
    store = FactStore(service.app.state.database)

    async def locked() -> list[Fact]:
        async with service.app.state.database.tx() as tx:
            return await writing_store.locked(tx, "default", "ana")

    for work in (partial(store.all, "default", "ana"), locked):
        await work()
        found, made = await calls(work)
        assert len(found) == FACTS_MAX
        assert made < 3 * FACTS_MAX  # the driver reads the JSON of each


async def test_what_one_fact_becomes_takes_no_other(service: Service, database_url: str) -> None:
    noted = await note(service)
    connection = await asyncpg.connect(database_url)
    await connection.execute(MANY_FACTS)
    await connection.close()
    known, changed = f"{FACTS}/{noted['id']}", {"text": "User likes coffee."}

    for work in (partial(post, service), partial(service.client.patch, known, json=changed)):
        await work()
        answer, made = await calls(work)
        assert answer.status_code == 200
        assert made < 4 * FACTS_MAX  # the request itself is most of it


async def test_who_cites_two_sessions_takes_them_in_the_order_in_which_all_do(
    service: Service, database_url: str
) -> None:
    """By their ids, whatever their keys: else one that deletes the resource, and holds the other, is in a deadlock."""
    pairs = combinations([f"s{number}" for number in range(1, 10)], 2)
    later, earlier = next(pair for pair in pairs if session_id("default", pair[0]) > session_id("default", pair[1]))
    for key in (later, earlier):
        await say(service, "m-1", key=key)
    deleting, looking = await asyncpg.connect(database_url), await asyncpg.connect(database_url)
    locking = "SELECT id FROM sessions WHERE id = $1 FOR UPDATE NOWAIT"
    waiting = "SELECT true FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    async with deleting.transaction():
        await deleting.execute(locking, session_id("default", earlier))
        noting = asyncio.create_task(post(service, sources=[citing(1, key=later), citing(1, key=earlier)]))
        await until(partial(looking.fetchval, waiting), bool)
        await deleting.execute(locking, session_id("default", later))
    assert (await noting).status_code == 201
    for connection in (deleting, looking):
        await connection.close()


async def test_facts_are_listed_by_category_and_by_when_they_are_true(service: Service) -> None:
    await note(service, "A", category="profile", valid_from=MARCH, valid_to=MAY)
    await note(service, "B", category="profile", valid_from=MAY)
    await note(service, "C", category="insight", valid_from="2100-01-01T00:00:00Z")
    cases: list[tuple[dict[str, str], list[str]]] = [
        ({}, ["B"]),
        ({"validity": "past"}, ["A"]),
        ({"validity": "all"}, ["A", "B", "C"]),
        ({"validity": "all", "category": "insight"}, ["C"]),
        ({"category": "insight"}, []),
        ({"at": MARCH}, ["A"]),
        ({"at": MAY}, ["B"]),
        ({"at": MAY, "validity": "past"}, ["A"]),
        ({"at": MARCH, "validity": "past"}, []),
    ]
    for parameters, expected in cases:
        assert await texts(service, **parameters) == expected, parameters


async def test_facts_are_paged(service: Service) -> None:
    for number in range(5):
        await note(service, f"Fact {number}.")
    pages: list[list[str]] = []
    cursor = None
    while cursor or not pages:
        page = await service.get(FACTS, limit=2, **({"cursor": cursor} if cursor else {}))
        pages.append([fact["text"] for fact in page["items"]])
        cursor = page["next_cursor"]
    assert pages == [["Fact 0.", "Fact 1."], ["Fact 2.", "Fact 3."], ["Fact 4."]]


async def test_a_fact_ends_when_the_caller_says_and_lasts_again(service: Service) -> None:
    fact = await note(service, valid_from=MARCH)
    path = f"{FACTS}/{fact['id']}"
    ended = (await service.client.patch(path, json={"valid_to": MAY})).json()
    assert (ended["valid_to"], await texts(service)) == (MAY, [])
    again = (await service.client.patch(path, json={"valid_to": None, "text": None})).json()
    assert (again["valid_to"], again["text"]) == (None, fact["text"])


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"text": ""}, "/text"),
        ({"text": "\x00"}, "/text"),
        ({"category": "hobby"}, "/category"),
        ({"trust": "tool"}, "/category"),
        ({"trust": "external", "category": "decision"}, "/category"),
        ({"trust": "external", "category": "profile"}, "/category"),
        ({"valid_from": JULY, "valid_to": MAY}, "/valid_to"),
        ({"valid_from": 5}, "/valid_from"),
        ({"sources": [citing(1, key="never")]}, "/sources/0/cites"),
        ({"sources": [citing(1), citing(1, 9)]}, "/sources/1/cites"),
        ({"sources": [citing(1, key="other")]}, "/sources/0/cites"),
        ({"sources": [citing()]}, "/sources/0/cites"),
        ({"sources": [{"session": "s1", "cites": [True]}]}, "/sources/0/cites/0"),
        ({"sourcs": []}, "/sourcs"),
    ],
)
async def test_what_is_no_fact_is_refused_where_it_is_wrong(
    service: Service, body: dict[str, Any], pointer: str
) -> None:
    await say(service, "m-1")
    await say(service, "m-1", key="other", resource="boris")
    refused = assert_problem(await post(service, **({"text": "User likes tea."} | body)), 422, "invalid")
    assert [error["pointer"] for error in refused["errors"]] == [pointer]
    assert await texts(service, validity="all") == []


async def test_a_tool_s_word_becomes_no_preference_by_a_correction(service: Service) -> None:
    fact = await note(service, category="insight", trust="tool")
    answer = await service.client.patch(f"{FACTS}/{fact['id']}", json={"category": "preference"})
    assert_problem(answer, 422, "invalid")


async def test_the_limits_of_facts_can_be_set(start_service: StartService) -> None:
    async with start_service(facts={"facts_max": 2, "text_characters_max": 10}) as service:
        await note(service, "x" * 10)
        await note(service, "y", valid_from=MARCH, valid_to=MAY)
        full = assert_problem(await post(service, "z"), 413, "too-many-facts")
        large = assert_problem(await post(service, "x" * 11), 413, "fact-too-large")
        assert (await post(service, "x" * 10)).status_code == 200
    assert "DAYBOOK_FACTS__FACTS_MAX" in full["detail"]
    assert "DAYBOOK_FACTS__TEXT_CHARACTERS_MAX" in large["detail"]


async def test_a_fact_goes_with_a_message_that_it_cites_and_with_no_other(service: Service) -> None:
    await say(service, "m-1", "m-2", "m-3")
    for cites in ([1], [2], [1, 3], [3]):
        await note(service, f"From {cites}.", sources=[citing(*cites)])
    receipt = (await service.client.delete("/sessions/s1/messages/m-3")).json()
    again = (await service.client.delete("/sessions/s1/messages/m-3")).json()
    assert await texts(service) == ["From [1].", "From [2]."]
    assert (receipt["rows"]["facts"], again["rows"]["facts"]) == (2, 0)
    assert_problem(await post(service, sources=[citing(3)]), 422, "invalid")


async def test_a_fact_goes_with_a_session_that_it_cites(service: Service) -> None:
    await say(service, "m-1")
    await say(service, "m-1", key="s2")
    for text, sources in (("A", [citing(1)]), ("B", [citing(1), citing(1, key="s2")]), ("C", [])):
        await note(service, text, sources=sources)
    receipt = (await service.client.delete("/sessions/s1")).json()
    assert (receipt["rows"]["facts"], await texts(service)) == (2, ["C"])


async def test_facts_go_with_their_resource_and_stay_with_others(service: Service) -> None:
    await note(service)
    other = {"text": "Boris likes tea.", "category": "preference"}
    await service.client.post("/resources/boris/facts", json=other)
    assert (await service.client.delete("/resources/ana")).json()["rows"]["facts"] == 1
    assert await texts(service, validity="all") == []
    assert len((await service.get("/resources/boris/facts"))["items"]) == 1
