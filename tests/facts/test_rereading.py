"""What holds when a session is read again for facts (docs/decisions/0055), as a rule over HTTP."""

import json
from uuid import UUID

import asyncpg
import pytest

from app.facts.rereading import Overrides, refusal
from tests.conftest import Service, StartService
from tests.facts.noted import FACTS, LATER, LATEST, end, facts, lines, say, texts
from tests.journeys.looks import WAIT_MS, Json
from tests.journeys.test_erasure import columns_with
from tests.model_replies import PromptKind
from tests.model_server import ModelServer


async def test_after_an_erasure_the_rest_of_the_session_is_read_again(service: Service) -> None:
    for number, text in enumerate(("I live in Lisbon.", "I prefer a window seat."), start=1):
        await say(service, text, id=f"m-{number}")
    await end(service)
    receipt = (await service.client.delete("/sessions/s1/messages/m-1")).json()
    await service.context("s1", wait_ms=WAIT_MS)
    assert receipt["rows"]["facts"] == 2
    assert await texts(service) == ["User: I prefer a window seat."]
    again = (await service.client.delete("/sessions/s1/messages/m-1")).json()
    assert set(again["rows"].values()) == {0}


@pytest.mark.parametrize("change", [None, {"text": "Lived in Lisbon once."}])
async def test_what_somebody_took_back_is_not_noted_again_by_that_reading(
    service: Service, change: Json | None
) -> None:
    for number, text in enumerate(("I live in Lisbon.", "My code is 4711.", "I prefer a window seat."), start=1):
        await say(service, text, id=f"m-{number}")
    await end(service)
    first = (await facts(service, category="profile"))[0]
    path = f"{FACTS}/{first['id']}"
    answer = await (service.client.delete(path) if change is None else service.client.patch(path, json=change))
    assert answer.status_code == 200
    await service.client.delete("/sessions/s1/messages/m-2")
    await service.context("s1", wait_ms=WAIT_MS)
    left = [*(change or {}).values(), "User: I prefer a window seat."]
    assert await texts(service, validity="all") == left
    exported = map(json.loads, (await service.client.get("/resources/ana/export")).text.splitlines())
    assert [line["data"]["text"] for line in exported if line["type"] == "facts"] == left
    await say(service, "I live in Lisbon.", id="m-4")
    await end(service)
    assert await texts(service) == [*left, "User: I live in Lisbon."]


async def test_what_is_kept_of_a_fact_that_was_taken_back_is_none_itself(
    start_service: StartService, database_url: str
) -> None:
    async with start_service(facts={"facts_max": 1}) as service:
        await say(service, "I live in Lisbon.")
        await end(service)
        [noted] = await facts(service)
        await service.client.delete(f"{FACTS}/{noted['id']}")
        connection = await asyncpg.connect(database_url)
        kept = await connection.fetchval("SELECT id FROM facts")
        await connection.close()
        assert (await service.client.get(f"{FACTS}/{kept}")).status_code == 404
        assert (await service.client.post(FACTS, json={"text": "Likes tea."})).status_code == 201


@pytest.mark.parametrize("erased", ["m-1", "m-2"])
async def test_what_was_taken_back_one_by_one_is_not_noted_again(service: Service, erased: str) -> None:
    await told_of_ana(service)
    lisbon, code, seat = await facts(service)
    for fact in (seat, lisbon):
        await service.client.delete(f"{FACTS}/{fact['id']}")
    assert (await service.client.delete(f"/sessions/s1/messages/{erased}")).status_code == 200
    await service.context("s1", wait_ms=WAIT_MS)
    assert await texts(service) == ([] if erased == "m-2" else [code["text"]])


async def test_what_a_caller_noted_and_took_back_may_be_noted_of_the_messages_that_it_cited(service: Service) -> None:
    """Of a branch too, while the caller's fact is there."""
    await say(service, "I live in Lisbon.", "I own a dog.")
    for number, text in enumerate(("Lives in Portugal", "Has a pet"), start=1):
        noted = {"text": text, "sources": [{"session": "s1", "cites": [number]}]}
        fact = (await service.client.post(FACTS, json=noted)).json()
    await service.client.delete(f"{FACTS}/{fact['id']}")
    assert (await service.client.post("/sessions/s1/branch", json={"key": "s2"})).status_code == 201
    await end(service, "s2")
    assert await texts(service) == ["Lives in Portugal", "User: I live in Lisbon.", "User: I own a dog."]
    await end(service, "s1")
    assert {source["session"] for fact in await facts(service) for source in fact["sources"]} == {"s1", "s2"}
    assert len(await facts(service)) == 3


