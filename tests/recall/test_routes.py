"""Recall over HTTP."""

from base64 import b64encode
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest

from app.facts.store import FactStore
from app.recall.figures import LOOKED_AT_MAX
from app.recall.index_store import IndexStore
from app.recall.indexer import IndexConfig, Indexer
from app.recall.model import Search
from app.recall.service import RecallConfig, RecallService
from app.recall.store import RecallStore
from app.sessions.store import session_id
from tests.conftest import Service, StartService

Json = dict[str, Any]


LENGTHEN = """
UPDATE messages SET parts =
  (jsonb_build_array(jsonb_build_object('type', 'reasoning', 'text', repeat('x', 9_000_000))) || parts::jsonb)::json
"""


async def recall(service: Service, path: str, query: str, **asked: Any) -> list[Json]:
    answer = await service.client.post(f"/{path}/recall", json={"query": query} | asked)
    assert answer.status_code == 200, answer.text
    hits: list[Json] = answer.json()["hits"]
    return hits


def said(text: str | list[Json], at: str = "2026-08-01T10:00:00Z", role: str = "user", **more: Any) -> Json:
    return {"role": role, "content": text, "created_at": at} | more


async def test_a_hit_is_one_message_with_where_and_when_and_by_whom_it_was_said(service: Service) -> None:
    await service.append("s", said("I moved to Lisbon"), said("The cat is black", role="assistant"))
    (best, *_) = await recall(service, "sessions/s", "Lisbon")
    assert best.pop("score") > 0
    assert best == {
        "kind": "message",
        "session": "s",
        "from_seq": 1,
        "to_seq": 1,
        "text": "I moved to Lisbon",
        "role": "user",
        "name": None,
        "trust": "user",
        "created_at": "2026-08-01T10:00:00Z",
        "cites": [],
        "neighbours": [],
    }


async def test_of_long_messages_that_are_not_indexed_only_the_newest_are_searched(start_service: StartService) -> None:
    async with start_service(recall={"tail_tokens": 1, "index_look_seconds": 600}) as service:
        await service.append("s", said("Red apples"), said("Green apples"))
        assert [hit["from_seq"] for hit in await recall(service, "sessions/s", "apples")] == [2]
        index = Indexer(store=IndexStore(service.app.state.database), config=IndexConfig())
        await index.index(session_id("default", "s"))
        assert {hit["from_seq"] for hit in await recall(service, "sessions/s", "apples")} == {1, 2}


async def test_of_messages_that_are_not_indexed_16_mb_are_searched_however_few_tokens_they_have(
    start_service: StartService, database_url: str
) -> None:
    """Reasoning counts no tokens: a search read up to 5,000 such messages, of a megabyte each, at once."""
    async with start_service(recall={"index_look_seconds": 600}) as service:
        await service.append("s", said("Red apples"), said("Green apples"), said("Old apples"))
        connection = await asyncpg.connect(database_url)
        await connection.execute(LENGTHEN)
        await connection.close()
        assert {hit["from_seq"] for hit in await recall(service, "sessions/s", "apples")} == {2, 3}


async def test_nothing_is_found_where_nobody_said_it(service: Service) -> None:
    await service.append("s", said("I moved to Lisbon"))
    assert await recall(service, "sessions/s", "submarine") == []


async def test_a_word_of_the_same_meaning_is_found_after_the_word_itself(service: Service) -> None:
    await service.append("s", said("She showed me a photo"))
    await service.append("s", said("We had a picnic", at="2026-08-02T10:00:00Z"))
    await service.append("s", said("Two pictures were sold", at="2026-08-03T10:00:00Z"))
    waiting = await recall(service, "sessions/s", "pictures")
    assert [hit["from_seq"] for hit in waiting] == [3, 1]
    index = Indexer(store=IndexStore(service.app.state.database), config=IndexConfig())
    assert await index.index(session_id("default", "s")) == 3
    assert await recall(service, "sessions/s", "pictures") == waiting


