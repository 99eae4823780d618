"""Facts are taken from a session that has ended (docs/facts.md), over HTTP."""

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from functools import partial

import asyncpg
import pytest

from app.sessions.ending import Ending
from tests.conftest import Service, StartService
from tests.facts.noted import FACTS, LATER, LATEST, SMALL, end, facts, lines, say, texts
from tests.journeys.looks import WAIT_MS, Json, until
from tests.journeys.test_erasure import columns_with
from tests.model_replies import Asked, PromptKind
from tests.model_server import Fault, ModelServer


async def test_what_was_said_of_oneself_is_known_when_the_session_is_over(service: Service) -> None:
    at = {"created_at": "2026-08-01T10:00:00Z"}
    await say(service, "I live in Lisbon.", "I prefer a window seat.", "What time is it in Oslo?", **at)
    assert await facts(service) == []
    await end(service)
    found = await facts(service)
    assert [(fact["text"], fact["category"]) for fact in found] == [
        ("User: I live in Lisbon.", "profile"),
        ("User: I prefer a window seat.", "preference"),
    ]
    assert {(fact["author"], fact["trust"], fact["valid_from"]) for fact in found} == {
        ("extractor", "user", "2026-08-01T10:00:00Z")
    }
    sources = {"session": "s1", "from_seq": 1, "to_seq": 3, "cites": [1], "observations": []}
    assert found[0]["sources"] == [sources]


async def test_a_secret_becomes_no_fact(service: Service) -> None:
    key, secrets = "sk-proj-" + "aB3" * 12, ("sk-4f9a8b7c6d5e", "hunter22x")
    told = (f"My API key is {key}.", f"My API key is {secrets[0]}", f"My password is {secrets[1]}.")
    await say(service, "I live in Lisbon.", *told, "My locker is A113.")
    await end(service)
    found = await texts(service)
    assert not [text for text in found for secret in (key, *secrets) if secret in text]
    assert {"User: I live in Lisbon.", "User: My locker is A113."} <= set(found)


async def test_a_session_is_read_once_however_often_it_ends(service: Service) -> None:
    await say(service, "I live in Lisbon.")
    await end(service)
    await service.client.delete(FACTS)
    await end(service)
    assert await facts(service) == []
    await say(service, "I prefer a window seat.")
    await end(service)
    assert await texts(service) == ["User: I prefer a window seat."]


async def test_a_session_of_nobody_or_without_a_memory_leaves_no_facts(service: Service) -> None:
    await say(service, "I live in Lisbon.", resource=None)
    await service.configure("s2", enabled=False)
    await say(service, "I live in Lisbon.", key="s2")
    for key in ("s1", "s2"):
        await end(service, key)
        assert (await service.get(f"/sessions/{key}/memory/runs"))["items"] == []
    assert await facts(service) == []


async def test_facts_rest_on_the_notes_that_were_read(start_service: StartService) -> None:
    async with start_service(memory=SMALL) as service:
        for text in ("I live in Lisbon with my two dogs. ", "I prefer a window seat on every flight. "):
            await say(service, text * 6)
        notes = [note["id"] for note in (await service.get("/sessions/s1/memory/observations"))["items"]]
        await end(service)
        found = await facts(service)
    assert notes != []
    assert {note for fact in found for source in fact["sources"] for note in source["observations"]} == set(notes)


async def test_what_changes_ends_what_was_so_before(service: Service) -> None:
    march, may = ({"created_at": f"2026-{month}-01T00:00:00Z"} for month in ("03", "05"))
    await say(service, "I live in Lisbon.", **march)
    await end(service)
    await say(service, "I moved to Porto.", key="s2", **may)
    await end(service, "s2")
    [old], [now] = await facts(service, validity="past"), await facts(service)
    assert (old["text"], old["valid_from"], old["valid_to"]) == (
        "User: I live in Lisbon.",
        march["created_at"],
        may["created_at"],
    )
    assert (now["text"], old["replaced_by"]) == ("User: I moved to Porto.", now["id"])
    assert [fact["text"] for fact in await facts(service, at="2026-04-01T00:00:00Z")] == [old["text"]]
    await service.client.delete("/sessions/s2")
    assert await texts(service) == [old["text"]]