async def test_what_was_taken_back_of_one_session_may_be_noted_of_others_and_stays_so_as_they_change(
    service: Service,
) -> None:
    """The fact is of the first message of one session and the second of the other; both have three."""
    said = {"s1": ("I live in Lisbon.", "I own a dog."), "s2": ("I own a cat.", "I live in Lisbon.")}
    for key, lines_said in said.items():
        for number, text in enumerate((*lines_said, "Hello."), start=1):
            await say(service, text, key=key, id=f"m-{number}")
        await end(service, key)
    [lisbon, *_] = await facts(service)
    assert [(source["session"], source["cites"]) for source in lisbon["sources"]] == [("s1", [1]), ("s2", [2])]
    await service.client.delete(f"{FACTS}/{lisbon['id']}")
    replaced = {"role": "user", "content": "I own a boat."}
    assert (await service.client.put("/sessions/s2/messages/m-1", json=replaced)).status_code == 200
    assert (await service.client.delete("/sessions/s1/messages/m-3")).status_code == 200
    for key in said:
        await service.context(key, wait_ms=WAIT_MS)
    assert set(await texts(service)) == {"User: I own a dog.", "User: I own a boat."}
    assert (await service.client.delete("/sessions/s2")).status_code == 200
    replaced = {"role": "user", "content": "I own a bicycle."}
    assert (await service.client.put("/sessions/s1/messages/m-2", json=replaced)).status_code == 200
    await service.context("s1", wait_ms=WAIT_MS)
    assert await texts(service) == ["User: I own a bicycle."]


async def test_what_is_read_again_begins_where_what_is_gone_was_read(service: Service) -> None:
    """Not where a caller cites, whose facts are of no reading, nor where what stays was read."""
    said = ("I live in Lisbon.", "I prefer a window seat.", "Hello.", "I own a dog.")
    for number, text in enumerate(said, start=1):
        await say(service, text, id=f"m-{number}")
        await end(service)
    noted = {"text": "Is polite", "sources": [{"session": "s1", "cites": [1, 3]}]}
    assert (await service.client.post(FACTS, json=noted)).status_code == 201
    for message, since in (("m-3", 4), ("m-2", 2)):
        before = await readings(service)
        assert (await service.client.delete(f"/sessions/s1/messages/{message}")).status_code == 200
        await service.context("s1", wait_ms=WAIT_MS)
        assert (await readings(service))[len(before)] == since
    assert await texts(service) == ["User: I live in Lisbon.", "User: I own a dog."]


async def readings(service: Service) -> list[int]:
    """Where the readings for facts began, oldest first."""
    runs = (await service.get("/sessions/s1/memory/runs"))["items"]
    return [run["from_seq"] for run in reversed(runs) if run["kind"] == "note_facts"]


@pytest.mark.parametrize("erased", ["m-1", "m-2"])
async def test_what_somebody_has_reworded_is_erased_with_its_own_message_alone(service: Service, erased: str) -> None:
    path = await told_of_ana(service)
    assert (await service.client.patch(path, json={"text": "Lives in Lisboa."})).status_code == 200
    assert (await service.client.delete(f"/sessions/s1/messages/{erased}")).status_code == 200
    await service.context("s1", wait_ms=WAIT_MS)
    assert ("Lives in Lisboa." in await texts(service)) == (erased == "m-2")


async def read_beside(service: Service) -> None:
    """A message is erased beside what was noted, and the session read again."""
    assert (await service.client.delete("/sessions/s1/messages/m-2")).status_code == 200
    await service.context("s1", wait_ms=WAIT_MS)


async def told_of_ana(service: Service) -> str:
    """Three messages, each of which is noted; answers the path of where she lives."""
    for number, text in enumerate(("I live in Lisbon.", "My code is 4711.", "I prefer a window seat."), start=1):
        await say(service, text, id=f"m-{number}")
    await end(service)
    return f"{FACTS}/{(await facts(service, category='profile'))[0]['id']}"


async def test_what_is_deleted_though_its_model_cited_nothing_is_noted_again_when_it_is_said_again(
    start_service: StartService, models: ModelServer
) -> None:
    worded = iter(("lives in", "resides in", "lives in"))
    seat = "* 🔴 [preference] User prefers a window seat."
    models.answers[PromptKind.EXTRACTOR] = lambda asked: lines(
        *[f"* 🔴 [fact] User {next(worded)} Lisbon."] * asked.has("Lisbon"), *[seat] * asked.has("seat")
    )
    async with start_service(provider="openai") as service:
        path = await told_of_ana(service)
        noted = await facts(service)
        await service.client.delete(path)
        await read_beside(service)
        assert await texts(service) == ["User prefers a window seat."]
        await say(service, "I live in Lisbon.", id="m-4")
        await end(service)
        again = await facts(service)

    assert [[source["cites"] for source in fact["sources"]] for fact in (*noted, *again)] == [
        [[1]],
        [[3]],
        [[3]],
        [[4]],
    ]


async def test_nothing_is_kept_of_a_deleted_fact_that_is_of_no_message(
    start_service: StartService, models: ModelServer, database_url: str
) -> None:
    models.answers[PromptKind.EXTRACTOR] = lambda _asked: lines("* 🔴 [fact] User is Portuguese.")
    async with start_service(provider="openai") as service:
        await say(service, "I live in Lisbon.")
        await end(service)
        [noted] = await facts(service)
        assert (await service.client.delete(f"{FACTS}/{noted['id']}")).json()["deleted"] == 1
        connection = await asyncpg.connect(database_url)
        assert await connection.fetchval("SELECT count(*) FROM facts") == 0
        await connection.close()


