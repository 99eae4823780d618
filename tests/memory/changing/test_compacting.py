"""Messages leave the tail for a summary, over HTTP (api.md, Sessions; memory-rules.md 3.9)."""

import asyncio
import json
from pathlib import Path
from typing import Any

import asyncpg
import httpx2 as httpx
import pytest

from app.context.store import LOOK_BACK
from app.memory.changing.compacting import TRIES
from app.sessions.store import session_id
from tests.conftest import Service, StartService
from tests.fuzz import laws
from tests.journeys.looks import Json, items
from tests.memory.changing.test_branching import AHEAD
from tests.memory.changing.test_erasing import NOTE, failing_after
from tests.redaction import hooks
from tests.sessions.test_routes import said
from tests.test_problems import assert_problem

IN_NOTES = "What is noted of them so far is in the notes above."
FACT = "I paid the invoice of {n}20 euros for Ana in Porto on May {n}, and we decided to keep the shop. "
CALL = {"role": "assistant", "content": [{"type": "tool_call", "id": "c1", "name": "search", "arguments": {}}]}
RESULT = {"role": "tool", "content": [{"type": "tool_result", "tool_call_id": "c1", "output": "found"}]}
OBSERVING = {"message_tokens": 100, "buffer_every": None, "retain_tokens": 0, "keep_last": 0}


async def compact(service: Service, up_to_seq: int, summary: str | None = None, key: str = "s1") -> httpx.Response:
    body = {"up_to_seq": up_to_seq} | ({} if summary is None else {"summary": summary})
    return await service.client.post(f"/sessions/{key}/compact", json=body)


async def compacted(service: Service, up_to_seq: int, summary: str | None = None) -> Json:
    answer = await compact(service, up_to_seq, summary)
    assert answer.status_code == 200, answer.text
    done: Json = answer.json()
    return done


async def tail(service: Service, **parameters: Any) -> list[str]:
    """The texts of the messages in a context, without the note that leads to them and what changes by the turn."""
    context = await service.context("s1", explain=True, **parameters)
    texts = [part["text"] for message in context["payload"]["messages"] for part in message["content"]]
    return [text for text in texts if not text.startswith(("<context>", "(The conversation"))]


async def coverage(service: Service) -> list[tuple[int, int, str]]:
    memory = await service.memory("s1")
    assert memory["coverage"]["gaps"] == []
    return [(one["from"], one["to"], one["by"]) for one in memory["coverage"]["intervals"]]


async def five(service: Service, *, n: int = 5) -> None:
    roles = ("user", "assistant")
    await service.append("s1", *({"role": roles[i % 2], "content": FACT.format(n=i + 1)} for i in range(n)))


async def test_a_summary_takes_the_place_of_the_messages_up_to_there(service: Service) -> None:
    await five(service)
    done = await compacted(service, 3, "Invoices 1 to 3 were paid.")
    summary = await service.get(f"/sessions/s1/messages/{done['summary']['id']}")
    assert (done["session"], done["version"], done["up_to_seq"], done["summary"]) == ("s1", 1, 3, summary)
    assert (summary["seq"], summary["kind"], summary["up_to_seq"]) == (6, "summary", 3)
    assert summary["content"] == [{"type": "text", "text": "Invoices 1 to 3 were paid."}]
    heading, *shown = await tail(service)
    assert heading == "(Messages #1-#3 are no longer shown. In short:)"
    assert shown == ["Invoices 1 to 3 were paid.", FACT.format(n=4), FACT.format(n=5)]
    assert await coverage(service) == [(1, 3, "summary:6"), (4, 6, "tail")]


async def test_the_messages_stay_readable_and_are_sealed(service: Service) -> None:
    await five(service)
    before = await items(service, "/sessions/s1/messages")
    await compacted(service, 3, "Short.")
    after = await items(service, "/sessions/s1/messages")
    assert after[:5] == [message | {"sealed": message["seq"] <= 3} for message in before]
    assert [message["up_to_seq"] for message in after] == [None] * 5 + [3]


