"""What the models are told of a session: its config, the log so far, and the task (memory-rules.md 4 and 5, input)."""

from datetime import datetime
from operator import itemgetter
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.conftest import StartService
from tests.journeys.looks import WAIT_MS, items
from tests.journeys.talk import plain_talk
from tests.model_replies import Asked, PromptKind, block
from tests.model_server import ModelServer

INSTRUCTION = "The operator of this memory adds: Note every allergy."
TOKYO = ZoneInfo("Asia/Tokyo")
MEMORY = {"message_tokens": 400, "keep_last": 0, "timezone": TOKYO.key, "instruction": "Note every allergy."}
AHEAD = MEMORY | {"message_tokens": 2_000, "buffer_every": 200}


def observation(asked: Asked) -> str:
    """A short line and a task, both of the first message."""
    seq = (block(asked.prompt, "messages") or "").partition("#")[2].partition(" ")[0]
    line = f"<observations>\nDate: Aug 1, 2026\n* 🔴 Somebody takes something somewhere. #{seq}\n</observations>"
    return f"{line}\n<current-task>\nTask of {seq}\n</current-task>"


def today() -> str:
    day = datetime.now(TOKYO)
    return f"Today is {day:%A, %b} {day.day}, {day.year}."


@pytest.mark.parametrize("config", [MEMORY | {"buffer_every": None}, AHEAD], ids=["at once", "ahead"])
async def test_a_model_is_told_the_log_so_far_its_task_and_then_what_is_new(
    start_service: StartService, models: ModelServer, config: dict[str, Any]
) -> None:
    models.answers[PromptKind.OBSERVER] = observation
    days = {today()}
    async with start_service(provider="anthropic", memory=config) as service:
        for at in range(0, 16, 4):
            await service.append("s1", *plain_talk(16)[at : at + 4], wait_ms=WAIT_MS)
        await service.observe("s1")
        observations = await items(service, "/sessions/s1/memory/observations")
        memory = await service.memory("s1")
        await service.reflect("s1")
    days.add(today())

    asked = [one.prompt for one in models.asked(PromptKind.OBSERVER)]
    tasks = ["(none)", *(f"Task of {note['from_seq']}" for note in sorted(observations, key=itemgetter("from_seq")))]
    assert len(asked) > 2
    assert [block(prompt, "current-task") for prompt in asked] == tasks[:-1]
    assert memory["current_task"] == tasks[-1]
    for number, prompt in enumerate(asked):
        earlier = block(prompt, "earlier-observations") or ""
        assert earlier.count("Somebody takes something") == number, "also what no context shows yet"
        assert prompt.index("<current-task>") < prompt.index("<messages>") < prompt.index(INSTRUCTION)
    assert "(18:17)" in asked[0], "09:17 in Tokyo"
    [reflected, *_] = [one.prompt for one in models.asked(PromptKind.REFLECTOR)]
    assert INSTRUCTION in reflected
    assert any(day in reflected for day in days)


async def test_an_observer_may_write_as_much_as_the_session_says(
    start_service: StartService, models: ModelServer
) -> None:
    async with start_service(provider="openai", memory=MEMORY, llm={"reasoning_tokens": 0}) as service:
        await service.configure("s2", observer_output_tokens=700)
        for key in ("s1", "s2"):
            await service.append(key, *plain_talk(8), wait_ms=WAIT_MS)
            await service.observe(key)
    assert {one.max_tokens for one in models.asked(PromptKind.OBSERVER)} == {4_000, 700}


async def test_an_observer_sees_as_much_of_calls_and_results_as_the_session_says(
    start_service: StartService, models: ModelServer
) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '"' + "ask " * 1_000 + '"'}}
    said: list[dict[str, Any]] = [
        {"role": "user", "content": "Look it up."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "hit " * 1_000},
    ]
    async with start_service(provider="openai", memory=MEMORY | {"observer_arguments_tokens": 100}) as service:
        await service.configure("s2", observer_result_tokens=50)
        for key in ("s1", "s2"):
            await service.append(key, *said, *plain_talk(2), wait_ms=WAIT_MS)
            await service.observe(key)
    seen = [view for one in models.asked(PromptKind.OBSERVER) if "call| look" in (view := one.prompt)]
    assert all(view.count("ask ") < 110 for view in seen)
    assert [view.count("hit ") >= 999 for view in seen] == [True, False]
    assert seen[1].count("hit ") < 60
