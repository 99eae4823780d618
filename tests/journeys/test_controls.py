"""An operator's hand on the log while a model is at work on it."""

from functools import partial
from typing import Any

from tests.conftest import Service, StartService
from tests.journeys.laws import check_all
from tests.journeys.looks import Json, Look, items, look, until
from tests.journeys.talk import mixed_talk, plain_talk
from tests.journeys.test_faults import KEY, LIMITS, MEMORY, OBSERVE_AT, memory_where, runs
from tests.model_replies import PromptKind
from tests.model_server import Fault, ModelServer

EDITED = "* 🔴 [fact] User wants it forgotten. #1"
PLAIN = ("neutral",)
ENGINE = {"sweep_seconds": 0.1, "lease_seconds": 60.0}  # a machine that is busy keeps it


async def live(service: Service, kind: str = "observations") -> list[Json]:
    return await items(service, f"/sessions/{KEY}/memory/{kind}", status="active")


async def control(service: Service, method: str, path: str, **body: Any) -> Json:
    answer = await service.client.request(method, f"/sessions/{KEY}/memory/{path}", json=body)
    assert answer.status_code == 200, answer.text
    told: Json = answer.json()
    return told


async def test_a_step_in_flight_records_nothing_after_an_edit_and_is_done_again(
    start_service: StartService, models: ModelServer, provider: str
) -> None:
    async with start_service(provider=provider, memory=MEMORY, engine=ENGINE) as service:
        await service.append(KEY, *plain_talk(OBSERVE_AT), wait_ms=50_000)
        (first,) = await live(service)
        models.fail_next(Fault.HANG)
        await service.append(KEY, *plain_talk(2 * OBSERVE_AT)[OBSERVE_AT:])
        hanging = await until(partial(service.memory, KEY), lambda memory: memory["status"] == "observing")
        await until(partial(service.memory, KEY), lambda _: len(models.requests) == 2)
        edited = await control(service, "PATCH", f"observations/{first['id']}", text=EDITED)
        models.release()
        await until(partial(service.memory, KEY), lambda _: len(models.requests) > 2)  # idle it may be until then
        settled = await memory_where(service, status="idle", attempts=0)
        calls = await runs(service)
        now = await look(service, KEY)

    check_all(LIMITS, now, None)
    assert hanging["log"]["version"] == 1
    assert edited["born_version"] == 2
    assert settled["log"]["version"] == 3
    assert settled["last_error"] is None
    asked = models.asked(PromptKind.OBSERVER)
    assert len(asked) == 3
    assert ["wants it forgotten" in one.prompt for one in asked] == [False, False, True]
    assert [run["outcome"] for run in calls] == ["recorded", "recorded"]  # of three calls, one of them stale
    assert calls[1]["epoch"] > hanging["lease"]["epoch"]


async def test_a_reflection_of_what_was_deleted_meanwhile_is_not_recorded(
    start_service: StartService, models: ModelServer, provider: str
) -> None:
    models.fail_next(Fault.HANG, kind=PromptKind.REFLECTOR)
    async with start_service(provider=provider, memory=MEMORY, engine=ENGINE) as service:
        await service.append(KEY, *plain_talk(60))
        await until(partial(service.memory, KEY), lambda _: bool(models.asked(PromptKind.REFLECTOR)))
        condensing = await live(service)
        gone = await control(service, "DELETE", "observations")
        models.release()
        await memory_where(service, status="idle", attempts=0)
        now = await look(service, KEY)
        told = [note["text"] for note in [*await live(service), *await live(service, "reflections")]]

    check_all(LIMITS, now, None)
    assert gone["retired"] == len(condensing) > 0
    deleted = now.memory["coverage"]["intervals"][0]
    assert deleted == {"from": 1, "to": condensing[-1]["to_seq"], "by": "deleted"}
    assert not any(f"#{seq}" in text.split() for text in told for seq in range(1, deleted["to"] + 1))


async def test_a_step_in_flight_records_nothing_of_what_was_compacted_meanwhile(
    start_service: StartService, models: ModelServer, provider: str
) -> None:
    models.fail_next(Fault.HANG)
    async with start_service(provider=provider, memory=MEMORY, engine=ENGINE) as service:
        await service.append(KEY, *plain_talk(OBSERVE_AT))
        await until(partial(service.memory, KEY), lambda _: len(models.requests) == 1)
        compacted = await service.client.post(
            f"/sessions/{KEY}/compact", json={"up_to_seq": OBSERVE_AT - 1, "summary": "They talked."}
        )
        models.release()
        await service.append(KEY, *plain_talk(2 * OBSERVE_AT)[OBSERVE_AT:], wait_ms=50_000)
        await memory_where(service, status="idle", attempts=0)
        now = await look(service, KEY)

    check_all(LIMITS, now, None)
    assert compacted.status_code == 200
    intervals = now.memory["coverage"]["intervals"]
    assert intervals[0] == {"from": 1, "to": OBSERVE_AT - 1, "by": f"summary:{OBSERVE_AT + 1}"}
    assert [note["from_seq"] for note in now.observations] == [OBSERVE_AT]