async def test_no_summary_is_pending_however_many_came_or_were_erased(service: Service) -> None:
    await service.configure("s1", **OBSERVING | {"message_tokens": 10_000})
    await five(service)
    await compacted(service, 2, "Short.")
    newest = await compacted(service, 4, "Shorter.")
    before = await service.memory("s1")
    erased = await service.client.delete(f"/sessions/s1/messages/{newest['summary']['id']}")
    after = await service.memory("s1")

    assert (before["pending"]["messages"], before["cursor"]["last_seq"]) == (1, 7)
    assert (erased.status_code, after["pending"]["messages"]) == (200, 1)


async def test_what_left_is_pending_no_more_and_never_observed(service: Service) -> None:
    await service.configure("s1", **OBSERVING | {"message_tokens": 10_000})
    await five(service)
    await compacted(service, 3, "Short.")
    left = sum(message["tokens"] for message in (await items(service, "/sessions/s1/messages"))[3:5])
    memory = await service.memory("s1")
    assert (memory["pending"]["tokens"], memory["pending"]["messages"]) == (left, 2)
    assert (memory["cursor"]["observed_seq"], memory["cursor"]["tail_from_seq"]) == (3, 4)
    await service.observe("s1")
    (observation,) = await items(service, "/sessions/s1/memory/observations")
    assert (observation["from_seq"], observation["to_seq"]) == (4, 6)
    assert [by for _, _, by in await coverage(service)] == ["summary:6", f"observation:{observation['id']}", "skip"]


async def test_without_a_summary_what_no_note_tells_is_condensed_without_a_model(service: Service) -> None:
    await five(service)
    done = await compacted(service, 4)
    (part,) = done["summary"]["content"]
    assert "Ana in Porto" in part["text"]
    assert part["text"].startswith("Date: ")
    assert IN_NOTES not in part["text"]


async def test_what_the_notes_tell_is_not_told_again(service: Service) -> None:
    await service.configure("s1", **OBSERVING)
    await service.append("s1", *(said(FACT.format(n=n)) for n in range(1, 7)), wait_ms=50_000)
    observed = (await service.memory("s1"))["cursor"]["observed_seq"]
    await service.append("s1", said("Good morning."), said("The train leaves at 9:15."), said("Bye."))
    noted = await compacted(service, observed)
    more = await compacted(service, observed + 2)
    assert [part["text"] for part in noted["summary"]["content"]] == [IN_NOTES]
    first, second = (part["text"] for part in more["summary"]["content"])
    assert first == IN_NOTES
    assert "train leaves" in second
    assert "Ana" not in second
    by = [name.partition(":")[0] for _, _, name in await coverage(service)]
    assert by == ["observation", "summary", "tail"]


async def test_a_later_compaction_absorbs_the_former_summary(service: Service) -> None:
    await five(service)
    await compacted(service, 2, "Two invoices.")
    await service.append("s1", said("The shop is sold for 900 euros."), said("Bye."))
    done = await compacted(service, 7)
    first, second = (part["text"] for part in done["summary"]["content"])
    assert first == "Two invoices."
    assert "sold for 900" in second
    assert await tail(service) == ["(Messages #1-#7 are no longer shown. In short:)", first, second, "Bye."]
    assert await coverage(service) == [(1, 7, "summary:9"), (8, 9, "tail")]


async def test_a_summary_of_ones_own_replaces_all_that_the_former_said(service: Service) -> None:
    await five(service)
    await compacted(service, 2, "Two.")
    done = await compacted(service, 3, "Three.")
    again = await compacted(service, 3, "Three, in other words.")
    assert [part["text"] for part in done["summary"]["content"]] == ["Three."]
    assert (done["version"], again["version"], again["summary"]["seq"]) == (2, 3, 8)
    assert (await tail(service))[1] == "Three, in other words."