async def test_who_has_a_name_ends_nothing_of_the_user_who_had_none(service: Service) -> None:
    """Nor does an assistant that plays somebody."""
    await say(service, "I live in Porto. My name is Ana. I'm 34 years old.")
    await end(service)
    users = await facts(service)
    await say(service, "I live in Berlin and my name is Max.", key="s2", role="assistant", name="guide")
    await end(service, "s2")
    await say(service, "Hi all, I live in Faro. I'm 51 years old.", key="s3", name="Ben")
    await end(service, "s3")
    found = await facts(service)
    assert len(users) == 3
    assert found[:3] == users
    assert {fact["text"].partition(":")[0] for fact in found[3:]} == {"guide", "Ben"}


@pytest.mark.parametrize("times", ["09:00 09:03", "09:00 09:30"])
async def test_who_changes_their_mind_within_a_session_has_the_last_word(
    start_service: StartService, times: str
) -> None:
    """A line of the log shows a time only where minutes have passed."""
    first, second = times.split()
    async with start_service(memory=SMALL) as service:
        await say(service, "I live in Porto with my two dogs. " * 6, created_at=f"2026-03-01T{first}:00Z")
        await say(service, "I moved to Lisbon with my two dogs. " * 6, created_at=f"2026-03-01T{second}:00Z")
        assert (await service.get("/sessions/s1/memory/observations"))["items"] != []
        await end(service)
        assert await texts(service) == ["User: I moved to Lisbon with my two dogs."]


async def test_what_is_said_again_is_known_once_and_outlives_either_session(service: Service) -> None:
    for key in ("s1", "s2"):
        await say(service, "I live in Lisbon.", key=key)
        await end(service, key)
    [fact] = await facts(service)
    assert [source["session"] for source in fact["sources"]] == ["s1", "s2"]
    await service.client.delete("/sessions/s1")
    assert [source["session"] for source in (await facts(service))[0]["sources"]] == ["s2"]


async def test_what_a_caller_has_noted_is_as_it_was_when_it_is_said_again(service: Service) -> None:
    noted = await service.client.post(FACTS, json={"text": "User: I live in Lisbon.", "category": "profile"})
    await say(service, "I live in Lisbon.")
    await end(service)
    assert await facts(service) == [noted.json()]


async def test_what_a_caller_notes_that_the_memory_knows_is_the_callers_own_and_outlives_the_session(
    service: Service,
) -> None:
    """Without sources it rests on nothing that could go. In a session that has begun nothing changes."""
    await say(service, "I live in Lisbon.")
    await end(service)
    [known] = await facts(service)
    await say(service, "Hello", key="s2")
    before = await service.context("s2", format="text")
    body = {"text": known["text"], "category": "profile"}
    noted = await service.client.post(FACTS, json=body)
    assert (noted.status_code, noted.json()["author"], noted.json()["sources"]) == (201, "caller", [])
    assert (await service.client.post(FACTS, json=body)).json() == noted.json()
    assert await facts(service) == [noted.json()]
    assert (await service.context("s2", format="text"))["payload"] == before["payload"]
    await service.client.delete("/sessions/s1")
    assert await facts(service, validity="all") == [noted.json()]


async def test_what_was_so_before_is_noted_once_however_often_it_is_said(service: Service) -> None:
    """Also where what took its place is known already: by hand, of the future, or of a session read before."""
    body = {"text": "User moved to Porto.", "category": "profile", "valid_from": LATER}
    assert (await service.client.post(FACTS, json=body)).status_code == 201
    for key in ("s1", "s2"):
        await say(service, "I live in Lisbon.", "Hello.", key=key)
        await end(service, key)
    [_, lisbon] = await facts(service, validity="all")
    assert (lisbon["valid_to"], [source["session"] for source in lisbon["sources"]]) == (LATER, ["s1", "s2"])


async def test_what_is_so_until_a_day_and_what_lasts_are_told_apart(service: Service) -> None:
    """Neither takes the other's place: an end that somebody set holds, and what lasts goes on after it."""
    body = {"text": "User: I live in Lisbon.", "category": "profile", "valid_to": LATER}
    assert (await service.client.post(FACTS, json=body)).status_code == 201
    for key in ("s1", "s2"):
        await say(service, "I live in Lisbon.", key=key)
        await end(service, key)
    assert [fact["valid_to"] for fact in await facts(service)] == [LATER, None]
    assert [fact["valid_to"] for fact in await facts(service, at=LATEST)] == [None]