async def test_what_tells_a_number_comes_before_what_is_as_good_where_a_number_is_asked_for(service: Service) -> None:
    await service.append("s", said("Ana bought three plants"))
    await service.append("s", said("Ana bought green plants", at="2026-08-02T10:00:00Z"))
    assert [hit["from_seq"] for hit in await recall(service, "sessions/s", "Which plants?")] == [2, 1]
    first, second = await recall(service, "sessions/s", "How many plants?")
    assert (first["from_seq"], second["from_seq"]) == (1, 2)
    assert first["score"] == pytest.approx(1.2 * second["score"], abs=1e-3)


async def test_a_number_behind_the_best_that_are_looked_at_does_not_count(service: Service) -> None:
    await service.append("s", said("Ana bought three plants", at="2026-07-01T10:00:00Z"))
    for day in range(1, LOOKED_AT_MAX + 1):
        await service.append("s", said("Ana bought green plants", at=f"2026-08-{day:02}T10:00:00Z"))
    hits = await recall(service, "sessions/s", "How many plants?", limit=LOOKED_AT_MAX + 1)
    assert hits[-1]["from_seq"] == 1


async def test_where_the_users_word_is_meant_a_number_of_the_assistants_does_not_count(service: Service) -> None:
    await service.append("s", said("1. Water your plants", role="assistant"))
    await service.append("s", said("2. Water your plants", role="assistant", at="2026-08-02T10:00:00Z"))
    await service.append("s", said("my plants need water", at="2026-08-03T10:00:00Z"))
    mine = {
        hit["from_seq"]: hit["score"]
        for hit in await recall(service, "sessions/s", "How much water do my plants need?")
    }
    said_at_all = await recall(service, "sessions/s", "What water do my plants need?")
    assert mine == {hit["from_seq"]: hit["score"] for hit in said_at_all}


async def test_nothing_is_found_of_signs_alone(service: Service) -> None:
    await service.append("s", said("I moved to Lisbon?"))
    assert await recall(service, "sessions/s", "?!") == []


async def test_a_query_of_a_time_alone_finds_what_was_said_then_the_newest_first(service: Service) -> None:
    days = ("2026-04-30", "2026-05-02", "2026-05-31", "2026-06-01")
    told = [said(f"Harbour {day}", at=f"{day}T10:00:00Z") for day in days]
    body = {"messages": [*told, {"role": "system", "kind": "boundary", "created_at": "2026-05-31T11:00:00Z"}]}
    await service.client.post("/sessions/s/messages", json=body | {"resource_id": "ana"})
    for path in ("sessions/s", "resources/ana"):
        found = await recall(service, path, "What did I say last May?", now="2026-08-01T00:00:00Z")
        assert [(hit["from_seq"], hit["score"]) for hit in found] == [(3, 0), (2, 0)]
    asked = {"now": "2026-08-01T00:00:00Z", "until": "2026-05-10T00:00:00Z"}
    (hit,) = await recall(service, "sessions/s", "What did I say last May?", **asked)
    assert hit["text"] == "Harbour 2026-05-02"
    assert await recall(service, "sessions/s", "What did I say last May?", **asked, kinds=["observations"]) == []


@pytest.mark.parametrize(
    "query", ["What did I say last May?", "Was habe ich letzten Mai gesagt?", "¿Qué dije en mayo?", "5月我们说了什么"]
)
async def test_a_query_that_only_asks_what_was_said_then_finds_that_though_its_words_are_elsewhere(
    service: Service, query: str
) -> None:
    later = ["What did I say?", "Was habe ich gesagt?", "¿Qué dije?", "我们说了什么"]
    may = [said(f"Harbour {day}", at=f"2026-05-{day}T10:00:00Z") for day in (10, 20)]
    await service.append("s", *may, *(said(text, at="2026-07-01T10:00:00Z") for text in later))
    hits = await recall(service, "sessions/s", query, now="2026-08-01T00:00:00Z")
    assert [hit["from_seq"] for hit in hits] == [2, 1]


async def test_where_nothing_was_said_then_the_words_are_looked_for_and_so_is_a_date_alone(service: Service) -> None:
    await service.append("s", said("What did I say?"), said("Wine of 2026-05-08", at="2026-08-02T10:00:00Z"))
    (hit, *_) = await recall(service, "sessions/s", "What did I say last May?", now="2026-08-03T00:00:00Z")
    assert hit["from_seq"] == 1
    await service.append("s", said("Bread", at="2026-05-08T10:00:00Z"))
    hits = await recall(service, "sessions/s", "2026-05-08", now="2026-08-03T00:00:00Z")
    assert {2, 3} <= {hit["from_seq"] for hit in hits}


