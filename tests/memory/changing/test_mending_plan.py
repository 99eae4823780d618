"""What an erasure leaves of a log: blank notes leave it, and what is whole of what they condensed comes back."""

import pytest

from app.memory.changing.mending_plan import MendingPlan, Note, edits_behind, losing, mending_plan
from app.memory.edits import Edit
from app.memory.model import Item, Status

ACTIVE, BUFFERED, RETIRED = Status.ACTIVE, Status.BUFFERED, Status.RETIRED


def note(number: int, status: Status = ACTIVE, *, blank: bool = False, of: str = "") -> Note:
    """``of`` names what a reflection condenses: ``o1 o2`` observations, ``r1`` a reflection."""
    sources = {kind: tuple(int(one[1:]) for one in of.split() if one[0] == kind) for kind in "or"}
    return Note(id=number, status=status, blank=blank, observations=sources["o"], reflections=sources["r"])


def plan(leaving: str = "", returning: str = "") -> MendingPlan:
    ids = {
        (when, kind): tuple(int(one[1:]) for one in said.split() if one[0] == kind)
        for when, said in (("leaving", leaving), ("returning", returning))
        for kind in "or"
    }
    return MendingPlan(
        leaving_observations=ids["leaving", "o"],
        leaving_reflections=ids["leaving", "r"],
        returning_observations=ids["returning", "o"],
        returning_reflections=ids["returning", "r"],
    )


@pytest.mark.parametrize(
    ("observations", "reflections", "expected"),
    [
        ([note(1), note(2)], [], plan()),
        ([note(1), note(2, blank=True), note(3, BUFFERED, blank=True)], [], plan("o2 o3")),
        ([note(1, RETIRED, blank=True)], [], plan()),
        ([note(1, RETIRED), note(2, blank=True)], [note(1, of="o1")], plan("o2")),
        (
            [note(1, RETIRED), note(2, RETIRED, blank=True)],
            [note(1, blank=True, of="o1 o2")],
            plan("r1", "o1"),
        ),
        (
            [note(number, RETIRED, blank=number == 4) for number in (1, 2, 3, 4)],
            [note(1, RETIRED, of="o1 o2"), note(2, RETIRED, blank=True, of="o3 o4"), note(3, blank=True, of="r1 r2")],
            plan("r3", "o3 r1"),
        ),
        ([note(1, RETIRED)], [note(1, RETIRED, blank=True, of="o1")], plan()),
        ([note(1), note(2, blank=True)], [note(1, BUFFERED, blank=True, of="o1 o2")], plan("o2")),
    ],
    ids=[
        "nothing is blank",
        "live and waiting ones leave",
        "what has left the log already stays where it is",
        "a whole reflection stays",
        "what a blank reflection condensed returns",
        "through blank reflections too, and the newest whole ones only",
        "of a reflection that was deleted nothing returns",
        "one made ahead is in no log",
    ],
)
def test_the_plan_of_a_mending(observations: list[Note], reflections: list[Note], expected: MendingPlan) -> None:
    assert mending_plan(observations, reflections) == expected


def edit(reflection: int, old: str, new: str) -> Edit:
    return Edit(reflection=reflection, old=(Item(text=old),), new=(Item(text=new),))


def test_an_edit_is_of_all_that_its_reflection_condenses_and_of_nothing_that_condenses_it() -> None:
    first, second = edit(3, "a", "b"), edit(1, "c", "d")
    reflections = [
        note(1, RETIRED, of="o1 o2"),
        note(2, RETIRED, of="o3"),
        note(3, RETIRED, of="r1 r2"),
        note(4, of="r3"),
    ]
    observed, condensed = edits_behind([first, second], reflections)

    assert observed == {1: [first, second], 2: [first, second], 3: [first]}
    assert condensed == {1: [first], 2: [first]}


def test_of_the_notes_behind_an_edit_those_lose_lines_that_have_what_it_took_out() -> None:
    """Told by words, of which nobody takes out who it is about."""
    pays, tea = Item(text="User pays 900 euros."), Item(text="User likes tea.")
    edits = {number: [edit(1, "User pays 900 euros.", "Of tea.")] for number in (1, 2, 3)}

    lines = {1: (pays, tea), 2: (tea,), 3: (pays,), 4: (pays,)}
    assert losing((lines, {}), (edits, {})) == ({1: (tea,), 3: ()}, {})
    assert losing(({}, lines), ({}, edits)) == ({}, {1: (tea,), 3: ()})
