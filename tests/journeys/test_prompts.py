"""What the models are told of a session: its config, the log so far, and the task (memory-rules.md 4 and 5, input)."""

import pytest

from tests.conftest import StartService
from tests.journeys.looks import WAIT_MS
from tests.journeys.talk import plain_talk
from tests.model_replies import Asked, PromptKind, block
from tests.model_server import ModelServer

TASK = "Book the train for Ana."
INSTRUCTION = "The operator of this memory adds: Note every allergy."
MEMORY = {"message_tokens": 400, "keep_last": 0, "timezone": "Asia/Tokyo", "instruction": "Note every allergy."}


def observation(asked: Asked) -> str:
    """One short line of the first message, and a task where none is known."""
    seq = (block(asked.prompt, "messages") or "").partition("#")[2].partition(" ")[0]
    known = TASK in asked.prompt
    task = "" if known else f"\n<current-task>\n{TASK}\n</current-task>"
    return f"<observations>\nDate: Aug 1, 2026\n* 🔴 Somebody takes something somewhere. #{seq}\n</observations>{task}"


@pytest.mark.parametrize("buffer_every", [None, 200])
async def test_an_observer_sees_the_log_so_far_then_its_task_then_the_messages(
    start_service: StartService, models: ModelServer, buffer_every: int | None
) -> None:
    models.answers[PromptKind.OBSERVER] = observation
    async with start_service(provider="anthropic", memory=MEMORY | {"buffer_every": buffer_every}) as service:
        for at in range(0, 16, 4):
            await service.append("s1", *plain_talk(16)[at : at + 4], wait_ms=WAIT_MS)
        await service.client.post("/sessions/s1/memory/observe", params={"wait_ms": WAIT_MS})
        await service.client.post("/sessions/s1/memory/reflect", params={"wait_ms": WAIT_MS})

    first, *later = models.asked(PromptKind.OBSERVER)
    assert (block(first.prompt, "earlier-observations"), block(first.prompt, "current-task")) == ("(none)", "(none)")
    assert later
    for number, asked in enumerate(later, start=1):
        earlier = block(asked.prompt, "earlier-observations") or ""
        assert earlier.count("Somebody takes something") == number, "also what no context shows yet"
        assert block(asked.prompt, "current-task") == TASK
    for asked in models.asked(PromptKind.OBSERVER):
        assert asked.prompt.index("<current-task>") < asked.prompt.index("<messages>") < asked.prompt.index(INSTRUCTION)
    assert "(18:17)" in first.prompt, "09:17 in Tokyo"
    assert all(INSTRUCTION in asked.prompt for asked in models.asked(PromptKind.REFLECTOR))
    assert models.asked(PromptKind.REFLECTOR)