CORRECTIONS: list[Json] = [
    {"category": "insight"},
    {"valid_from": "2020-05-01T00:00:00Z"},
    {"valid_to": LATER},
    {"category": "decision", "valid_from": "2020-05-01T00:00:00Z", "valid_to": LATER},
]


@pytest.mark.parametrize("change", CORRECTIONS)
async def test_what_somebody_corrected_of_a_fact_but_its_words_holds_when_it_is_noted_again(
    service: Service, change: Json
) -> None:
    path = await told_of_ana(service)
    corrected = (await service.client.patch(path, json=change)).json()
    for message in ("m-2", "m-3"):
        await service.client.delete(f"/sessions/s1/messages/{message}")
        await service.context("s1", wait_ms=WAIT_MS)
        [again, *_] = await facts(service, validity="all")
        new = {name: again[name] for name in ("id", "sources", "created_at", "updated_at", "valid_from")}
        assert again == corrected | new
        assert change.get("valid_from", again["valid_from"]) == again["valid_from"]
    assert len(await facts(service, validity="all")) == 1


async def test_what_was_ended_and_lasts_again_is_noted_again_too(service: Service) -> None:
    path = await told_of_ana(service)
    for ends in (LATER, LATEST, None):
        assert (await service.client.patch(path, json={"valid_to": ends})).status_code == 200
    await read_beside(service)
    again = [(fact["text"], fact["valid_to"]) for fact in await facts(service)]
    assert again == [("User: I live in Lisbon.", None), ("User: I prefer a window seat.", None)]


async def test_what_is_ended_of_two_sessions_stays_so_when_one_is_read_again(service: Service) -> None:
    path = await told_of_ana(service)
    await say(service, "I live in Lisbon.", key="s2")
    await end(service, "s2")
    await service.client.patch(path, json={"valid_to": LATER})
    await read_beside(service)
    [lisbon, _] = await facts(service, validity="all")
    assert (lisbon["valid_to"], sorted(source["session"] for source in lisbon["sources"])) == (LATER, ["s1", "s2"])
    await service.client.delete("/sessions/s1")
    assert [fact["valid_to"] for fact in await facts(service, validity="all")] == [LATER]


async def test_a_corrected_category_holds_when_another_session_says_the_same(service: Service) -> None:
    path = await told_of_ana(service)
    await service.client.patch(path, json={"category": "insight"})
    await say(service, "I live in Lisbon.", key="s2")
    await end(service, "s2")
    assert [fact["category"] for fact in await facts(service) if "Lisbon" in fact["text"]] == ["insight"]
    await say(service, "I moved to Porto.", key="s3")
    await end(service, "s3")
    assert "User: I live in Lisbon." not in await texts(service)


async def test_what_was_corrected_is_forgotten_with_its_message(service: Service, database_url: str) -> None:
    path = await told_of_ana(service)
    await service.client.patch(path, json={"valid_from": "2020-05-07T00:00:00Z", "valid_to": LATER})
    await read_beside(service)
    assert (await service.client.delete("/sessions/s1/messages/m-1")).status_code == 200
    await service.context("s1", wait_ms=WAIT_MS)
    assert await texts(service, validity="all") == ["User: I prefer a window seat."]
    for day in ("2020-05-07", LATER[:10]):
        assert await columns_with(day, database_url) == set()


@pytest.mark.parametrize("change", ["erased", "replaced"])
async def test_what_waits_to_be_noted_again_as_it_was_corrected_is_forgotten_with_its_message_alone(
    service: Service, database_url: str, change: str
) -> None:
    path = await told_of_ana(service)
    *_, seat = await facts(service)
    await service.client.patch(path, json={"valid_from": "2020-05-07T00:00:00Z"})
    await service.client.patch(f"{FACTS}/{seat['id']}", json={"category": "insight"})
    await say(service, "Hello.", "Hello?", key="s2")
    await say(service, "Is anybody there?", key="s2", id="m-3")
    await service.configure("s1", enabled=False)  # so it is not read again
    assert (await service.client.delete("/sessions/s1/messages/m-2")).status_code == 200
    assert await columns_with("2020-05-07", database_url) == {"facts.sources"}
    assert (await service.client.delete("/sessions/s2/messages/m-3")).status_code == 200
    path, replaced = "/sessions/s1/messages/m-1", {"role": "user", "content": "I live in Porto."}
    changed = service.client.delete(path) if change == "erased" else service.client.put(path, json=replaced)
    assert (await changed).status_code == 200
    assert await columns_with("2020-05-07", database_url) == set()
    await service.configure("s1", enabled=True)
    await end(service)
    found = [(fact["text"], fact["category"]) for fact in await facts(service)]
    porto = [] if change == "erased" else [("User: I live in Porto.", "profile")]
    assert found == [*porto, ("User: I prefer a window seat.", "insight")]