async def test_asked_for_again_it_is_answered_the_same_and_changes_nothing(service: Service) -> None:
    await five(service)
    first = await compacted(service, 3, "Short.")
    for up_to_seq, summary in ((3, "Short."), (3, None), (2, None)):
        assert await compacted(service, up_to_seq, summary) == first
    memory = await service.memory("s1")
    assert (memory["log"]["version"], memory["cursor"]["last_seq"]) == (1, 6)


async def test_a_summary_of_less_than_the_present_one_stands_for_is_refused(service: Service) -> None:
    await five(service)
    await compacted(service, 3, "Three.")
    refused = assert_problem(await compact(service, 2, "Two."), 409, "already-compacted")
    assert refused["errors"][0]["pointer"] == "/up_to_seq"


@pytest.mark.parametrize(("asked", "end"), [(1, 1), (2, 1), (3, 3), (4, 3), (5, 3)])
async def test_the_end_is_moved_to_that_of_a_group_before_the_newest(service: Service, asked: int, end: int) -> None:
    await service.append("s1", said("Find it."), CALL, RESULT, CALL, RESULT)
    assert (await compacted(service, asked, "Short."))["up_to_seq"] == end


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"up_to_seq": 0}, "/up_to_seq"),
        ({"up_to_seq": 4}, "/up_to_seq"),
        ({"up_to_seq": 1}, "/up_to_seq"),
        ({"up_to_seq": "3"}, "/up_to_seq"),
        ({}, "/up_to_seq"),
        ({"up_to_seq": 3, "summary": ""}, "/summary"),
        ({"up_to_seq": 3, "summary": " \n"}, "/summary"),
        ({"up_to_seq": 3, "summary": "a\x00"}, "/summary"),
        ({"up_to_seq": 3, "text": "a"}, "/text"),
    ],
)
async def test_a_wrong_request_is_refused_with_its_pointer(service: Service, body: Json, pointer: str) -> None:
    await service.append("s1", CALL, RESULT, said("Thanks."))
    answer = await service.client.post("/sessions/s1/compact", json=body)
    assert [error["pointer"] for error in assert_problem(answer, 422, "invalid")["errors"]] == [pointer]


async def test_an_empty_session_has_nothing_to_compact(service: Service) -> None:
    assert_problem(await compact(service, 1), 404, "session-not-found")
    await service.configure("s1", preset="compact")
    assert_problem(await compact(service, 1), 422, "invalid")


async def test_chunks_observed_ahead_become_live_with_it(service: Service) -> None:
    await service.configure("s1", message_tokens=400, buffer_every=0.25, keep_last=0)
    await service.append("s1", *(said(FACT.format(n=n)) for n in range(1, 9)), wait_ms=50_000)
    memory = await service.memory("s1")
    buffered = memory["cursor"]["buffered_seq"]
    done = await compacted(service, 2, "Short.")
    after = await service.memory("s1")
    (chunk, *_) = await items(service, "/sessions/s1/memory/observations")
    assert memory["buffered"]["observations"] > 0
    assert (chunk["status"], chunk["born_version"]) == ("active", done["version"])
    assert after["cursor"]["observed_seq"] == chunk["to_seq"] >= 2
    assert (after["cursor"]["buffered_seq"], after["cursor"]["tail_from_seq"]) == (buffered, 3)
    assert not any(by.startswith("summary") for _, _, by in await coverage(service))


async def test_a_summary_that_is_too_long_for_the_budget_leaves_half_of_it_to_the_messages(service: Service) -> None:
    await five(service)
    await compacted(service, 3, "All that was said of the invoices, word by word. " * 200)
    context = await service.context("s1", message_budget=200, explain=True)
    shown = [one for one in context["segments"] if one["section"] == "messages"]
    assert [one["id"] for one in shown] == ["message:6", "message:4", "message:5"]
    assert context["tokens"]["messages"] <= 200
    assert shown[0]["tokens"] <= 100