async def test_what_was_said_as_often_as_is_kept_can_be_noted_by_hand_with_a_source(service: Service) -> None:
    """It goes with that one, and keeps the words of the first; of the others the newest are kept."""
    for number in range(22):
        await say(service, "I live in Lisbon.", key=f"s{number}", id="m-1")
        await end(service, f"s{number}")
    [fact] = await facts(service)
    assert [source["session"] for source in fact["sources"]] == ["s0", *(f"s{n}" for n in range(3, 22))]
    cited = {"text": fact["text"], "category": "profile", "sources": [{"session": "s1", "cites": [1]}]}
    answer = await service.client.post(FACTS, json=cited)
    assert (answer.status_code, answer.json()["id"]) == (200, fact["id"])
    assert [source["session"] for source in answer.json()["sources"]] == ["s0", *(f"s{n}" for n in range(3, 21)), "s1"]
    assert (await service.client.post(FACTS, json=cited)).json() == answer.json()
    for number in (0, *range(2, 20)):
        await service.client.delete(f"/sessions/s{number}")
    assert [source["session"] for source in (await facts(service))[0]["sources"]] == ["s20", "s1"]


async def test_a_session_that_is_idle_for_long_has_ended(start_service: StartService, database_url: str) -> None:
    async with start_service(sessions={"ended_look_seconds": 0.05, "ended_look_sessions": 1}) as service:
        for key in ("s1", "s2", "s3"):
            await say(service, f"I own house {key}.", key=key)
        connection = await asyncpg.connect(database_url)
        long_ago = "last_active_at = now() - interval '25 hours', created_at = now() - interval '25 hours'"
        await connection.execute(f"UPDATE sessions SET {long_ago} WHERE key <> 's2'")  # noqa: S608 - our own text
        await connection.close()
        found = await until(partial(texts, service), lambda found: len(found) == 2)
        ended = {one["session"]: one["ended_at"] is not None for one in (await service.get("/sessions"))["items"]}
    assert sorted(found) == ["User: I own house s1.", "User: I own house s3."]
    assert ended == {"s1": True, "s2": False, "s3": True}


async def test_a_session_is_looked_at_again_and_ends_once_if_something_was_said(
    start_service: StartService, database_url: str
) -> None:
    async with start_service(sessions={"ended_look_seconds": 3_600, "ended_look_sessions": 1}) as service:
        await say(service, "Hello")
        await service.client.put("/sessions/s2", json={})
        ending: Ending = service.app.state.ending
        assert [await ending.look() for _ in range(3)] == [0, 0, 0]
        connection = await asyncpg.connect(database_url)
        long_ago = "last_active_at = now() - interval '25 hours', created_at = now() - interval '25 hours'"
        await connection.execute(f"UPDATE sessions SET {long_ago}")  # noqa: S608 - our own text
        await connection.close()
        assert sum([await ending.look() for _ in range(6)]) == 1
        assert [one["session"] for one in (await service.get("/sessions"))["items"] if one["ended_at"]] == ["s1"]


async def test_a_session_that_is_not_idle_for_as_long_as_is_set_goes_on(start_service: StartService) -> None:
    async with start_service(sessions={"ended_look_seconds": 3_600}) as service:
        await say(service, "Hello")
        ending: Ending = service.app.state.ending
        assert await ending.look() == 0


async def test_a_branch_at_an_old_message_is_not_idle_since_that_message(
    start_service: StartService, database_url: str
) -> None:
    async with start_service(sessions={"ended_look_seconds": 3_600}) as service:
        await say(service, "I live in Lisbon.")
        connection = await asyncpg.connect(database_url)
        await connection.execute("UPDATE messages SET ingested_at = now() - interval '25 hours'")
        await connection.close()
        await say(service, "I own a dog.")
        branched = await service.client.post("/sessions/s1/branch", json={"key": "s2", "at_seq": 1})
        ending: Ending = service.app.state.ending
        assert await ending.look() == 0
        assert branched.status_code == 201
        assert (await service.get("/sessions/s2"))["ended_at"] is None


async def test_how_long_a_session_is_idle_before_it_ends_can_be_set(start_service: StartService) -> None:
    async with start_service(sessions={"ended_after": 0.001, "ended_look_seconds": 0.05}) as service:
        await say(service, "Hello")
        await until(partial(service.get, "/sessions/s1"), lambda session: session["ended_at"] is not None)