async def test_a_message_that_branches_have_copied_is_found_once_in_the_session_last_spoken_in(
    service: Service,
) -> None:
    """An edit by branching, ten times; one copy was changed since."""
    asked = {"resource_id": "ana", "messages": [said("A trip to Madeira with Nora"), said("Which hotel?")]}
    await service.client.post("/sessions/s/messages", json=asked)
    other = {"resource_id": "ana", "messages": [said("Nora booked the hotel in Madeira", at="2026-07-01T10:00:00Z")]}
    await service.client.post("/sessions/other/messages", json=other)
    for number in range(10):
        branched = await service.client.post("/sessions/s/branch", json={"key": f"s-{number}", "at_seq": 1})
        assert branched.status_code == 201, branched.text
        await service.append(f"s-{number}", said(f"Which hotel, version {number}?"))
    found = await recall(service, "resources/ana", "trip to Madeira", limit=15)
    assert [(hit["session"], hit["from_seq"]) for hit in found if "trip" in hit["text"]] == [("s-9", 1)]
    assert "other" in {hit["session"] for hit in found}
    then = await recall(service, "resources/ana", "What did I say in August?", limit=12, now="2026-10-01T00:00:00Z")
    assert sum("trip" in hit["text"] for hit in then) == 1
    (message, *_) = (await service.get("/sessions/s-3/messages"))["items"]
    changed = said("A trip to Madeira with Olga")
    await service.client.put(f"/sessions/s-3/messages/{message['id']}", json=changed)
    found = await recall(service, "resources/ana", "trip to Madeira", limit=15)
    assert {hit["text"] for hit in found if "trip" in hit["text"]} == {
        "A trip to Madeira with Nora",
        "A trip to Madeira with Olga",
    }


async def test_a_note_that_branches_have_copied_is_found_once_in_the_session_last_spoken_in(
    start_service: StartService,
) -> None:
    async with start_service(memory={"message_tokens": 100, "keep_last": 0, "buffer_every": None}) as service:
        for key in ("s", "other"):
            messages = [said(f"I booked the hotel in Madeira with Nora, number {n} of {key}") for n in range(20)]
            asked = {"resource_id": "ana", "messages": messages}
            await service.client.post("/sessions/" + key + "/messages", params={"wait_ms": 30_000}, json=asked)
        alone = await recall(service, "resources/ana", "Madeira Nora", kinds=["observations"], limit=100)
        for number in range(3):
            branched = await service.client.post("/sessions/s/branch", json={"key": f"s-{number}"})
            assert branched.status_code == 201, branched.text
            await service.append(f"s-{number}", said("And now?"))
        found = await recall(service, "resources/ana", "Madeira Nora", kinds=["observations"], limit=100)
    assert {hit["session"] for hit in alone} == {"s", "other"}
    assert {hit["session"] for hit in found} == {"s-2", "other"}
    assert sorted(hit["text"] for hit in found) == sorted(hit["text"] for hit in alone)


async def test_a_summary_and_a_boundary_are_no_neighbours(service: Service) -> None:
    await service.append("s", said("Red"), {"role": "system", "kind": "boundary"}, said("The cat is black"))
    (hit, *_) = await recall(service, "sessions/s", "cat", neighbours=2)
    assert [one["seq"] for one in hit["neighbours"]] == [1]


async def test_a_session_never_seen_has_nothing_to_search(service: Service) -> None:
    answer = await service.client.post("/sessions/never/recall", json={"query": "Lisbon"})
    assert (answer.status_code, answer.json()["type"]) == (404, "/problems/session-not-found")


