"""What is the same as a stored message but for its shape, or for what was redacted of it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from app.sessions.model import Message
from app.sessions.reading import read_message
from app.sessions.recognising import hashes_said_again, says_again
from app.sessions.schemas import MessageIn

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


def test_what_was_redacted_may_be_sent_again_in_another_shape() -> None:
    """As google-genai dumps it with other options, after redaction was switched off."""
    sent = {"id": "m", "role": "model", "parts": [{"text": "It is Ultra.", "thoughtSignature": "-_8="}]}
    dumped = {
        "id": "m",
        "role": "model",
        "parts": [{"text": "It is Ultra.", "thought_signature": "+/8", "thought": None}],
    }
    old = read_message(MessageIn(**sent), at="", redact=lambda text: text.replace("Ultra", MARK))
    stored = Message(
        seq=1,
        id=old.id,
        kind=old.kind,
        role=old.role,
        parts=old.parts,
        tokens=old.tokens,
        created_at=datetime(2026, 8, 1, tzinfo=UTC),
        content_hash=old.content_hash,
    )

    for again in (sent, dumped):
        assert hashes_said_again([read_message(MessageIn(**again), at="")], {"m": stored}, None) == {
            "m": old.content_hash
        }
    other = sent | {"parts": [{"text": "It was Ultra.", "thoughtSignature": "-_8="}]}
    assert hashes_said_again([read_message(MessageIn(**other), at="")], {"m": stored}, None) == {}