async def test_the_summary_stays_first_wherever_the_budget_cuts_the_tail(service: Service) -> None:
    await service.configure("s1", message_tokens=100_000)
    await five(service)
    await compacted(service, 1, "Shorter.")
    await five(service)
    await compacted(service, 7, "Short.")
    for newest in range(17, 2 * LOOK_BACK, 5):
        await five(service)
        context = await service.context("s1", message_budget=150, explain=True)
        shown = [one["id"] for one in context["segments"] if one["section"] == "messages"]
        assert (shown[0], shown[-1]) == ("message:12", f"message:{newest}")
        assert context["tokens"]["messages"] <= 150
        left_out = [seq for seq in range(8, newest + 1) if seq != 12 and f"message:{seq}" not in shown]
        assert context["omitted"]["messages"] == context["omitted"]["unobserved_messages"] == len(left_out)


async def test_too_much_that_no_note_tells_needs_a_summary(service: Service) -> None:
    await service.configure("s1", message_tokens=1_000_000, buffer_every=None)
    counted = {"role": "user", "content": [{"type": "text", "text": "a book", "tokens": 50_001}]}
    await service.append("s1", counted, said("Bye."))
    answer = await compact(service, 1)
    assert assert_problem(answer, 422, "invalid")["errors"][0]["pointer"] == "/summary"
    assert (await compacted(service, 1, "A book."))["up_to_seq"] == 1


async def test_what_no_note_tells_needs_a_summary_if_it_has_many_bytes_however_few_tokens(
    service: Service, database_url: str
) -> None:
    """Reasoning counts no tokens: 400 megabytes of it were read at once to be condensed."""
    await service.configure("s1", message_tokens=1_000_000, buffer_every=None)
    await service.append("s1", *(said("Hello.") for _ in range(3)), said("Bye."))
    connection = await asyncpg.connect(database_url)
    thought = "json_build_array(json_build_object('type', 'reasoning', 'text', repeat('x', 9_000_000)))"
    await connection.execute(f"UPDATE messages SET parts = {thought} WHERE seq < 4")  # noqa: S608 - our own text
    await connection.close()
    answer = await compact(service, 3)
    assert assert_problem(answer, 422, "invalid")["errors"][0]["pointer"] == "/summary"
    assert (await compacted(service, 1))["up_to_seq"] == 1


async def test_what_left_does_not_come_back_with_a_later_activation(service: Service) -> None:
    await service.configure("s1", **OBSERVING | {"keep_last": 12, "message_tokens": 500})
    await five(service)
    await compacted(service, 4, "Short.")
    await service.append("s1", *(said(FACT.format(n=n) * 8) for n in range(6, 10)), wait_ms=50_000)
    cursor = (await service.memory("s1"))["cursor"]
    assert cursor["observed_seq"] > 6
    assert cursor["tail_from_seq"] == 5  # the last 12 would be all of them
    heading, short, first, *_ = await tail(service)
    assert (heading, short) == ("(Messages #1-#4 are no longer shown. In short:)", "Short.")
    assert first == FACT.format(n=5)


async def test_a_disabled_memory_still_shows_what_a_caller_made_of_the_messages(service: Service) -> None:
    await five(service)
    await compacted(service, 3, "Short.")
    enabled = await tail(service)
    await service.configure("s1", enabled=False)
    assert await tail(service) == enabled


async def test_a_disabled_memory_shows_the_messages_that_only_notes_stood_for(service: Service) -> None:
    await service.configure("s1", **OBSERVING, compact_on_observe=True)
    await service.append("s1", *(said(FACT.format(n=n)) for n in range(1, 7)), wait_ms=50_000)
    enabled = await tail(service)
    await service.configure("s1", enabled=False)
    assert enabled[1] == IN_NOTES
    assert await tail(service) == [FACT.format(n=n) for n in range(1, 7)]