async def test_of_a_resource_the_sessions_that_were_last_active_are_searched(start_service: StartService) -> None:
    async with start_service(recall={"sessions_max": 2}) as service:

        async def say(key: str) -> list[str]:
            body = {"messages": [said("The red cup")], "resource_id": "ana"}
            assert (await service.client.post(f"/sessions/{key}/messages", json=body)).status_code == 201
            return sorted({hit["session"] for hit in await recall(service, "resources/ana", "red cup")})

        for key in ("empty-1", "empty-2"):
            assert (await service.client.put(f"/sessions/{key}", json={"resource_id": "ana"})).is_success
        searched = [await say(key) for key in ("s1", "s2", "s3")]
        for key in ("s3", "s2", "s1"):
            assert (await service.client.post(f"/sessions/{key}/end")).is_success
        searched += [await say("s4"), await say("s3")]
        of_one = await recall(service, "resources/ana", "red cup", session="s2")
        of_none = await recall(service, "resources/ben", "red cup", session="s2")
    assert searched == [["s1"], ["s1", "s2"], ["s2", "s3"], ["s1", "s4"], ["s3", "s4"]]
    assert ({hit["session"] for hit in of_one}, of_none) == ({"s2"}, [])


async def test_a_resource_is_searched_over_all_its_sessions_and_no_others(service: Service) -> None:
    for key, resource in (("a", "ana"), ("b", "ana"), ("c", "bob")):
        body = {"messages": [said(f"The code of {resource} in {key} is 4711")], "resource_id": resource}
        assert (await service.client.post(f"/sessions/{key}/messages", json=body)).status_code == 201
    assert {hit["session"] for hit in await recall(service, "resources/ana", "code")} == {"a", "b"}
    assert {hit["session"] for hit in await recall(service, "resources/ana", "code", session="b")} == {"b"}
    assert await recall(service, "resources/ana", "code", session="c") == []
    assert await recall(service, "resources/nobody", "code") == []


async def test_neighbours_come_with_a_hit_and_do_not_count(service: Service) -> None:
    await service.append("s", *(said(f"The number of door {word}") for word in ("one", "two", "three", "four")))
    (hit,) = await recall(service, "sessions/s", "three", limit=1, neighbours=1)
    assert hit["from_seq"] == 3
    assert [near["seq"] for near in hit["neighbours"]] == [2, 4]


async def test_since_and_until_leave_out_what_was_said_at_other_times(service: Service) -> None:
    days = ("2026-05-01", "2026-06-01", "2026-07-01")
    await service.append("s", *(said(f"The dentist on {day}", f"{day}T10:00:00Z") for day in days))
    found = await recall(service, "sessions/s", "dentist", since="2026-06-01T00:00:00Z", until="2026-07-01T10:00:00Z")
    assert [hit["from_seq"] for hit in found] == [2]


async def test_a_time_in_the_query_comes_before_other_times(service: Service) -> None:
    days = ("2026-05-03", "2026-06-03", "2026-07-03")
    await service.append("s", *(said("I was at the dentist", f"{day}T10:00:00Z") for day in days))
    found = await recall(service, "sessions/s", "the dentist in May", now="2026-08-01T00:00:00Z")
    assert found[0]["from_seq"] == 1
    found = await recall(service, "sessions/s", "the dentist in April", now="2026-08-01T00:00:00Z")
    assert {hit["from_seq"] for hit in found} == {1, 2, 3}


async def test_tools_and_their_results_are_found_and_told_from_the_user(service: Service) -> None:
    call = {"type": "tool_call", "id": "c", "name": "read_file", "arguments": {"path": "src/app/main.py"}}
    result = {"type": "tool_result", "tool_call_id": "c", "output": "Traceback: KeyError E1234"}
    await service.append(
        "s", said("Look"), {"role": "assistant", "content": [call]}, {"role": "tool", "content": [result]}
    )
    (called, *_) = await recall(service, "sessions/s", "main.py")
    assert (called["from_seq"], called["text"]) == (2, 'read_file {"path": "src/app/main.py"}')
    (best, *_) = await recall(service, "sessions/s", "e1234")
    assert (best["from_seq"], best["trust"]) == (3, "tool")