async def test_the_current_task_goes_with_its_note_where_a_compaction_has_moved_the_cursor_past_it(
    start_service: StartService, models: ModelServer
) -> None:
    del models  # asked for its variables
    talk = plain_talk(OBSERVE_AT + 4)
    async with start_service(provider="openai", memory=MEMORY) as service:
        await service.append(KEY, *talk[:OBSERVE_AT], wait_ms=50_000)
        await service.append(KEY, *talk[OBSERVE_AT:], wait_ms=50_000)
        (newest,) = await live(service)
        answer = await service.client.post(f"/sessions/{KEY}/compact", json={"up_to_seq": len(talk) - 1})
        kept = await memory_where(service, status="idle")
        await control(service, "DELETE", f"observations/{newest['id']}")
        forgotten = await service.memory(KEY)

    assert answer.status_code == 200, answer.text
    assert kept["cursor"]["observed_seq"] > newest["to_seq"]
    assert (kept["current_task"], forgotten["current_task"]) == ("Carry on.", None)


async def test_what_the_newest_note_said_of_the_current_task_goes_with_it(
    start_service: StartService, models: ModelServer
) -> None:
    del models  # asked for its variables
    async with start_service(provider="openai", memory=MEMORY | {"observation_tokens": 10_000}) as service:
        for first in (0, OBSERVE_AT):
            await service.append(KEY, *plain_talk(OBSERVE_AT + first)[first:], wait_ms=50_000)
        older, newer = await live(service)
        await control(service, "DELETE", f"observations/{older['id']}")
        kept = await service.memory(KEY)
        await control(service, "DELETE", f"observations/{newer['id']}")
        forgotten = await service.memory(KEY)

    assert (kept["current_task"], forgotten["current_task"]) == ("Carry on.", None)


async def test_the_current_task_stays_when_an_older_note_of_another_session_of_the_memory_goes(
    start_service: StartService, models: ModelServer
) -> None:
    del models  # asked for its variables
    async with start_service(provider="openai", memory=MEMORY | {"observation_tokens": 10_000}) as service:
        for key in (KEY, "other"):
            place = {"resource_id": "ana", "config": {"scope": "resource"}}
            assert (await service.client.put(f"/sessions/{key}", json=place)).status_code == 201
            await service.append(key, *plain_talk(OBSERVE_AT), wait_ms=50_000)
        older, *_, newer = sorted(await live(service), key=lambda note: note["place"])
        await control(service, "DELETE", f"observations/{older['id']}")
        kept = await service.memory(KEY)
        await control(service, "DELETE", f"observations/{newer['id']}")
        forgotten = await service.memory(KEY)

    assert (older["session"], newer["session"]) == (KEY, "other")
    assert (kept["current_task"], forgotten["current_task"]) == ("Carry on.", None)


async def test_the_laws_hold_while_somebody_edits_and_deletes_after_every_turn(start_service: StartService) -> None:
    config = {**MEMORY, "buffer_every": 0.25, "consolidate_at": 3}
    before: Look | None = None
    async with start_service(memory=config) as service:
        for turn, messages in enumerate(mixed_talk(7, scenes=26)):
            await service.append(KEY, *messages, wait_ms=50_000)
            said = await look(service, KEY, formats=PLAIN, before=before)
            check_all(LIMITS, said, before)
            await meddle(service, turn)
            await memory_where(service, status="idle")
            before = await look(service, KEY, formats=PLAIN, before=said)
            check_all(LIMITS, before, said)

    assert before is not None
    causes = {note["retired_by"] for note in before.observations}
    assert {"edited", "deleted"} <= causes
    assert any(cause and cause.startswith("reflection:") for cause in causes)
    assert any(note["retired_by"] == "deleted" and note["born_version"] is None for note in before.observations)


async def meddle(service: Service, turn: int) -> None:
    """Edit a note that can be, or delete one every sixth time; of reflections every fifth."""
    kind = "observations" if turn % 5 else "reflections"
    found = await items(service, f"/sessions/{KEY}/memory/{kind}")
    changeable = [note for note in found if note["status"] != "retired"]
    if not changeable:
        return
    note = changeable[turn % len(changeable)]
    if turn % 6:
        more = f"\n* 🔴 [decision] User decided on plan {turn}. #{note['from_seq']}"
        text = note["text"] + more * (note["tokens"] < 100)
        await control(service, "PATCH", f"{kind}/{note['id']}", text=text)
    else:
        await control(service, "DELETE", f"{kind}/{note['id']}")
