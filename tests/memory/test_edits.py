from collections import Counter
from collections.abc import Iterator

import pytest

from app.memory.edits import Edit, TakenOut
from app.memory.model import Detail, Item

PAYS, TEA = Item(text="User pays 900 euros."), Item(text="User likes tea.", details=(Detail(text="green"),))


def edit(old: str, new: str) -> Edit:
    return Edit(reflection=1, old=(Item(text=old),), new=(Item(text=new),))


@pytest.mark.parametrize(
    ("edits", "left"),
    [
        ((), [PAYS, TEA]),
        ((edit("User pays 900 euros. Tea too.", "Tea too."),), [TEA]),
        ((edit("User pays 900 euros.", "User pays 950 euros."),), [TEA]),
        ((edit("Pays 900.", "Pays."), edit("Pays.", "Pays 900.")), [PAYS, TEA]),
        ((edit("It is green.", "It is."),), [PAYS]),
        ((edit("User", "Nobody"),), [PAYS, TEA]),
    ],
    ids=["none", "taken out", "another number", "and put back", "of a detail", "who it is about"],
)
def test_a_line_with_a_word_that_an_edit_took_out_is_left_out(edits: tuple[Edit, ...], left: list[Item]) -> None:
    taken_out = TakenOut(lambda text: text.lower().replace(".", "").split(), frame={"user"})
    assert [item for item in (PAYS, TEA) if not taken_out.is_of(item, edits)] == left


def test_the_words_of_a_line_are_looked_for_once_however_many_notes_an_edit_is_of() -> None:
    asked = Counter[str]()

    def words(text: str) -> Iterator[str]:
        asked[text] += 1
        yield from text.split()

    lines = tuple(Item(text=f"line {number}") for number in range(5))
    first, second = (Edit(reflection=1, old=lines[at:], new=lines[at + 1 :]) for at in range(2))
    taken_out = TakenOut(words, frame=())
    found = [
        (taken_out.is_of(line, (first,)), taken_out.is_of(line, (first, second))) for _ in range(100) for line in lines
    ]

    assert found[:3] == [(True, True), (False, True), (False, False)]
    assert set(asked.values()) == {1}
