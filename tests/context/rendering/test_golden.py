"""One conversation in each shape, as files that a review sees. ``GOLDEN=write`` writes them anew."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from app.context.compile import compile_context
from app.context.model import Format, Knowledge
from tests.context.building import (
    ask,
    assistant,
    call,
    log_of,
    observation,
    reflection,
    result,
    snapshot,
    text,
    tool,
    user,
)

FOLDER = Path(__file__).parent.parent / "golden"
LOG = log_of(
    user("I am moving to Lisbon on Dec 3. What will the weather be?"),
    assistant(
        {"type": "reasoning", "text": "I should look it up.", "signature": "sig", "provider": "anthropic"},
        "Let me look.",
        call("c1", {"city": "Lisbon"}, name="weather"),
        call("c2", {"city": "Lisbon", "month": 12}, name="climate"),
    ),
    tool(result("c1", {"celsius": 14})),
    tool(result("c2", "service unavailable", is_error=True)),
    assistant("14 degrees now; I could not get the averages."),
    user(text("And this?"), {"type": "image", "url": "https://example.com/flat.png"}),
    assistant(call("c3", {"url": "https://example.com/flat.png"}, name="describe")),
    user("Never mind. Book the movers."),
)


def compiled(shape: Format) -> dict[str, Any]:
    taken = snapshot(
        LOG,
        version=12,
        reflections=(reflection(1, "Lived in Porto."), reflection(2, "Has a cat named Ada.", level=2)),
        observations=(observation(3, "User rents a flat in Lisbon.", "Rent is 1,200 euros."),),
        current_task="Prepare the move",
    )
    asked = ask(
        shape,
        system=("You are a helpful agent.",),
        knowledge=(Knowledge(title="Movers", text="We work with Rapido."),),
        state={"temp:page": "moving"},
        explain=True,
    )
    context = compile_context(taken, asked)
    return {
        "payload": context.payload,
        "tokens": context.tokens,
        "epoch": context.cache.epoch,
        "prefix_sha256": context.cache.prefix_sha256,
        "stable_tokens": context.cache.stable_tokens,
    }


@pytest.mark.parametrize("shape", list(Format))
def test_one_conversation_is_rendered_as_reviewed(shape: Format) -> None:
    file = FOLDER / f"{shape}.json"
    shown = json.loads(json.dumps(compiled(shape)))
    if os.environ.get("GOLDEN") == "write":
        file.write_text(json.dumps(shown, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    assert shown == json.loads(file.read_text(encoding="utf-8"))