@pytest.mark.parametrize("indexed", [False, True])
async def test_what_an_attached_document_says_is_found(start_service: StartService, *, indexed: bool) -> None:
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "The rent is 940."}}
    notes = {"type": "file", "name": "a.md", "media_type": "text/markdown", "data": b64encode(b"A lighthouse").decode()}
    async with start_service(recall={"index_look_seconds": 600}) as service:
        await service.append("s", said("Look"), said([document, notes]))
        if indexed:
            index = Indexer(store=IndexStore(service.app.state.database), config=IndexConfig())
            await index.index(session_id("default", "s"))
        for query in ("rent", "lighthouse"):
            (found, *_) = await recall(service, "sessions/s", query)
            assert found["from_seq"] == 2
            assert found["text"] == "(external) [file]\nThe rent is 940.\n(external) [file a.md]\nA lighthouse"
            assert found["trust"] == "user"


async def test_what_a_file_says_is_marked_once_as_not_its_sender_s_words(start_service: StartService) -> None:
    file = {"type": "file", "name": "lease.txt", "content": "The rent is 940."}
    words = {"type": "text", "text": "Check my rent"}
    async with start_service(memory={"message_tokens": 20, "keep_last": 0, "retain_tokens": 0}) as service:
        await service.append("s", said([words, file]), said([words, file], trust="external"))
        await service.observe("s")
        context = await service.context("s", query="rent", format="text")
        by_seq = {hit["from_seq"]: hit["text"] for hit in await recall(service, "sessions/s", "rent")}

    assert by_seq[1] == "Check my rent\n(external) [file lease.txt]\nThe rent is 940."
    assert by_seq[2] == "Check my rent\n[file lease.txt]\nThe rent is 940."
    assert "user: Check my rent\n  (external) [file lease.txt]" in context["payload"]["text"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("limit", 0),
        ("limit", 101),
        ("limit", "10"),
        ("neighbours", -1),
        ("neighbours", 11),
        ("neighbours", False),
        ("limit", True),
        ("kinds", []),
        ("kinds", ["messages", "dreams"]),
        ("query", ""),
        ("query", "x" * 10_001),
        ("querry", "x"),
        ("since", "yesterday"),
    ],
)
async def test_what_is_asked_wrongly_is_named(service: Service, field: str, value: object) -> None:
    answer = await service.client.post("/sessions/s/recall", json={"query": "x"} | {field: value})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"].startswith(f"/{field}")


async def test_kinds_choose_what_is_looked_for(service: Service) -> None:
    await service.append("s", said("My sister Ana lives in Porto since 2019. She works at the harbour."))
    await service.client.post("/sessions/s/memory/observe", params={"wait_ms": 10_000})
    assert {hit["kind"] for hit in await recall(service, "sessions/s", "Porto", kinds=["messages"])} == {"message"}
    (note, *_) = await recall(service, "sessions/s", "Porto", kinds=["observations"])
    assert (note["kind"], note["cites"], note["role"]) == ("observation", [1], None)
    assert await recall(service, "sessions/s", "Porto", kinds=["facts"]) == []


async def test_the_newest_notes_are_searched_up_to_the_one_that_brings_their_texts_to_4_mb(
    service: Service, database_url: str
) -> None:
    """Five hundred edited ones, of a quarter of a megabyte each, took most of a minute."""
    for city in ("Porto", "Faro", "Braga"):
        await service.append("s", said(f"My sister Ana moved to {city} in 2019 and works at the harbour."))
        await service.client.post("/sessions/s/memory/observe", params={"wait_ms": 10_000})
    connection = await asyncpg.connect(database_url)
    await connection.execute("UPDATE observations SET text = repeat('x', 3_000_000)")
    await connection.close()
    notes = await recall(service, "sessions/s", "sister harbour", kinds=["observations"])
    assert {hit["from_seq"] for hit in notes} == {2, 3}


async def test_a_note_is_no_hit_beside_the_message_it_rests_on(service: Service) -> None:
    await service.append("s", said("My sister Ana lives in Porto since 2019. She works at the harbour."))
    await service.client.post("/sessions/s/memory/observe", params={"wait_ms": 10_000})
    assert [hit["kind"] for hit in await recall(service, "sessions/s", "Porto")] == ["message"]


