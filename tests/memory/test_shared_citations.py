"""Citations of a shared log: names of conversations, and the plain numbers that a model is shown."""

from hypothesis import given
from hypothesis import strategies as st

from app.memory.log import items_from_json, items_to_json, render
from app.memory.model import Cite, Detail, Item
from app.memory.shared_citations import Numbering, named
from tests.steps import steps

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


@given(st.lists(st.integers(1, 9), min_size=1, max_size=9), st.integers(1, 90), st.integers(0, 90), st.integers(0, 20))
def test_a_range_is_named_by_all_the_messages_in_it(lengths: list[int], first: int, more: int, after: int) -> None:
    """Also where some of its numbers are before the first conversation, or after the last."""
    sizes = {f"chat-{number}": length for number, length in enumerate(lengths)}
    numbering = Numbering.of(
        [Item(text="x", cites=(Cite(size, size, name),)) for name, size in sizes.items()], after=after
    )
    laid = [(name, seq) for name, size in sizes.items() for seq in range(1, size + 1)]
    meant = [message for number, message in enumerate(laid, start=after + 1) if first <= number <= first + more]
    (item,) = numbering.named([Item(text="x", cites=(Cite(first, first + more),))])
    assert [(cite.conversation, seq) for cite in item.cites for seq in range(cite.first, cite.last + 1)] == meant


def naming(conversations: int) -> int:
    """The steps of naming what 500 lines cite of so many conversations."""
    items = [Item(text="x", cites=(Cite(1, 1, f"chat-{number}"),)) for number in range(conversations)]
    numbering = Numbering.of(items)
    cited = numbering.numbered(items)[-1:] * 500
    return steps(lambda: numbering.named(cited))


def test_a_citation_among_ten_times_as_many_conversations_is_named_with_about_the_same_work() -> None:
    assert naming(500) < 2 * naming(50)


@given(ITEMS)
def test_a_log_that_names_conversations_is_stored_and_read_as_it_is(items: list[Item]) -> None:
    assert items_from_json(items_to_json(items)) == tuple(items)
