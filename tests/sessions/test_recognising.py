"""What is the same as a stored message but for its shape, or for what was redacted of it."""

import json
from base64 import b64encode
from datetime import UTC, datetime
from itertools import permutations, product
from typing import Any, TypedDict

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


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("nested", [False, True])
def test_a_redacted_text_that_came_as_bytes_may_be_sent_again(*, nested: bool, linked: bool) -> None:
    """After redaction was switched off."""

    def attached(words: str) -> dict[str, Any]:
        data = b64encode(words.encode()).decode()
        file = {"type": "file", "media_type": "text/plain", "data": data}
        if linked:
            file = {"type": "file", "url": f"data:text/plain;base64,{data}"}
        if nested:
            return {"role": "tool", "content": [{"type": "tool_result", "tool_call_id": "c1", "output": [file]}]}
        return {"role": "user", "content": [file]}

    old = read(attached("It is Ultra-1."), lambda text: text.replace("Ultra", MARK))

    assert is_said_again(attached("It is Ultra-1."), old)
    assert not is_said_again(attached("It was Ultra-1."), old)
    assert not is_said_again(attached("It is Ultra+1."), old)


class Options(TypedDict):
    exclude_none: bool
    by_alias: bool


BLOCKS_OF_ANTHROPIC: TypeAdapter[list[BetaContentBlock]] = TypeAdapter(list[BetaContentBlock])
ITEM_OF_OPENAI: TypeAdapter[ResponseOutputItem] = TypeAdapter(ResponseOutputItem)


def dumped(message: dict[str, Any], options: Options) -> dict[str, Any] | None:
    """A message as the SDK of its provider dumps it; None if it is none of a model's."""
    try:
        if "parts" in message:
            return Content.model_validate(message).model_dump(mode="json", **options)
        if "content" in message and message.get("type") != "message":
            blocks = BLOCKS_OF_ANTHROPIC.validate_python(message["content"])
            return {**message, "content": BLOCKS_OF_ANTHROPIC.dump_python(blocks, mode="json", **options)}
        read_item = ITEM_OF_OPENAI.validate_python(message)
    except ValidationError:
        return None
    item: dict[str, Any] = ITEM_OF_OPENAI.dump_python(read_item, mode="json", **options)
    return item


GEMINI_WITH_MORE = {
    "role": "model",
    "parts": [
        {"functionCall": {"name": "f", "args": {"aB": 1}, "willContinue": True}},
        {
            "fileData": {"fileUri": "https://example.com/a.mp4", "mimeType": "video/mp4"},
            "mediaResolution": {"level": "MEDIA_RESOLUTION_HIGH", "numTokens": 280},
            "videoMetadata": {"startOffset": "1s"},
        },
    ],
}


@pytest.mark.parametrize(
    "message",
    [*(one for table in (BLOCKS, ITEMS, PARTS) for messages in table.values() for one in messages), GEMINI_WITH_MORE],
    ids=str,
)
def test_whatever_options_an_sdk_dumps_a_message_with_it_is_the_same(message: dict[str, Any]) -> None:
    """A field may be null or left out, and have the API's name or that of Python code, also of a hosted tool."""
    options = (Options(exclude_none=bare, by_alias=api) for bare, api in product((False, True), repeat=2))
    dumps = (dumped(message, each) for each in options)
    for one, other in permutations([message, *(form for form in dumps if form is not None)], 2):
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
