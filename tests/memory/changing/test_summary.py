import pytest

from app.memory.changing.summary import (
    IN_NOTES,
    NO_NOTES,
    NOTHING_SAID,
    POINTERS,
    new_summary,
    own_parts,
    with_heading,
    without_pointer,
)
from app.memory.ranges import Ranges
from app.sessions.counting import message_tokens
from app.sessions.model import Kind, Message, Part, Role
from tests.context.building import NOW, text


def texts(parts: tuple[Part, ...]) -> list[str]:
    return [part["text"] for part in parts]


def made(
    given: str | None = None, *, untold: Ranges = (), former: tuple[Part, ...] = (), lines: str = ""
) -> tuple[list[str], bool]:
    summary = new_summary(given, up_to_seq=9, untold=untold, former=former, lines=lines)
    return texts(summary.parts), summary.tells


def test_the_callers_text_stands_alone() -> None:
    assert made("Short.", former=(text("Former."),), untold=((1, 9),)) == (["Short."], True)


def test_a_summary_points_to_the_notes_and_tells_what_they_do_not() -> None:
    assert made() == ([IN_NOTES], False)
    assert made(untold=((5, 9),), lines="* a line") == ([IN_NOTES, "* a line"], True)
    assert made(untold=((1, 9),), lines="* a line") == (["* a line"], True)


def test_a_summary_keeps_what_the_former_told_but_not_where_it_pointed() -> None:
    former = (text(IN_NOTES), text("Former."))
    assert made(former=former, untold=((4, 9),), lines="* a line") == ([IN_NOTES, "Former.", "* a line"], True)
    assert made(former=(text(NOTHING_SAID),), untold=((1, 9),), lines="* a line") == (["* a line"], True)


def test_a_summary_says_so_where_nothing_was_said() -> None:
    assert made(untold=((1, 9),)) == ([NOTHING_SAID], False)


def test_neighbouring_ranges_that_no_note_tells_are_one() -> None:
    summary = new_summary("Short.", up_to_seq=9, untold=((1, 3), (4, 9)), former=())
    assert summary.covers == ((1, 9),)


def shown_without_notes(*parts: Part) -> Message:
    stored = Message(
        seq=10, id="s", kind=Kind.SUMMARY, role=Role.USER, parts=parts, tokens=1, created_at=NOW, up_to_seq=9
    )
    return without_pointer(with_heading(stored))


@pytest.mark.parametrize("pointer", sorted(POINTERS))
def test_without_notes_it_points_to_none(pointer: str) -> None:
    pointing, telling = shown_without_notes(text(pointer)), shown_without_notes(text(pointer), text("Former."))
    assert texts(pointing.parts)[1:] == [NO_NOTES]
    assert texts(telling.parts)[1:] == ["Former."]
    assert [message_tokens(shown.parts) for shown in (pointing, telling)] == [pointing.tokens, telling.tokens]
    assert texts(shown_without_notes(text("Short.")).parts)[1:] == ["Short."]


def test_the_tokens_of_a_summary_are_those_of_what_is_shown() -> None:
    summary = new_summary("Short.", up_to_seq=9, untold=(), former=())
    stored = Message(
        seq=10,
        id="s",
        kind=Kind.SUMMARY,
        role=Role.USER,
        parts=summary.parts,
        tokens=summary.tokens,
        created_at=NOW,
        up_to_seq=9,
    )
    shown = with_heading(stored)
    assert texts(shown.parts) == ["(Messages #1-#9 are no longer shown. In short:)", "Short."]
    assert message_tokens(shown.parts) == shown.tokens
    assert own_parts(shown.parts[1:]) == summary.parts


def test_one_message_is_no_plural() -> None:
    summary = new_summary("Short.", up_to_seq=1, untold=(), former=())
    stored = Message(
        seq=2, id="s", kind=Kind.SUMMARY, role=Role.USER, parts=summary.parts, tokens=1, created_at=NOW, up_to_seq=1
    )
    assert texts(with_heading(stored).parts)[0] == "(Message #1 is no longer shown. In short:)"