async def test_what_waits_to_be_noted_again_waits_though_another_fact_is_taken_back(service: Service) -> None:
    await say(service, "I live in Lisbon.")
    await end(service)
    for number, text in enumerate(("My code is 4711.", "I prefer a window seat."), start=2):
        await say(service, text, id=f"m-{number}")
    await end(service)
    lisbon, _, seat = await facts(service)
    await service.client.patch(f"{FACTS}/{seat['id']}", json={"category": "insight"})
    await service.configure("s1", enabled=False)  # so it is not read again
    assert (await service.client.delete("/sessions/s1/messages/m-2")).status_code == 200
    assert (await service.client.delete(f"{FACTS}/{lisbon['id']}")).json()["deleted"] == 1
    await service.configure("s1", enabled=True)
    await end(service)
    assert [(fact["text"], fact["category"]) for fact in await facts(service)] == [
        ("User: I prefer a window seat.", "insight")
    ]


async def test_of_two_sessions_the_one_that_is_left_tells_since_when_it_is_so(service: Service) -> None:
    for key, at in (("s1", "2026-03-01T10:00:00Z"), ("s2", "2026-05-01T10:00:00Z")):
        await say(service, "I live in Lisbon.", key=key, created_at=at)
        await end(service, key)
    assert [fact["valid_from"] for fact in await facts(service)] == ["2026-03-01T10:00:00Z"]
    assert (await service.client.delete("/sessions/s1")).json()["rows"]["facts"] == 1
    assert [fact["valid_from"] for fact in await facts(service)] == ["2026-05-01T10:00:00Z"]


async def test_where_all_was_deleted_a_message_that_is_replaced_brings_back_no_other(service: Service) -> None:
    await say(service, "Hello.", "I live in Lisbon.")
    await end(service)
    assert (await service.client.delete(FACTS)).json()["deleted"] == 1
    [first, _] = (await service.get("/sessions/s1/messages"))["items"]
    path = f"/sessions/s1/messages/{first['id']}"
    assert (await service.client.put(path, json={"role": "user", "content": "I own a dog."})).status_code == 200
    await service.context("s1", wait_ms=WAIT_MS)
    assert await texts(service, validity="all") == ["User: I own a dog."]


@pytest.mark.parametrize("scope", ["session", "resource"])
async def test_where_all_is_deleted_nothing_comes_back_that_an_erasure_had_left_to_be_noted_again(
    service: Service, scope: str
) -> None:
    await service.client.put("/sessions/s1", json={"resource_id": "ana", "config": {"scope": scope}})
    await told_of_ana(service)
    await service.configure("s1", enabled=False)  # so it is not read again
    assert (await service.client.delete("/sessions/s1/messages/m-2")).status_code == 200
    await say(service, "I own a dog.", id="m-4")
    assert (await service.client.delete(FACTS)).status_code == 200
    await service.configure("s1", enabled=True)
    await end(service)
    assert await texts(service, validity="all") == ["User: I own a dog."]


@pytest.mark.parametrize("branched", ["unread", "read", "to be read again"])
async def test_where_all_is_deleted_nothing_comes_back_of_a_branch_that_was_to_be_read_for_a_deleted_parent(
    service: Service, branched: str
) -> None:
    """What nobody has read is noted."""
    told = ["I live in Lisbon.", "My code is 4711.", "I prefer a window seat."]
    for number, text in enumerate(told, start=1):
        await say(service, text, id=f"m-{number}")
    if branched == "unread":
        assert (await service.client.post("/sessions/s1/branch", json={"key": "s2"})).status_code == 201
        await end(service)
    else:
        await end(service)
        await say(service, "I own a boat.", id="m-4")
        if branched == "to be read again":
            await service.client.delete("/sessions/s1/messages/m-2")
        assert (await service.client.post("/sessions/s1/branch", json={"key": "s2"})).status_code == 201
    assert (await service.client.delete("/sessions/s1")).status_code == 200
    assert (await service.client.delete(FACTS)).status_code == 200
    await say(service, "I own a dog.", key="s2", id="m-5")
    await end(service, "s2")
    unread = [] if branched == "unread" else ["User: I own a boat."]
    assert await texts(service, validity="all") == [*unread, "User: I own a dog."]


async def test_what_a_branch_tells_too_is_known_when_its_parent_is_gone(service: Service) -> None:
    await say(service, "I live in Lisbon.", "I own a dog.", "I prefer a window seat.")
    await end(service)
    [_, dog, _] = await facts(service)
    await service.client.delete(f"{FACTS}/{dog['id']}")
    body = {"key": "s2", "at_seq": 2}
    assert (await service.client.post("/sessions/s1/branch", json=body)).status_code == 201
    await end(service, "s2")
    assert [fact["sources"][0]["session"] for fact in await facts(service)] == ["s1", "s1"]
    assert (await service.client.delete("/sessions/s1")).status_code == 200
    await service.context("s2", wait_ms=WAIT_MS)
    [lisbon] = await facts(service, validity="all")
    assert (lisbon["text"], [source["session"] for source in lisbon["sources"]]) == ("User: I live in Lisbon.", ["s2"])


