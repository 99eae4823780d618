"""Recorded agent traffic in the providers' own shapes is understood as it is."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.sessions.model import PartType
from app.sessions.wire import Normalised, normalise

TRANSCRIPTS = Path(__file__).parents[3] / "shared/data/tools/conversations.jsonl"


@pytest.fixture(scope="module")
def conversations() -> list[list[Normalised]]:
    if not TRANSCRIPTS.exists():
        pytest.skip("shared/data/tools is not here")
    lines = TRANSCRIPTS.read_text(encoding="utf-8").splitlines()
    return [[normalise(raw) for raw in json.loads(line)["messages"]] for line in lines]


def ids(messages: list[Normalised], kind: PartType, field: str) -> Iterator[str]:
    return (part[field] for message in messages for part in message.parts if part["type"] == kind)


def test_every_transcript_is_understood(conversations: list[list[Normalised]]) -> None:
    assert len(conversations) == 171
    assert sum(len(messages) for messages in conversations) > 2_000


def test_every_result_follows_the_call_it_answers(conversations: list[list[Normalised]]) -> None:
    for messages in conversations:
        called: set[str] = set()
        for message in messages:
            called.update(ids([message], PartType.TOOL_CALL, "id"))
            assert set(ids([message], PartType.TOOL_RESULT, "tool_call_id")) <= called


def test_the_neutral_form_of_every_message_is_its_own(conversations: list[list[Normalised]]) -> None:
    for message in (message for messages in conversations for message in messages):
        raw = {"role": message.role.value, "name": message.name, "content": list(message.parts)}
        assert normalise(raw) == message
