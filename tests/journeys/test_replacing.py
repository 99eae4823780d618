"""A turn is streamed while a model thinks about what was said before it, or about the turn itself."""

from functools import partial
from typing import Any

import pytest

from tests.conftest import Service, StartService
from tests.journeys.laws import check_all
from tests.journeys.looks import Json, items, look, until
from tests.journeys.talk import plain_talk
from tests.journeys.test_faults import KEY, LIMITS, MEMORY, OBSERVE_AT, memory_where, runs
from tests.model_replies import PromptKind
from tests.model_server import Fault, ModelServer

ENGINE = {"sweep_seconds": 0.1, "lease_seconds": 600.0}  # what is given back waits for no end of it
SECRET = "I meant the 77 gliders."


async def hanging(service: Service, models: ModelServer) -> list[Json]:
    """What was said, once an observer is at work on it."""
    models.fail_next(Fault.HANG)
    said = plain_talk(OBSERVE_AT)
    await service.append(KEY, *said)
    await until(partial(service.memory, KEY), lambda _: len(models.requests) == 1)
    return said


async def replace(service: Service, message: Json, content: str, **fields: Any) -> None:
    path = f"/sessions/{KEY}/messages/{message['id']}"
    answer = await service.client.put(path, json={"role": message["role"], "content": content, **fields})
    assert answer.status_code == 200, answer.text


async def test_a_step_that_read_the_former_content_records_nothing_and_is_done_again(
    start_service: StartService, models: ModelServer, provider: str
) -> None:
    async with start_service(provider=provider, memory=MEMORY, engine=ENGINE) as service:
        said = await hanging(service, models)
        await replace(service, said[0], SECRET)
        models.release()
        await memory_where(service, status="idle", attempts=0)
        await service.append(KEY, *plain_talk(2 * OBSERVE_AT)[OBSERVE_AT:], wait_ms=50_000)
        now = await look(service, KEY)

    check_all(LIMITS, now, None)
    first, *_, last = models.asked(PromptKind.OBSERVER)
    assert (said[0]["content"] in first.prompt, SECRET in first.prompt) == (True, False)
    assert not any(said[0]["content"] in one.prompt for one in models.asked(PromptKind.OBSERVER) if one is not first)
    assert last is not first


@pytest.mark.parametrize(
    "change", [{"content": SECRET}, {"created_at": "2026-09-01T10:00:00+00:00"}, {"trust": "external"}], ids=str
)
async def test_whatever_a_step_was_shown_of_a_message_is_to_be_the_same_when_it_records(
    start_service: StartService, models: ModelServer, change: Json
) -> None:
    async with start_service(provider="anthropic", memory=MEMORY, engine=ENGINE) as service:
        said = await hanging(service, models)
        path, message = f"/sessions/{KEY}/messages/{said[0]['id']}", {**said[0], **change}
        answer = await service.client.put(path, json={name: message[name] for name in message if name != "id"})
        models.release()
        await until(partial(service.memory, KEY), lambda _: len(models.requests) > 1)  # idle it may be until then
        await memory_where(service, status="idle", attempts=0)

    assert answer.status_code == 200, answer.text
    first, again, *_ = models.asked(PromptKind.OBSERVER)
    assert "\n#1 user" in first.prompt
    assert "\n#1 user" in again.prompt


async def test_what_is_to_be_observed_no_more_is_in_no_note_of_the_step_that_read_it(
    start_service: StartService, models: ModelServer
) -> None:
    async with start_service(provider="openai", memory=MEMORY, engine=ENGINE) as service:
        said = await hanging(service, models)
        await replace(service, said[0], said[0]["content"], observe=False)
        models.release()
        await service.append(KEY, *plain_talk(2 * OBSERVE_AT)[OBSERVE_AT:], wait_ms=50_000)
        await memory_where(service, status="idle", attempts=0)
        calls = await runs(service)

    assert [run["outcome"] for run in calls] == ["recorded"] * (len(models.asked(PromptKind.OBSERVER)) - 1)


async def test_a_turn_streamed_meanwhile_does_not_disturb_a_step_that_did_not_read_it(
    start_service: StartService, models: ModelServer, provider: str
) -> None:
    async with start_service(provider=provider, memory=MEMORY, engine=ENGINE) as service:
        await hanging(service, models)
        (turn,) = [{"id": "streamed", "role": "assistant", "content": "I"}]
        await service.append(KEY, turn)
        for end in range(3, len(SECRET) + 3, 4):
            await replace(service, turn, SECRET[:end])
        models.release()
        await memory_where(service, status="idle", attempts=0)
        calls, observations = await runs(service), await items(service, f"/sessions/{KEY}/memory/observations")

    assert [run["outcome"] for run in calls] == ["recorded"]
    assert len(models.asked(PromptKind.OBSERVER)) == len(observations) == 1