EXPIRED = (
    "UPDATE messages m SET parts = '[]', content_hash = '', erased_at = now() FROM sessions s WHERE s.id = m.session_id"
)


@pytest.mark.parametrize("parent", ["there", "gone"])
async def test_what_was_taken_back_of_a_parent_is_so_of_its_branch_though_retention_took_what_was_said(
    service: Service, database_url: str, parent: str
) -> None:
    """In the parent alone: its branch has other rules."""
    await say(service, "I live in Lisbon.", "I own a dog.", "Hello.")
    assert (await service.client.post("/sessions/s1/branch", json={"key": "s2"})).status_code == 201
    await end(service)
    [lisbon, dog] = await facts(service)
    await service.client.delete(f"{FACTS}/{dog['id']}")
    await service.client.patch(f"{FACTS}/{lisbon['id']}", json={"category": "insight"})
    connection = await asyncpg.connect(database_url)
    await connection.execute(f"{EXPIRED} AND s.key = 's1'")
    await connection.close()
    if parent == "gone":
        assert (await service.client.delete("/sessions/s1")).status_code == 200
    await end(service, "s2")
    found = {(fact["text"], fact["category"]) for fact in await facts(service)}
    assert found == {("User: I live in Lisbon.", "insight")}


async def test_what_was_corrected_or_taken_back_of_a_parent_is_so_of_its_branch(service: Service) -> None:
    for text in ("I live in Lisbon.", "I own a dog.", "Hello."):
        await say(service, text)
    await end(service)
    [lisbon, dog] = await facts(service)
    assert (await service.client.post("/sessions/s1/branch", json={"key": "s2"})).status_code == 201
    await service.client.delete(f"{FACTS}/{dog['id']}")
    await service.client.patch(f"{FACTS}/{lisbon['id']}", json={"category": "insight"})
    await say(service, "I prefer a window seat.", key="s2")
    [first, *_] = (await service.get("/sessions/s2/messages"))["items"]
    path = f"/sessions/s2/messages/{first['id']}"
    assert (await service.client.put(path, json={"role": "user", "content": "I own a boat."})).status_code == 200
    await end(service, "s2")
    assert "User: I own a dog." not in await texts(service)
    assert (await service.client.delete("/sessions/s2")).status_code == 200
    assert (await service.client.post("/sessions/s1/branch", json={"key": "s3"})).status_code == 201
    assert (await service.client.delete("/sessions/s1")).status_code == 200
    await end(service, "s3")
    found = [(fact["text"], fact["category"]) for fact in await facts(service)]
    assert found == [("User: I live in Lisbon.", "insight")]


async def test_what_was_corrected_of_a_parent_and_waits_to_be_noted_again_is_so_of_its_branch(service: Service) -> None:
    await say(service, "I live in Lisbon.")
    await end(service)
    for number, text in enumerate(("My code is 4711.", "I prefer a window seat."), start=2):
        await say(service, text, id=f"m-{number}")
    await end(service)
    *_, seat = await facts(service)
    assert (await service.client.post("/sessions/s1/branch", json={"key": "s2"})).status_code == 201
    await service.client.patch(f"{FACTS}/{seat['id']}", json={"category": "insight"})
    await service.configure("s1", enabled=False)  # so it is not read again
    assert (await service.client.delete("/sessions/s1/messages/m-2")).status_code == 200
    assert await texts(service) == ["User: I live in Lisbon."]
    exported = map(json.loads, (await service.client.get("/resources/ana/export")).text.splitlines())
    assert [line["data"]["cites"] for line in exported if line["type"] == "corrections"] == [[3]]
    assert (await service.client.delete("/sessions/s1")).status_code == 200
    await end(service, "s2")
    assert [fact["category"] for fact in await facts(service)] == ["profile", "insight"]


async def test_what_waits_to_be_noted_again_of_a_parent_may_be_noted_of_its_branch(service: Service) -> None:
    await told_of_ana(service)
    *_, seat = await facts(service)
    assert (await service.client.post("/sessions/s1/branch", json={"key": "s2", "at_seq": 1})).status_code == 201
    await say(service, "Hello.", "I prefer a window seat.", key="s2")
    await service.client.patch(f"{FACTS}/{seat['id']}", json={"category": "insight"})
    await service.configure("s1", enabled=False)  # so it is not read again
    assert (await service.client.delete("/sessions/s1/messages/m-2")).status_code == 200
    await end(service, "s2")
    assert "User: I prefer a window seat." in await texts(service)


