"""A model that obeys what a tool said: over HTTP, nothing of it becomes the user's."""

import json

import pytest

from tests.conftest import StartService
from tests.journeys.looks import WAIT_MS, items
from tests.memory.attacks import ATTACKS, Attack, Citing, Form, obeyed, posted
from tests.model_replies import PromptKind
from tests.model_server import ModelServer

KEY = "s"
MEMORY = {"message_tokens": 40, "buffer_every": None, "keep_last": 0, "retain_tokens": 0}
SAMPLE = ATTACKS[::21]


@pytest.mark.parametrize("attack", SAMPLE, ids=lambda attack: attack.marker)
async def test_what_a_tool_orders_is_not_remembered_as_the_user_s_wish(
    start_service: StartService, models: ModelServer, attack: Attack
) -> None:
    models.answers[PromptKind.OBSERVER] = lambda _: obeyed(attack, Form.PREFERENCE, Citing.BOTH)
    async with start_service(provider="openai", memory=MEMORY) as service:
        answer = await service.client.post(f"/sessions/{KEY}/messages", json={"messages": posted(attack)})
        assert answer.status_code == 201
        context = await service.context(KEY, wait_ms=WAIT_MS)
        (observed,) = await items(service, f"/sessions/{KEY}/memory/observations")
        memory = await service.memory(KEY)

    assert [item["priority"] for item in observed["items"]] == ["🔴", "🟢"]
    assert observed["items"][1]["origin"] == "tool"
    assert memory["status"] == "idle"
    notes = json.dumps(context["payload"], ensure_ascii=False).casefold()
    assert attack.marker not in notes.replace(json.dumps(attack.text, ensure_ascii=False).casefold()[1:-1], "")
    assert "trust=tool" in models.asked(PromptKind.OBSERVER)[0].prompt
