"""What is the same as a stored message but for its shape, or for what was redacted of it."""

import json
from datetime import UTC, datetime
from itertools import permutations
from typing import Any

import pytest
from anthropic.types.beta import BetaContentBlock
from google.genai.types import Content
from openai.types.responses import ResponseOutputItem
from pydantic import TypeAdapter, ValidationError

from app.redaction.model import Redact
from app.sessions.model import Message, NewMessage
from app.sessions.reading import read_message
from app.sessions.recognising import hashes_said_again, says_again
from app.sessions.schemas import MessageIn
from tests.context.rendering.test_sdk_types import BLOCKS, ITEMS, PARTS

SIGNATURE = "c2ln"
STEP = {"type": "reasoning.text", "text": "The codename is Ultra.", "signature": SIGNATURE}
MARK = "[redacted: hook]"


@pytest.mark.parametrize(
    ("stored", "sent", "is_same"),
    [
        ("It is Ultra.", "It is Ultra.", True),
        (f"It is {MARK}.", "It is Ultra.", True),
        (f"It is {MARK}.", "It was Ultra.", False),
        (f"{MARK}, then {MARK}", "Ultra, then Enigma", True),
        (f"{MARK}, then {MARK}", "Ultra and then Enigma", False),
        (f"a{MARK}a", "a", False),
        (f"{MARK}x{MARK}x", "ax", False),
        (f"{MARK}x{MARK}x{MARK}", "axa", False),
        (f"ax{MARK}x{MARK}a", "axba", False),
        ({"n": 1, "text": MARK}, {"text": "Ultra", "n": 1}, True),
        ({"n": 1, "text": MARK}, {"text": "Ultra", "n": 2}, False),
        ({"text": MARK}, {"text": "Ultra", "n": 1}, False),
        ({"text": MARK, "n": 1}, {"text": "Ultra", "n": True}, False),
        ([MARK, "a"], ["Ultra", "a"], True),
        ([MARK], ["Ultra", "a"], False),
        ({"type": "reasoning", "text": MARK}, {"type": "reasoning", "text": "Ultra", "signature": SIGNATURE}, True),
        ({"type": "text", "text": MARK}, {"type": "text", "text": "Ultra", "signature": SIGNATURE}, False),
        (
            {"type": "reasoning", "text": "", "details": [STEP | {"text": MARK, "signature": MARK}]},
            {"type": "reasoning", "text": "", "details": [STEP]},
            True,
        ),
        (
            {"type": "reasoning", "text": "", "details": [STEP | {"text": MARK}]},
            {"type": "reasoning", "text": ""},
            False,
        ),
        (
            {"type": "reasoning", "text": "a", "details": [STEP]},
            {"type": "reasoning", "text": "a", "details": []},
            False,
        ),
    ],
)
def test_what_was_redacted_may_be_anything_and_nothing_else_may(stored: Any, sent: Any, *, is_same: bool) -> None:
    assert says_again(stored, sent) is is_same


def read(raw: dict[str, Any], redact: Redact | None = None) -> NewMessage:
    return read_message(MessageIn(**{"id": "m", **raw}), at="", redact=redact)


def is_said_again(raw: dict[str, Any], old: NewMessage) -> bool:
    """Whether ``raw`` is recognised as the message that was stored as ``old``."""
    stored = Message(
        seq=1,
        id=old.id,
        kind=old.kind,
        role=old.role,
        parts=old.parts,
        tokens=old.tokens,
        created_at=datetime(2026, 8, 1, tzinfo=UTC),
        name=old.name,
        content_hash=old.content_hash,
    )
    new = read(raw)
    return old.content_hash in {new.content_hash, hashes_said_again([new], {old.id: stored}, None).get(new.id)}


def test_what_was_redacted_may_be_sent_again_in_another_shape() -> None:
    """As google-genai dumps it with other options, after redaction was switched off."""
    text, signed = {"text": "It is Ultra."}, {"thoughtSignature": "-_8="}
    old = read({"role": "model", "parts": [text | signed]}, lambda text: text.replace("Ultra", MARK))

    for again in (text | signed, text | {"thought_signature": "+/8", "thought": None}):
        assert is_said_again({"role": "model", "parts": [again]}, old)
    assert not is_said_again({"role": "model", "parts": [signed | {"text": "It was Ultra."}]}, old)


BLOCKS_OF_ANTHROPIC: TypeAdapter[list[BetaContentBlock]] = TypeAdapter(list[BetaContentBlock])
ITEM_OF_OPENAI: TypeAdapter[ResponseOutputItem] = TypeAdapter(ResponseOutputItem)


def dumped(message: dict[str, Any], *, exclude_none: bool) -> dict[str, Any] | None:
    """A message as the SDK of its provider dumps it; None if it is none of a model's."""
    try:
        if "parts" in message:
            return Content.model_validate(message).model_dump(mode="json", exclude_none=exclude_none)
        if "content" in message and message.get("type") != "message":
            blocks = BLOCKS_OF_ANTHROPIC.validate_python(message["content"])
            content = BLOCKS_OF_ANTHROPIC.dump_python(blocks, mode="json", exclude_none=exclude_none)
            return {**message, "content": content}
        read_item = ITEM_OF_OPENAI.validate_python(message)
    except ValidationError:
        return None
    item: dict[str, Any] = ITEM_OF_OPENAI.dump_python(read_item, mode="json", by_alias=True, exclude_none=exclude_none)
    return item


@pytest.mark.parametrize(
    "message", [one for table in (BLOCKS, ITEMS, PARTS) for messages in table.values() for one in messages], ids=str
)
def test_whatever_options_an_sdk_dumps_a_message_with_it_is_the_same(message: dict[str, Any]) -> None:
    """A field that one version or option leaves out and another has as null says nothing, also of a hosted tool."""
    forms = (message, dumped(message, exclude_none=False), dumped(message, exclude_none=True))
    for one, other in permutations((form for form in forms if form is not None), 2):
        assert is_said_again(other, read(one))


def test_what_an_agent_s_own_tool_takes_and_gives_is_not_the_same_with_a_null_more() -> None:
    for part in (
        {"type": "tool_call", "id": "c1", "name": "f", "arguments": {"x": 1}},
        {"type": "tool_result", "tool_call_id": "c1", "output": {"x": 1}},
        {"type": "tool_result", "tool_call_id": "c1", "output": [{"x": 1}]},
    ):
        message = {"role": "assistant", "content": [part]}
        other = json.loads(json.dumps(message).replace('"x": 1', '"x": 1, "y": null'))
        assert not is_said_again(other, read(message))