@pytest.mark.parametrize("gone", [["s1"], ["s1", "s2"], ["s2", "s1"]])
async def test_what_was_to_be_read_again_of_a_parent_is_read_of_its_branch(service: Service, gone: list[str]) -> None:
    """Also where all that was noted of the parent is gone, so that nothing tells that it was."""
    await told_of_ana(service)
    for parent, key in (("s1", "s2"), ("s2", "s3")):
        assert (await service.client.post(f"/sessions/{parent}/branch", json={"key": key})).status_code == 201
    for key in ("s1", "s2"):
        await service.observe(key)  # which is no reading for facts
        await service.configure(key, enabled=False)  # so it is not read again
    assert (await service.client.delete("/sessions/s1/messages/m-2")).status_code == 200
    assert await texts(service) == []
    for key in gone:
        assert (await service.client.delete(f"/sessions/{key}")).status_code == 200
    left = "s3" if "s2" in gone else "s2"
    await service.configure(left, enabled=True)
    await end(service, left)
    assert await texts(service) == ["User: I live in Lisbon.", "User: I prefer a window seat."]


async def test_what_was_to_be_read_again_of_a_parent_is_read_of_a_branch_that_was_read_further(
    service: Service,
) -> None:
    await told_of_ana(service)
    assert (await service.client.post("/sessions/s1/branch", json={"key": "s2"})).status_code == 201
    await say(service, "I own a dog.", key="s2")
    await end(service, "s2")
    await service.configure("s1", enabled=False)  # so it is not read again
    assert (await service.client.delete("/sessions/s1/messages/m-2")).status_code == 200
    await end(service, "s2")
    assert await texts(service) == ["User: I own a dog."]
    assert (await service.client.delete("/sessions/s1")).status_code == 200
    await end(service, "s2")
    told = {"User: I live in Lisbon.", "User: I prefer a window seat.", "User: I own a dog."}
    assert set(await texts(service)) == told


@pytest.mark.parametrize("outcome", ["recorded", "failed"])
async def test_what_a_branch_was_read_for_is_not_read_again_as_a_parent_goes_that_never_was(
    service: Service, database_url: str, outcome: str
) -> None:
    await say(service, "I live in Lisbon.")
    assert (await service.client.post("/sessions/s1/branch", json={"key": "s2"})).status_code == 201
    await say(service, "I own a dog.", key="s2")
    await end(service, "s2")
    noted = await facts(service)
    connection = await asyncpg.connect(database_url)
    await connection.execute("UPDATE runs SET outcome = $1 WHERE kind = 'note_facts'", outcome)
    await connection.close()
    assert (await service.client.delete("/sessions/s1")).status_code == 200
    await service.context("s2", min_seq=1, wait_ms=WAIT_MS)
    assert len(noted) == 2
    assert (await facts(service) == noted) == (outcome == "recorded")


async def test_a_branch_is_not_read_again_for_what_its_parent_was_told_after_it(service: Service) -> None:
    await say(service, "Hello.")
    await end(service)
    assert (await service.client.post("/sessions/s1/branch", json={"key": "s2"})).status_code == 201
    for key, text in (("s1", "I own a boat."), ("s2", "I own a dog.")):
        await say(service, text, key=key)
        await end(service, key)
    [_, noted] = await facts(service)
    assert (await service.client.delete("/sessions/s1")).status_code == 200
    await service.context("s2", min_seq=1, wait_ms=WAIT_MS)
    assert await facts(service) == [noted]


async def test_what_a_branch_says_by_itself_is_noted_whatever_was_taken_back_of_its_parent(service: Service) -> None:
    """Where the branch left it another message has the same number, and may say the same."""
    await say(service, "I live in Lisbon.")
    for key in ("s2", "s3"):
        assert (await service.client.post("/sessions/s1/branch", json={"key": key})).status_code == 201
    await say(service, "I own a dog.", id="m-2")
    await end(service)
    [_, dog] = await facts(service)
    await service.client.delete(f"{FACTS}/{dog['id']}")
    await say(service, "I own a dog.", key="s2")
    await end(service, "s2")
    assert await texts(service) == ["User: I live in Lisbon.", "User: I own a dog."]
    assert (await service.client.delete("/sessions/s1/messages/m-2")).status_code == 200
    await say(service, "I own a boat.", key="s3")
    await end(service, "s3")
    assert await texts(service) == ["User: I live in Lisbon.", "User: I own a dog.", "User: I own a boat."]


async def taken_back(service: Service, *texts: str, key: str = "s1") -> None:
    """These are said, and all that is noted of them is deleted."""
    await say(service, *texts, key=key)
    await end(service, key)
    for fact in await facts(service):
        assert (await service.client.delete(f"{FACTS}/{fact['id']}")).status_code == 200