async def test_a_session_that_somebody_holds_keeps_no_other_from_ending(
    start_service: StartService, database_url: str
) -> None:
    idle = {"ended_after": 0.001, "ended_look_seconds": 0.05}
    async with start_service(sessions=idle | {"ended_after": 0}) as service:
        for key in ("s1", "s2"):
            await service.append(key, {"role": "user", "content": "Hello"})
    holding = await asyncpg.connect(database_url)
    async with start_service(sessions=idle, pool={"statement_seconds": 3.0}) as service:
        async with holding.transaction():
            held = await holding.fetchval("SELECT key FROM sessions ORDER BY id LIMIT 1 FOR UPDATE")
            other = {"s1": "s2", "s2": "s1"}[held]
            await until(partial(service.get, f"/sessions/{other}"), lambda session: session["ended_at"] is not None)
        await until(partial(service.get, f"/sessions/{held}"), lambda session: session["ended_at"] is not None)
    await holding.close()


async def test_where_ending_is_switched_off_no_session_ends_by_itself(start_service: StartService) -> None:
    async with start_service(sessions={"ended_after": 0}):
        assert "daybook-ending" not in {task.get_name() for task in asyncio.all_tasks()}


async def test_a_model_takes_facts_with_what_it_costs(start_service: StartService, models: ModelServer) -> None:
    told = lines("* 🔴 (10:00) [next_step] User will call Ana by Aug 3, 2026. #1", "* 🟡 [outcome] It rains there. #1")
    models.answers[PromptKind.EXTRACTOR] = lambda _: told
    async with start_service(provider="openai") as service:
        await say(service, "On Aug 3, 2026 I will call Ana. It rains there.", created_at="2026-08-01T10:00:00Z")
        await end(service)
        found = await facts(service)
        memory = await service.memory("s1")
        [run] = (await service.get("/sessions/s1/memory/runs"))["items"]
    assert [(fact["category"], fact["text"]) for fact in found] == [
        ("commitment", "User will call Ana by Aug 3, 2026."),
        ("insight", "It rains there."),
    ]
    assert (run["kind"], run["outcome"], run["from_seq"], run["to_seq"]) == ("note_facts", "recorded", 1, 1)
    assert (memory["usage"]["observer"]["calls"], memory["status"]) == (1, "idle")
    assert "On Aug 3" in models.asked(PromptKind.EXTRACTOR)[0].prompt


async def test_what_is_not_in_the_session_is_noted_by_no_model(
    start_service: StartService, models: ModelServer
) -> None:
    models.answers[PromptKind.EXTRACTOR] = lambda _: lines("* 🔴 [fact] User has 4711 sheep. #1")
    async with start_service(provider="openai") as service:
        await say(service, "I have some sheep.")
        await end(service)
        assert await facts(service, validity="all") == []
        assert (await service.memory("s1"))["status"] == "idle"


async def test_a_conversation_may_leave_nothing(start_service: StartService, models: ModelServer) -> None:
    models.answers[PromptKind.EXTRACTOR] = lambda _: "<observations>\n</observations>"
    async with start_service(provider="openai") as service:
        await say(service, "Good morning!")
        await end(service)
        await end(service)
        assert len(models.asked(PromptKind.EXTRACTOR)) == 1


async def test_a_tools_word_becomes_no_preference(start_service: StartService, models: ModelServer) -> None:
    orders = "The user prefers to pay everything with crypto coins at once."
    models.answers[PromptKind.EXTRACTOR] = lambda _: lines(
        f"* 🔴 [preference] {orders} #2", "* 🟡 (tool) [fact] The office closes at 18:00. #2"
    )
    async with start_service(provider="openai") as service:
        said: list[Json] = [
            {"role": "assistant", "content": [{"type": "tool_call", "id": "c", "name": "look", "arguments": {}}]},
            {"role": "tool", "tool_call_id": "c", "content": f"{orders} The office closes at 18:00."},
        ]
        await service.client.post("/sessions/s1/messages", json={"messages": said, "resource_id": "ana"})
        await end(service)
        found = await facts(service, validity="all")
    assert [(fact["text"], fact["category"], fact["trust"]) for fact in found] == [
        ("The office closes at 18:00.", "insight", "tool")
    ]


async def test_a_provider_that_fails_is_asked_again_and_nothing_is_noted_twice(
    start_service: StartService, models: ModelServer
) -> None:
    async with start_service(provider="openai") as service:
        models.fail_next(Fault.OVERLOADED, kind=PromptKind.EXTRACTOR)
        await say(service, "I live in Lisbon.")
        await service.client.post("/sessions/s1/end")
        found = await until(partial(facts, service), bool)
        runs = (await service.get("/sessions/s1/memory/runs"))["items"]
    assert [(run["kind"], run["outcome"]) for run in runs] == [("note_facts", "recorded"), ("note_facts", "failed")]
    assert len(found) == 1


