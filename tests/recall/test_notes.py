from zoneinfo import ZoneInfo

from app.memory.model import Item
from app.recall.notes import Note, note_hits
from app.recall.tokens import query_terms
from tests.memory.building import observation

RENT, TEA = Item(text="User pays 900 euros of rent."), Item(text="Tea is liked.")


def found(query: str, *lines: Item) -> list[str]:
    """What is found in lines behind a reflection out of which somebody took the rent."""
    note = Note(key="s", zone=ZoneInfo("UTC"), observation=observation(1, *lines), edits=[((RENT, TEA), (TEA,))])
    return [hit.text for hit in note_hits(query_terms(query), [note])]


def test_a_line_with_a_word_that_an_edit_took_out_is_not_found() -> None:
    assert found("rent", Item(text="User said that rent is 900 euros.")) == []


def test_nobody_takes_out_who_it_is_about() -> None:
    assert found("tea", Item(text="User likes tea.")) == ["User likes tea."]
