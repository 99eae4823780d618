from uuid import UUID

from app.memory.edits import Edit
from app.memory.model import Item
from app.recall.model import Searched
from app.recall.notes import Note, note_hits
from app.recall.tokens import query_terms
from tests.memory.building import observation
from tests.steps import steps

RENT, TEA = Item(text="User pays 900 euros of rent."), Item(text="Tea is liked.")
SESSION = Searched(id=UUID(int=1), tenant="t", key="s", memory_id=UUID(int=1), resource_id=None, last_seq=1)


def found(query: str, *lines: Item) -> list[str]:
    """What is found in lines behind a reflection out of which somebody took the rent."""
    edit = Edit(reflection=1, old=(RENT, TEA), new=(TEA,))
    note = Note(session=SESSION, observation=observation(1, *lines), edits=(edit,))
    return [hit.text for hit in note_hits(query_terms(query), [note], timezone="UTC")]


def test_a_line_with_a_word_that_an_edit_took_out_is_not_found() -> None:
    assert found("rent", Item(text="User said that rent is 900 euros.")) == []


def test_nobody_takes_out_who_it_is_about() -> None:
    assert found("tea", Item(text="User likes tea.")) == ["User likes tea."]


def searching(notes: int) -> int:
    """The steps of a search among so many notes behind a long reflection that was edited ten times."""
    lines = [Item(text=f"User met {number} of {number * 7} friends in town {number}.") for number in range(200)]
    edits = tuple(Edit(reflection=1, old=tuple(lines[at:]), new=tuple(lines[at + 1 :])) for at in range(10))
    behind = [
        Note(session=SESSION, observation=observation(number, TEA), edits=edits) for number in range(1, notes + 1)
    ]
    query = query_terms("tea")
    note_hits(query, behind[:1], timezone="UTC")  # the words of the lines are known from then on
    return steps(lambda: note_hits(query, behind, timezone="UTC"))


def test_the_words_of_an_edited_reflection_are_as_much_work_for_ten_notes_as_for_one() -> None:
    assert searching(10) < 2 * searching(1)
