"""The blocks of notes that were shown last are kept, as many as their characters allow."""

from dataclasses import replace
from datetime import date

from app.context.blocks import CHARACTERS_KEPT, observation_block
from app.memory.model import Observation
from tests.context.building import observation

ANCHOR = date(2026, 9, 1)


def note(number: int, text: str) -> Observation:
    return replace(observation(number), id=-number, text=text, items=())


def test_a_note_is_written_once_and_anew_at_another_day_or_with_another_text_or_title() -> None:
    first = observation_block(note(1, "It rains."), anchor=ANCHOR)

    assert observation_block(note(1, "It rains."), anchor=ANCHOR) is first
    assert observation_block(note(1, "It rains."), anchor=date(2026, 9, 2)) is not first
    assert "It snows." in observation_block(note(1, "It snows."), anchor=ANCHOR).text
    assert "monday" in observation_block(replace(note(1, "It rains."), conversation="monday"), anchor=ANCHOR).text


def test_as_many_blocks_are_kept_as_the_limit_says() -> None:
    text = "a" * (CHARACTERS_KEPT // 5)
    shown = [observation_block(note(number, text), anchor=ANCHOR) for number in range(100, 106)]

    again = [observation_block(note(number, text), anchor=ANCHOR) for number in range(105, 99, -1)]

    kept = [one is before for one, before in zip(again, reversed(shown), strict=True)]
    assert kept == [True] * 4 + [False] * 2


def test_a_note_of_more_characters_than_are_kept_is_shown() -> None:
    assert len(observation_block(note(200, "a" * CHARACTERS_KEPT), anchor=ANCHOR).text) > CHARACTERS_KEPT
