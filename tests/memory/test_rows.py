"""Lines of notes that were read are kept, as many as their limit says, and only for the text they are of."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from app.memory.log import items_to_json
from app.memory.model import Cite, Item, Priority
from app.memory.rows import LINE_CHARACTERS, LINES_KEPT, observation_of

NOW = datetime(2026, 9, 1, tzinfo=UTC)
SESSION = uuid4()


def row(number: int, text: str = "It rains.", *, lines: int = 1) -> dict[str, Any]:
    item = Item(priority=Priority.MEDIUM, day="2026-09-01", time="10:00", text=text, cites=(Cite(1, 1),))
    return {
        **dict.fromkeys(("current_task", "suggested_response", "retired_version", "retired_by", "conversation")),
        "id": number,
        "ordinal": number,
        "status": "active",
        "text": text,
        "tokens": 9,
        "message_tokens": 9,
        "session_id": SESSION,
        "from_seq": 1,
        "to_seq": 1,
        "covers": [[1, 1]],
        "born_version": 1,
        "created_at": NOW,
        "items": items_to_json([item] * lines),
    }


def test_a_note_is_read_once_and_anew_when_it_was_edited() -> None:
    first, again, edited = (observation_of(row(-1, text)).items for text in ("It rains.", "It rains.", "It snows."))

    assert again is first
    assert [item.text for item in edited] == ["It snows."]


def test_as_many_lines_are_kept_as_the_limit_says() -> None:
    lines = LINES_KEPT // 8
    read = [observation_of(row(-number, lines=lines)).items for number in range(100, 110)]

    again = [observation_of(row(-number, lines=lines)).items for number in range(109, 99, -1)]

    kept = [one is before for one, before in zip(again, reversed(read), strict=True)]
    assert kept == [True] * 7 + [False] * 3


def test_a_long_line_takes_the_room_of_several() -> None:
    text = "a" * (LINE_CHARACTERS * LINES_KEPT // 4)
    read = [observation_of(row(-number, text)).items for number in range(300, 304)]

    again = [observation_of(row(-number, text)).items for number in range(303, 299, -1)]

    assert [one is before for one, before in zip(again, reversed(read), strict=True)] == [True] * 3 + [False]


def test_a_note_of_more_lines_than_are_kept_is_read() -> None:
    assert len(observation_of(row(-200, lines=LINES_KEPT + 1)).items) == LINES_KEPT + 1
