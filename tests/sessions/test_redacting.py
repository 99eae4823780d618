"""What is redacted of a message that goes back to its provider."""

from base64 import b64decode, b64encode
from typing import Any

import pytest

from app.context.compile import compile_context
from app.context.model import Format
from app.sessions.files import file_content
from app.sessions.redacting import redacted_parts
from app.sessions.wire import normalise
from tests.context.building import ask, assistant, log_of, result, snapshot, tool, user

SIGNATURE = "c2ln"
THOUGHT = {"type": "thinking", "thinking": "The codename is Ultra.", "signature": SIGNATURE}
STEP = {"type": "reasoning.text", "text": "The codename is Ultra.", "signature": SIGNATURE}
SEALED = {"type": "reasoning.encrypted", "data": SIGNATURE, "index": 0}
FUNCTION = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}


def shown(said: dict[str, Any], secret: str) -> Any:
    """The message as it goes back where the secret is redacted."""
    parts = redacted_parts(normalise(said).parts, lambda text: text.replace(secret, "[redacted: hook]"))
    log = log_of(user("Find"), assistant(*parts), tool(result("c1")))
    return compile_context(snapshot(log), ask(Format.OPENAI)).payload["messages"][1]


def called(**fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": [FUNCTION], **fields}


def test_a_text_that_is_attached_as_bytes_is_redacted_too() -> None:
    def redact(text: str) -> str:
        return text.replace("Ultra", "[redacted: hook]")

    secret, harmless, picture = (
        {"type": "file", "data": b64encode(said).decode(), "media_type": media_type}
        for said, media_type in (
            (b"It is Ultra.", "text/plain"),
            (b"It is Enigma.", "text/plain"),
            (b"Ultra", "application/pdf"),
        )
    )
    wide = {**secret, "data": b64encode("\ufeffIt is Ultra.".encode("utf-16-be")).decode()}
    result = {"type": "tool_result", "tool_call_id": "c1", "output": [secret]}
    redacted = redacted_parts([secret, harmless, picture, result], redact)
    assert file_content(redacted[0]) == file_content(redacted[3]["output"][0]) == "It is [redacted: hook]."
    assert redacted[1:3] == (harmless, picture)
    (still_wide,) = redacted_parts([wide], redact)
    assert b64decode(still_wide["data"]) == "\ufeffIt is [redacted: hook].".encode("utf-16-be")
    (linked,) = redacted_parts([{"type": "file", "url": f"data:text/plain;base64,{secret['data']}"}], redact)
    assert linked == {"type": "file", "url": f"data:text/plain;base64,{b64encode(b'It is [redacted: hook].').decode()}"}


@pytest.mark.parametrize("signed", [{"thinking_blocks": [THOUGHT]}, {"reasoning_details": [SEALED, STEP]}])
def test_a_thought_that_is_no_more_what_was_signed_does_not_go_back(signed: dict[str, Any]) -> None:
    """The provider would refuse the request, and all that follow."""
    assert shown(called(**signed), "codename") == called()


@pytest.mark.parametrize(
    "signed",
    [
        called(thinking_blocks=[THOUGHT]),
        called(reasoning_details=[SEALED, STEP]),
        called(tool_calls=[FUNCTION | {"extra_content": {"google": {"thought_signature": SIGNATURE}}}]),
        called(tool_calls=[FUNCTION | {"provider_specific_fields": {"thought_signature": SIGNATURE}}]),
    ],
)
def test_what_a_provider_signed_or_encrypted_stays(signed: dict[str, Any]) -> None:
    assert shown(signed, SIGNATURE) == signed
