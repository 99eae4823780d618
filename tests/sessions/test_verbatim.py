"""What was said is shown as it was sent: the order of keys too, which models write and providers cache by."""

import json
from typing import Any

import pytest

from tests.conftest import Service

ARGUMENTS = '{"path":"a.py","new":"x","at":{"line":2,"by":1}}'  # in no order that a database would choose
CALLED: dict[str, dict[str, Any]] = {
    "openai": {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "edit", "arguments": ARGUMENTS}}],
    },
    "anthropic": {
        "role": "assistant",
        "content": [
            {
                "type": "tool_use",
                "id": "c1",
                "name": "edit",
                "input": {"path": "a.py", "new": "x", "at": {"line": 2, "by": 1}},
            }
        ],
    },
}
BREAKPOINTS = {"cache_control", "prompt_cache_breakpoint"}
ANSWERED: dict[str, Any] = {
    "role": "tool",
    "content": [{"type": "tool_result", "tool_call_id": "c1", "output": {"b": 1, "a": [2]}}],
}


@pytest.mark.parametrize("shape", CALLED)
async def test_the_arguments_of_a_call_come_back_as_the_model_wrote_them(service: Service, shape: str) -> None:
    await service.append("s1", CALLED[shape], ANSWERED)

    context = await service.context("s1", format="openai")

    call = context["payload"]["messages"][0]["tool_calls"][0]
    assert call["function"]["arguments"] == ARGUMENTS


@pytest.mark.parametrize("wanted", ["neutral", "anthropic", "openai", "text"])
async def test_incoming_messages_are_shown_as_they_will_be_when_they_are_stored(service: Service, wanted: str) -> None:
    said = [CALLED["anthropic"], ANSWERED]
    await service.append("s1", {"role": "user", "content": "Go"})
    before = await service.client.post("/sessions/s1/context", params={"format": wanted}, json={"incoming": said})

    await service.append("s1", *said)

    assert plain(await service.context("s1", format=wanted)) == plain(before.json())


def plain(context: dict[str, Any]) -> str:
    """A payload in the order it has, without the breakpoints, which stand where the stored messages end."""
    return json.dumps(unmarked(context["payload"]))


def unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: unmarked(item) for key, item in value.items() if key not in BREAKPOINTS}
    return [unmarked(item) for item in value] if isinstance(value, list) else value