async def test_where_no_notes_are_shown_a_summary_points_to_none(service: Service) -> None:
    await service.configure("s1", **OBSERVING)
    await service.append("s1", *(said(FACT.format(n=n)) for n in range(1, 7)), said("Bye."), wait_ms=50_000)
    done = await compacted(service, 6)
    pointed = await tail(service)
    over_budget = await tail(service, memory_budget=1)
    await service.client.delete("/sessions/s1/memory/observations")
    assert pointed[1] == IN_NOTES
    assert over_budget[1:] == ["There is no note of them.", "Bye."]
    assert await tail(service) == over_budget
    assert await tail(service, as_of_version=done["version"]) == pointed


async def test_a_summary_can_not_be_replaced_as_a_message(service: Service) -> None:
    await five(service)
    done = await compacted(service, 3, "Short.")
    answer = await service.client.put(f"/sessions/s1/messages/{done['summary']['id']}", json=said("Other."))
    assert_problem(answer, 409, "message-sealed")


async def test_the_past_before_a_compaction_is_as_it_was(service: Service) -> None:
    await five(service)
    before = await tail(service)
    done = await compacted(service, 3, "Short.")
    await service.append("s1", said("Later."))
    assert await tail(service, as_of_seq=5) == before
    assert (await tail(service, as_of_version=done["version"]))[1:] == ["Short.", *before[3:]]


async def test_with_compact_on_observe_what_is_observed_is_shown_no_longer(start_service: StartService) -> None:
    memory = OBSERVING | {"keep_last": 12, "compact_on_observe": True}
    async with start_service(memory=memory) as service:
        await service.append("s1", *(said(FACT.format(n=n)) for n in range(1, 5)), said("Hello."), wait_ms=50_000)
        first = await service.memory("s1")
        shown = await tail(service)
        await service.append("s1", *(said(FACT.format(n=n)) for n in range(5, 9)), said("Bye."), wait_ms=50_000)
        second = await service.memory("s1")
        versions = [note["born_version"] for note in await items(service, "/sessions/s1/memory/observations")]
        last = await tail(service)

    (start, end) = (one["cursor"]["tail_from_seq"] for one in (first, second))
    assert first["cursor"]["observed_seq"] >= start - 1 == 4  # the newest message is shown all the same
    assert shown[:2] == [f"(Messages #1-#{start - 1} are no longer shown. In short:)", IN_NOTES]
    assert last[:2] == [f"(Messages #1-#{end - 1} are no longer shown. In short:)", IN_NOTES]
    assert last[-1] == "Bye."
    assert versions == list(range(1, second["log"]["version"] + 1))


async def test_with_compact_on_observe_a_summary_goes_on_telling_what_only_the_former_one_told(
    service: Service,
) -> None:
    await five(service)
    await compacted(service, 3, "Short.")
    await service.configure("s1", compact_on_observe=True)
    memory = await service.observe("s1")
    summary = memory["coverage"]["intervals"][0]
    assert (summary["from"], summary["to"], summary["by"].split(":")[0]) == (1, 3, "summary")
    assert (await tail(service))[:3] == ["(Messages #1-#4 are no longer shown. In short:)", IN_NOTES, "Short."]


async def test_nothing_waits_for_what_is_condensed_and_what_changed_meanwhile_is_condensed_anew(
    start_service: StartService,
) -> None:
    async with start_service() as service:
        await service.append("s1", said(FACT.format(n=1) + "Please hold this.", id="m-1"))
        await five(service, n=4)
    for event in (hooks.asked, hooks.answering):
        event.clear()
    redaction = {"tenants": "*", "hook": "tests.redaction.hooks:waiting"}
    async with start_service(redaction=redaction) as service:
        compacting = asyncio.create_task(compacted(service, 3))
        assert await asyncio.to_thread(hooks.asked.wait, 60)
        await service.append("s1", said("And now?"))
        changed = {"role": "user", "content": FACT.format(n=9)}
        assert (await service.client.put("/sessions/s1/messages/m-1", json=changed)).status_code == 200
        hooks.answering.set()
        [summary] = (await compacting)["summary"]["content"]
    assert "920 euros" in summary["text"]
    assert "hold this" not in summary["text"]