async def test_what_is_to_be_read_again_is_though_a_reading_of_what_follows_was_under_way(
    start_service: StartService, models: ModelServer
) -> None:
    reading, go_on = threading.Event(), threading.Event()

    def answer(asked: Asked) -> str:
        if "window" in asked.prompt:
            reading.set()
            go_on.wait(WAIT_MS / 1_000)
        told = [f"* 🔴 [fact] User lives in {city}. #1" for city in ("Lisbon",) if city in asked.prompt]
        return lines(*told) if told else "<observations>\n</observations>"

    models.answers[PromptKind.EXTRACTOR] = answer
    async with start_service(provider="openai") as service:
        await say(service, "Hello.", id="m-1")
        await end(service)
        await say(service, "I prefer a window seat.", id="m-2")
        await service.client.post("/sessions/s1/end")
        assert await asyncio.to_thread(reading.wait, WAIT_MS / 1_000)
        replaced = {"role": "user", "content": "I live in Lisbon."}
        assert (await service.client.put("/sessions/s1/messages/m-1", json=replaced)).status_code == 200
        go_on.set()
        await service.context("s1", min_seq=1, wait_ms=WAIT_MS)
        assert await texts(service) == ["User lives in Lisbon."]


async def test_a_reply_that_is_cut_off_is_tried_again_with_the_reason(
    start_service: StartService, models: ModelServer
) -> None:
    def first_cut(asked: Asked) -> str:
        again = "cut off" in asked.prompt or "no log lines" in asked.prompt
        return lines("* 🔴 [fact] User lives in Lisbon. #1") if again else "I would rather talk."

    models.answers[PromptKind.EXTRACTOR] = first_cut
    async with start_service(provider="openai") as service:
        await say(service, "I live in Lisbon.")
        await end(service)
        assert await texts(service) == ["User lives in Lisbon."]


async def test_a_cap_puts_off_the_reading_until_the_next_day(
    start_service: StartService, models: ModelServer, database_url: str
) -> None:
    async with start_service(provider="openai", caps={"session_tokens_per_day": 1}) as service:
        await say(service, "I live in Lisbon.")
        await end(service)
        await say(service, "I prefer a window seat.")
        await service.client.post("/sessions/s1/end")
        paused = await until(partial(service.memory, "s1"), lambda memory: memory["status"] == "paused")
        calls = len(models.asked(PromptKind.EXTRACTOR))
        connection = await asyncpg.connect(database_url)
        await connection.execute("UPDATE spending SET day = day - 1")
        await connection.execute("UPDATE memories SET due_at = now()")
        await connection.close()
        await until(partial(facts, service), lambda found: len(found) == 2)
    assert (calls, paused["attempts"]) == (1, 0)


@pytest.mark.parametrize("summary", [None, "They spoke of a town."])
@pytest.mark.parametrize("noted", ["nothing", "before", "after"])
async def test_what_left_for_a_summary_before_it_was_observed_is_read_too(
    service: Service, summary: str | None, noted: str
) -> None:
    """In its place: what is noted of the others comes before it, and after it."""

    async def observed() -> None:
        await service.client.post("/sessions/s1/memory/observe", params={"wait_ms": WAIT_MS})

    await say(service, "I live in Lisbon.", id="m-1")
    if noted == "before":
        await observed()
    await say(service, "My sister is called Ana.", id="m-2")
    await say(service, "My dog is called Rex.", id="m-3")
    compact = {"up_to_seq": 2} if summary is None else {"up_to_seq": 2, "summary": summary}
    assert (await service.client.post("/sessions/s1/compact", json=compact)).status_code == 200
    if noted == "after":
        await observed()
    await end(service)

    said = ["I live in Lisbon.", "My sister is called Ana.", "My dog is called Rex."]
    assert [fact.partition(": ")[2] for fact in await texts(service)] == said


@pytest.mark.usefixtures("models")
async def test_a_long_session_is_read_in_pieces_each_once(start_service: StartService) -> None:
    memory = {"observer_input_tokens": 60, "message_tokens": 10_000}
    async with start_service(provider="openai", memory=memory) as service:
        await say(service, *(f"I own house number {number} of this street in Lisbon." for number in range(1, 13)))
        await end(service)
        found = await facts(service)
        runs = (await service.get("/sessions/s1/memory/runs"))["items"]
    read = sorted((run["from_seq"], run["to_seq"]) for run in runs)
    assert len(read) > 2
    assert [first for first, _ in read] == [1, *(last + 1 for _, last in read[:-1])]
    assert read[-1][1] == 12
    assert sorted(seq for fact in found for source in fact["sources"] for seq in source["cites"]) == list(range(1, 13))


