"""Citations of a shared log: names of conversations, and the plain numbers that a model is shown."""

from hypothesis import given
from hypothesis import strategies as st

from app.memory.conversations import Numbering, named
from app.memory.log import items_from_json, items_to_json, render
from app.memory.model import Cite, Detail, Item

KEYS = st.sampled_from(["one", "two:2", "a-b", "9"])
CITES = st.builds(lambda first, more, key: Cite(first, first + more, key), st.integers(1, 900), st.integers(0, 9), KEYS)
ITEMS = st.lists(
    st.builds(
        lambda cites, more: Item(text="x", cites=tuple(cites), details=(Detail(text="y", cites=tuple(more)),)),
        st.lists(CITES, max_size=4, unique=True),
        st.lists(CITES, max_size=4, unique=True),
    ),
    max_size=5,
)


def test_a_citation_names_its_conversation() -> None:
    (item,) = named([Item(text="User moved.", cites=(Cite(1, 1), Cite(3, 5)))], "chat-7")
    assert render([item]) == "* User moved. #chat-7:1 #chat-7:3-5"


@given(ITEMS)
def test_what_is_numbered_is_named_as_it_was(items: list[Item]) -> None:
    numbering = Numbering.of(items)
    numbered = numbering.numbered(items)
    assert all(cite.conversation is None for item in numbered for cite in item.cites)
    assert numbering.named(numbered) == tuple(items)


@given(ITEMS)
def test_no_two_messages_have_one_number(items: list[Item]) -> None:
    numbering = Numbering.of(items)
    pairs = {
        (cite.conversation, cite.first, new.first)
        for item, numbered in zip(items, numbering.numbered(items), strict=True)
        for cite, new in zip(item.cites, numbered.cites, strict=True)
    }
    assert len({number for _, _, number in pairs}) == len({(key, seq) for key, seq, _ in pairs})


def test_a_range_over_two_conversations_becomes_one_of_each() -> None:
    numbering = Numbering.of([Item(text="x", cites=(Cite(9, 10, "a"), Cite(5, 5, "b")))])
    (item,) = numbering.named([Item(text="x", cites=(Cite(8, 12),))])
    assert item.cites == (Cite(8, 10, "a"), Cite(1, 2, "b"))


@given(ITEMS)
def test_a_log_that_names_conversations_is_stored_and_read_as_it_is(items: list[Item]) -> None:
    assert items_from_json(items_to_json(items)) == tuple(items)
