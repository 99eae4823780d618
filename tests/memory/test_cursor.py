"""Where the tail begins once messages are observed, over HTTP (memory-rules.md section 6, the message tail)."""

import asyncio
import json
import threading
from functools import partial
from typing import Any

import pytest

from tests.conftest import Service, StartService
from tests.journeys.looks import until
from tests.model_replies import Asked
from tests.model_server import ModelServer
from tests.sessions.test_routes import said

FACT = "I paid the invoice of {n}20 euros for Ana in Porto on May {n}, and we decided to keep the shop."
CALL: dict[str, Any] = {
    "role": "assistant",
    "content": [{"type": "tool_call", "id": "c1", "name": "search", "arguments": {}}],
}
RESULT = {"role": "tool", "content": [{"type": "tool_result", "tool_call_id": "c1", "output": "found"}]}


@pytest.mark.parametrize(
    ("keep_last", "tail_from_seq"), [(0, 8), (1, 8), (2, 7), (3, 5), (4, 5), (5, 4), (8, 1), (12, 1)]
)
async def test_the_last_messages_stay_with_the_calls_of_their_results_and_one_in_any_case(
    service: Service, keep_last: int, tail_from_seq: int
) -> None:
    await service.configure("s1", keep_last=keep_last, keep_last_tool_results=0)
    facts = [said(FACT.format(n=n)) for n in range(1, 7)]
    await service.append("s1", *facts[:4], CALL, RESULT, *facts[4:])
    await service.observe("s1")
    cursor = (await service.memory("s1"))["cursor"]
    assert (cursor["observed_seq"], cursor["tail_from_seq"]) == (8, tail_from_seq)


async def test_a_result_that_comes_while_its_call_is_observed_is_shown_with_it(
    start_service: StartService, models: ModelServer
) -> None:
    """A call so long that no result is waited for; in the tail of one message the result would stand alone."""
    shown, answered = threading.Event(), threading.Event()

    def held(asked: Asked) -> None:
        if asked.has("harbour"):
            shown.set()
            answered.wait(10)

    models.said_to = held
    written = CALL | {"content": [CALL["content"][0] | {"arguments": {"text": "The harbour is closed. " * 300}}]}
    async with start_service(provider="openai", memory={"preset": "compact"}) as service:
        await service.append("s1", said("Write it down."), written)
        assert await asyncio.to_thread(shown.wait, 10)
        await service.append("s1", RESULT)
        answered.set()
        memory = await until(partial(service.memory, "s1"), lambda memory: memory["status"] == "idle")
        messages = (await service.context("s1", format="openai"))["payload"]["messages"]

    assert (memory["cursor"]["observed_seq"], memory["cursor"]["tail_from_seq"]) == (2, 2)
    assert [message["role"] for message in messages if message["role"] in {"assistant", "tool"}] == [
        "assistant",
        "tool",
    ]


async def test_parallel_calls_that_are_an_item_each_are_shown_together(start_service: StartService) -> None:
    """None of so long calls is waited for: where what is observed ends between them, the tail begins before both."""
    written = json.dumps({"text": "The harbour is closed. " * 140})
    calls = [{"type": "function_call", "call_id": one, "name": "write", "arguments": written} for one in ("c1", "c2")]
    results = [{"type": "function_call_output", "call_id": one, "output": "done"} for one in ("c1", "c2")]
    async with start_service(memory={"preset": "compact"}) as service:
        await service.append("s1", said("Write it down."), *calls)
        memory = await until(partial(service.memory, "s1"), lambda memory: memory["status"] == "idle")
        await service.append("s1", *results)
        items = (await service.context("s1", format="openai-responses"))["payload"]["input"]

    assert (memory["cursor"]["observed_seq"], memory["cursor"]["tail_from_seq"]) == (2, 2)
    assert [item["type"] for item in items if "call_id" in item] == [
        *["function_call"] * 2,
        *["function_call_output"] * 2,
    ]