@pytest.mark.parametrize("parent", ["there", "gone"])
async def test_what_was_taken_back_of_a_parent_is_of_no_message_that_its_branch_has_not(
    service: Service, parent: str
) -> None:
    """As one that says the same after the branch point, also of the branch of a branch, or that was replaced."""
    await taken_back(service, "I own a boat.", "I own a dog.")
    for of, key, at_seq in (("s1", "s2", 2), ("s2", "s3", 1)):
        assert (await service.client.post(f"/sessions/{of}/branch", json={"key": key, "at_seq": at_seq})).is_success
    [first, _] = (await service.get("/sessions/s2/messages"))["items"]
    replaced = {"role": "user", "content": "I own a cat."}
    assert (await service.client.put(f"/sessions/s2/messages/{first['id']}", json=replaced)).status_code == 200
    await say(service, "I own a dog.", key="s3")
    if parent == "gone":
        assert (await service.client.delete("/sessions/s1")).status_code == 200
    for key in ("s3", "s2"):
        await end(service, key)
    assert await texts(service) == ["User: I own a dog.", "User: I own a cat."]


async def replace(service: Service, key: str, message: str, text: str) -> None:
    said = {"role": "user", "content": text}
    assert (await service.client.put(f"/sessions/{key}/messages/{message}", json=said)).status_code == 200


@pytest.mark.parametrize("middle", ["there", "replaced", "replaced before"])
async def test_what_was_taken_back_of_a_parent_stays_so_of_its_branches_though_its_message_is_replaced(
    service: Service, middle: str
) -> None:
    """Of those that have the message as it was: one has replaced it, another says the same after the branch point."""
    for number, text in enumerate(("I own a boat.", "I own a dog."), start=1):
        await say(service, text, id=f"m-{number}")
    for of, key, at_seq in (("s1", "s2", 2), ("s2", "s3", 2), ("s1", "s4", 2), ("s1", "s5", 1)):
        body = {"key": key, "at_seq": at_seq}
        assert (await service.client.post(f"/sessions/{of}/branch", json=body)).status_code == 201
    if middle == "replaced before":
        await replace(service, "s2", "m-2", "I own a bird.")
    await end(service)
    for fact in await facts(service):
        assert (await service.client.delete(f"{FACTS}/{fact['id']}")).status_code == 200
    await replace(service, "s4", "m-2", "I own a cat.")
    await say(service, "I own a dog.", key="s5")
    assert (await service.client.post("/sessions/s5/branch", json={"key": "s6"})).status_code == 201
    if middle == "replaced":
        await replace(service, "s2", "m-2", "I own a bird.")
    if middle != "there":
        assert (await service.client.delete("/sessions/s1")).status_code == 200
    else:
        await replace(service, "s1", "m-2", "I own a horse.")
    for key in ("s3", "s2", "s4"):
        await end(service, key)
    left = {"User: I own a cat.", "User: I own a horse." if middle == "there" else "User: I own a bird."}
    assert set(await texts(service)) == left
    await end(service, "s6")
    assert set(await texts(service)) == {*left, "User: I own a dog."}


async def test_what_a_branch_has_of_a_message_that_its_parent_replaced_is_noted_if_nobody_took_it_back(
    service: Service,
) -> None:
    await say(service, "I own a dog.", id="m-1")
    assert (await service.client.post("/sessions/s1/branch", json={"key": "s2"})).status_code == 201
    await replace(service, "s1", "m-1", "I own a cat.")
    for key in ("s1", "s2"):
        await end(service, key)
    assert await texts(service) == ["User: I own a cat.", "User: I own a dog."]


@pytest.mark.parametrize("namesake", ["there", "gone", "replaced"])
async def test_what_was_taken_back_of_a_session_is_so_of_no_branch_of_a_former_one_of_its_key(
    service: Service, namesake: str
) -> None:
    await say(service, "I own a dog.")
    assert (await service.client.post("/sessions/s1/branch", json={"key": "s2"})).status_code == 201
    assert (await service.client.delete("/sessions/s1")).status_code == 200
    await taken_back(service, "I own a dog.")
    if namesake == "gone":
        assert (await service.client.delete("/sessions/s1")).status_code == 200
    if namesake == "replaced":
        [message] = (await service.get("/sessions/s1/messages"))["items"]
        await replace(service, "s1", message["id"], "Hello.")
    await end(service, "s2")
    assert await texts(service) == ["User: I own a dog."]


async def test_what_was_corrected_of_a_parent_is_forgotten_of_a_branch_that_erased_the_message(
    service: Service, database_url: str
) -> None:
    """Also where retention took what the parent was told, so that nothing tells whether it was the same."""
    path = await told_of_ana(service)
    await service.client.patch(path, json={"valid_from": "2020-05-07T00:00:00Z"})
    assert (await service.client.post("/sessions/s1/branch", json={"key": "s2"})).status_code == 201
    assert (await service.client.delete("/sessions/s2/messages/m-1")).status_code == 200
    connection = await asyncpg.connect(database_url)
    await connection.execute(f"{EXPIRED} AND s.key = 's1'")
    await connection.close()
    assert (await service.client.delete("/sessions/s1")).status_code == 200
    assert await columns_with("2020-05-07", database_url) == set()