async def test_a_note_was_said_when_its_log_says_so_in_the_zone_of_its_session(service: Service) -> None:
    await service.client.put("/sessions/s", json={"config": {"timezone": "Asia/Tokyo"}})
    await service.append(
        "s",
        said("My sister Ana moved to Porto and works at the harbour.", at="2026-08-01T22:10:00Z"),
        said("My brother Ben moved to Porto and sails every day.", at="2026-08-01T22:15:00Z"),
    )
    await service.client.post("/sessions/s/memory/observe", params={"wait_ms": 10_000})
    notes = await recall(service, "sessions/s", "moved to Porto", kinds=["observations"], since="2026-08-01T22:00:00Z")
    assert {(hit["from_seq"], hit["created_at"]) for hit in notes} == {
        (1, "2026-08-02T07:10:00+09:00"),
        (2, "2026-08-02T07:10:00+09:00"),  # the log shows a time again once it has moved on
    }


class Then:
    """A clock that stands."""

    def now(self) -> datetime:
        return datetime(2026, 8, 2, 20, tzinfo=UTC)


async def test_yesterday_is_that_of_the_sessions_zone(service: Service) -> None:
    await service.client.put("/sessions/s", json={"config": {"timezone": "Asia/Tokyo"}})
    await service.append("s", *(said("I baked bread", at=f"2026-08-0{day}T12:00:00Z") for day in (1, 2)))
    database = service.app.state.database
    recalling = RecallService(
        store=RecallStore(database),
        facts=FactStore(database),
        indexer=Indexer(store=IndexStore(database), config=IndexConfig()),
        clock=Then(),
        config=RecallConfig(),
    )
    first, _ = await recalling.session("default", "s", Search(query="bread yesterday", limit=2))
    assert first.created_at.day == 2  # in UTC that is today


async def test_of_a_long_query_its_first_and_its_last_words_are_looked_for(start_service: StartService) -> None:
    async with start_service(recall={"query_words_max": 3}) as service:
        for day, name in enumerate(("boat", "cart", "sled", "ship", "lamp"), start=1):
            await service.append("s", said(f"The {name} is mine", at=f"2026-08-0{day}T10:00:00Z"))
        found = await recall(service, "sessions/s", "boat, cart, sled, ship or lamp")
    assert {hit["from_seq"] for hit in found} == {1, 2, 5}


async def test_a_replaced_message_is_found_by_what_it_says_now(start_service: StartService) -> None:
    async with start_service(recall={"index_quiet_seconds": 0, "index_look_seconds": 0.05}) as service:
        await service.append("s", said("The colour is red", id="m"))
        await recall(service, "sessions/s", "colour")
        await service.client.put("/sessions/s/messages/m", json=said("The colour is blue"))
        assert (await recall(service, "sessions/s", "blue"))[0]["text"] == "The colour is blue"
        assert await recall(service, "sessions/s", "red") == []


async def test_deleted_sessions_are_not_found(service: Service) -> None:
    body = {"messages": [said("The code is 4711")], "resource_id": "ana"}
    await service.client.post("/sessions/s/messages", json=body)
    await service.client.delete("/sessions/s")
    assert await recall(service, "resources/ana", "code") == []


async def test_an_erased_message_is_not_found(service: Service) -> None:
    await service.append("s", said("The code is 4711", id="m"), said("Thanks"))
    await service.client.delete("/sessions/s/messages/m")
    assert await recall(service, "sessions/s", "code 4711") == []


async def test_many_hits_have_all_their_neighbours(service: Service) -> None:
    for first in range(0, 120, 60):
        await service.append("s", *(said(f"apple {first + number}") for number in range(60)))
    hits = await recall(service, "sessions/s", "apple", limit=100, neighbours=2)
    assert len(hits) == 100
    for hit in hits:
        seq = hit["from_seq"]
        beside = [near for near in range(max(1, seq - 2), min(120, seq + 2) + 1) if near != seq]
        assert [(near["seq"], near["text"]) for near in hit["neighbours"]] == [
            (near, f"apple {near - 1}") for near in beside
        ]


async def test_a_hit_and_its_neighbours_tell_no_more_of_a_text_than_the_limit(start_service: StartService) -> None:
    async with start_service(recall={"hit_characters_max": 20}) as service:
        await service.append("s", said("x" * 20), said("The code is 4711, " + "y" * 100))
        (hit,) = await recall(service, "sessions/s", "4711", limit=1, neighbours=1)
        assert hit["text"] == "The code is 4711, y…"
        assert hit["neighbours"][0]["text"] == "x" * 20  # at the limit: as it is