async def test_what_changes_each_time_it_is_condensed_is_given_up(start_service: StartService) -> None:
    numbers = iter(range(2, 100))
    redaction = {"tenants": "*", "hook": "tests.redaction.hooks:changing"}
    async with start_service(redaction=redaction) as service:

        def change() -> object:
            body = {"role": "user", "content": FACT.format(n=next(numbers)) + "Please hold this."}
            return httpx.put(f"{service.url}/sessions/s1/messages/m-1", json=body).raise_for_status()

        await service.append("s1", said(FACT.format(n=1) + "Please hold this.", id="m-1"))
        await five(service, n=4)
        hooks.changes[:] = [change]
        answer = await compact(service, 3)
        hooks.changes.clear()
        assert_problem(answer, 503, "unavailable")
        assert answer.headers["retry-after"] == "1"
        assert next(numbers) == 2 + TRIES
        assert (await service.memory("s1"))["log"]["version"] == 0


async def test_what_is_observed_stays_so_when_less_leaves(service: Service) -> None:
    await service.configure("s1", keep_last=0)
    await five(service)
    await service.observe("s1")
    before = (await service.memory("s1"))["cursor"]
    await compacted(service, 2, "We met.")
    assert before["observed_seq"] == (await service.memory("s1"))["cursor"]["observed_seq"] == 5


async def test_the_task_is_that_of_the_newest_chunk_that_becomes_live_with_it(
    start_service: StartService, tmp_path: Path
) -> None:
    tasks = ("Book the flight", "Pay the bill")
    path = tmp_path / "replies.json"
    path.write_text(json.dumps([{"reply": f"{NOTE}\n<current-task>{t}</current-task>", "times": 1} for t in tasks]))
    async with start_service(provider="scripted", model=str(path), memory=AHEAD) as service:
        for _ in tasks:
            await service.append("s1", {"role": "user", "content": FACT.format(n=1) * 8}, wait_ms=50_000)
        await service.append("s1", {"role": "user", "content": "And now?"})
        ahead = (await service.memory("s1"))["buffered"]["observations"]
        await compacted(service, 2, "We met.")
        context = str(await service.context("s1"))
    assert (ahead, [task in context for task in tasks]) == (2, [False, True])


@pytest.mark.parametrize("ahead", [True, False])
async def test_what_is_to_be_observed_again_is_pending_until_it_leaves(
    start_service: StartService, tmp_path: Path, *, ahead: bool
) -> None:
    text = " ".join(f"I paid invoice {number} for Rex in Lisbon." for number in range(14))
    memory = {"memory": (AHEAD if ahead else {}) | {"keep_last": 0}}
    async with start_service(**failing_after(tmp_path / "replies.json", 4 if ahead else 1) | memory) as service:
        for number in range(1, 5):
            await service.append("s1", {"id": f"m-{number}", "role": "user", "content": text}, wait_ms=50_000)
        if not ahead:
            await service.observe("s1")
        await service.append("s1", {"role": "user", "content": "And now?"})
        await service.client.delete("/sessions/s1/messages/m-2")
        covered = {one["by"] for one in (await service.memory("s1"))["coverage"]["intervals"]}
        pending = (await service.memory("s1"))["pending"]["tokens"]
        await compacted(service, 4, "We met.")
        found = await laws.read_facts(service.app.state.database, session_id("default", "s1"))

    assert ("rebuilding" in covered, pending > 100) == (True, ahead)
    assert found is not None
    laws.counters_are_sums(found)