@pytest.mark.parametrize("first", ["Hello.", "I live in Lisbon."])
async def test_what_a_message_says_that_was_replaced_is_noted(service: Service, first: str) -> None:
    """Also where nothing was noted of it, or somebody has taken back what was."""
    await say(service, first, "I prefer a window seat.")
    await end(service)
    for fact in await facts(service):
        await service.client.delete(f"{FACTS}/{fact['id']}")
    [message, _] = (await service.get("/sessions/s1/messages"))["items"]
    path = f"/sessions/s1/messages/{message['id']}"
    assert (await service.client.put(path, json={"role": "user", "content": "I live in Porto."})).status_code == 200
    await service.context("s1", wait_ms=WAIT_MS)
    assert await texts(service, validity="all") == ["User: I live in Porto."]


async def test_what_was_taken_back_of_a_session_goes_with_it(service: Service) -> None:
    for _ in range(2):
        await say(service, "I live in Lisbon.")
        await end(service)
        [fact] = await facts(service)
        assert (await service.client.delete(f"{FACTS}/{fact['id']}")).json()["deleted"] == 1
        assert (await service.client.delete(f"{FACTS}/{fact['id']}")).json()["deleted"] == 0
        assert (await service.client.delete("/sessions/s1")).json()["rows"]["facts"] == 0
    await say(service, "I live in Lisbon.")
    await end(service)
    assert await texts(service) == ["User: I live in Lisbon."]
    assert (await service.client.delete("/resources/ana")).json()["rows"]["facts"] == 1


async def test_what_was_taken_back_of_a_session_that_shares_its_memory_goes_with_it(service: Service) -> None:
    body = {"resource_id": "ana", "config": {"scope": "resource"}}
    for key in ("s1", "s2"):
        assert (await service.client.put(f"/sessions/{key}", json=body)).status_code == 201
    for number, text in enumerate(("I live in Lisbon.", "I prefer a window seat."), start=1):
        await say(service, text, id=f"m-{number}")
    await service.observe("s1")
    await end(service)
    assert len(await facts(service)) == 2
    assert (await service.client.delete("/sessions/s1/messages/m-1")).status_code == 200
    await service.context("s1", wait_ms=WAIT_MS)
    assert await texts(service) == ["User: I prefer a window seat."]


async def test_a_message_that_is_replaced_is_read_anew(service: Service) -> None:
    await say(service, "I live in Lisbon.", id="m-1")
    await end(service)
    answer = await service.client.put("/sessions/s1/messages/m-1", json={"role": "user", "content": "I live in Porto."})
    assert answer.status_code == 200
    assert await facts(service) == []
    await end(service)
    assert await texts(service) == ["User: I live in Porto."]


async def test_what_waits_to_be_read_again_is_read_though_a_later_message_is_replaced_too(service: Service) -> None:
    for number, text in enumerate(("I live in Lisbon.", "I prefer a window seat.", "I own a dog."), start=1):
        await say(service, text, id=f"m-{number}")
    await end(service)
    await say(service, "Hello.")
    for name, text in (("m-1", "I live in Porto."), ("m-3", "I own a cat.")):
        answer = await service.client.put(f"/sessions/s1/messages/{name}", json={"role": "user", "content": text})
        assert answer.status_code == 200, answer.text
    await end(service)
    told = {"User: I live in Porto.", "User: I prefer a window seat.", "User: I own a cat."}
    assert set(await texts(service)) == told


async def test_what_a_caller_noted_of_a_message_goes_when_that_is_replaced(service: Service) -> None:
    await say(service, "I live in Lisbon.", id="m-1")
    await say(service, "I work in a bakery.", id="m-2")
    for text, seq in (("Lives in Lisbon", 1), ("Works in a bakery", 2)):
        noted = {"text": text, "sources": [{"session": "s1", "cites": [seq]}]}
        assert (await service.client.post(FACTS, json=noted)).status_code == 201
    answer = await service.client.put("/sessions/s1/messages/m-1", json={"role": "user", "content": "I live in Porto."})
    assert answer.status_code == 200
    assert await texts(service) == ["Works in a bakery"]


async def test_a_branch_takes_no_facts_from_what_its_parent_was_read_for(service: Service) -> None:
    await say(service, "I live in Lisbon.")
    await end(service)
    await service.client.delete(FACTS)
    assert (await service.client.post("/sessions/s1/branch", json={"key": "s2"})).status_code == 201
    await say(service, "I prefer a window seat.", key="s2")
    await end(service, "s2")
    assert await texts(service) == ["User: I prefer a window seat."]


def test_a_branch_inherits_what_holds_of_the_messages_that_it_has() -> None:
    parent, branch = UUID(int=1), UUID(int=2)
    both, one, other = (refusal(parent, "s1", cites) for cites in ((1, 2), (2,), (3,)))
    overrides = Overrides(unwanted=frozenset({1, 3}), corrections=(both, other, one))

    found = overrides.of(branch, "b1", within={1, 2})

    assert found.unwanted == {1}
    assert [(of.source.session_id, of.source.session, of.source.cites) for of in found.corrections] == [
        (branch, "b1", (1, 2)),
        (branch, "b1", (2,)),
    ]