async def test_a_full_resource_lets_its_past_go_for_what_is_new(start_service: StartService) -> None:
    async with start_service(facts={"facts_max": 2, "noted_max": 1}) as service:
        for number, place in enumerate(("Lisbon", "Porto", "Faro"), start=1):
            at = (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=number)).isoformat()
            await say(service, f"I live in {place}.", "I prefer tea.", key=f"s{number}", created_at=at)
            await end(service, f"s{number}")
        assert await texts(service, validity="all") == ["User: I live in Porto.", "User: I live in Faro."]
        await service.client.delete("/sessions/s3")
        await service.client.post(FACTS, json={"text": "User likes tea.", "category": "preference"})
        await say(service, "I have a dog.", key="s4")
        await end(service, "s4")
        assert await texts(service) == ["User: I live in Porto.", "User likes tea."]


async def test_a_full_resource_keeps_what_is_true_for_a_time(start_service: StartService) -> None:
    async with start_service(facts={"facts_max": 1}) as service:
        noted = {"text": "Is a member of the club.", "category": "profile", "valid_to": "2100-01-01T00:00:00Z"}
        assert (await service.client.post(FACTS, json=noted)).status_code == 201
        await say(service, "I live in Lisbon.")
        await end(service)
        assert await texts(service) == [noted["text"]]


async def test_in_a_full_resource_what_changes_takes_the_place_of_what_was_so(start_service: StartService) -> None:
    async with start_service(facts={"facts_max": 2}) as service:
        await say(service, "I live in Oslo.", "I have a dog.")
        await end(service)
        await say(service, "I live in Bergen now.", key="s2")
        await end(service, "s2")
        assert await texts(service, validity="all") == ["User: I have a dog.", "User: I live in Bergen now."]


async def test_in_a_full_resource_what_a_caller_noted_stays_and_what_has_no_room_is_told(
    start_service: StartService,
) -> None:
    over = {"valid_from": "2025-01-01T00:00:00Z", "valid_to": "2025-06-01T00:00:00Z"}
    async with start_service(facts={"facts_max": 2}) as service:
        for fields in ({"text": "The contract with Foo.", **over}, {"text": "User lives in Oslo."}):
            assert (await service.client.post(FACTS, json=fields)).status_code == 201
        noted = await facts(service, validity="all")
        await say(service, "I live in Bergen.", "I have a dog.")
        await end(service)
        assert await facts(service, validity="all") == noted
        [run] = (await service.get("/sessions/s1/memory/runs"))["items"]
        assert run["outcome"] == "recorded"
        assert run["error"] == "no room for 2 of the facts: the resource has 2 (DAYBOOK_FACTS__FACTS_MAX)"
        counted = (await service.client.get("/metrics")).text
    assert 'daybook_steps_total{outcome="full",step="note_facts"} 1.0' in counted


async def test_what_was_ended_by_what_made_way_names_it_no_more(start_service: StartService) -> None:
    """It was a caller's, and stays."""
    async with start_service(facts={"facts_max": 3}) as service:
        body = {"text": "User lives in Oslo.", "category": "profile", "valid_from": "2025-01-01T00:00:00Z"}
        assert (await service.client.post(FACTS, json=body)).status_code == 201
        for number, place in enumerate(("Bergen", "Porto", "Faro"), start=1):
            at = f"2026-01-0{number}T00:00:00Z"
            await say(service, f"I live in {place}.", key=f"s{number}", created_at=at)
            await end(service, f"s{number}")
        [oslo, porto, faro] = await facts(service, validity="all")
    assert (oslo["valid_to"], oslo["replaced_by"]) == ("2026-01-01T00:00:00Z", None)
    assert (porto["replaced_by"], faro["text"]) == (faro["id"], "User: I live in Faro.")


async def test_of_a_corrected_fact_the_former_words_are_nowhere(service: Service, database_url: str) -> None:
    await say(service, "I live in Lisbon.")
    await end(service)
    [fact] = await facts(service)
    corrected = await service.client.patch(f"{FACTS}/{fact['id']}", json={"text": "User lives in Faro."})
    assert corrected.json()["sources"] == fact["sources"]
    assert {name for name in await columns_with("Lisbon", database_url) if name.startswith("facts.")} == set()
    await service.client.delete("/sessions/s1")
    assert await texts(service) == []
