import pytest

from app.recall.asking import asking_terms, is_grammar, meant_role
from app.recall.tokens import query_terms, terms
from app.sessions.model import Role


@pytest.mark.parametrize(
    ("query", "role"),
    [
        ("Where did my sister move?", Role.USER),
        ("我妹妹搬到哪里了", Role.USER),
        ("Where did Ana move?", None),
        ("Do you like what I like?", None),  # of both
        ("Can you suggest a film for tonight?", Role.USER),  # whom it is for
        ("Could you show what we ordered?", Role.USER),
        ("What did you tell me of Lisbon?", Role.ASSISTANT),
        ("Which hotel was it that you'd recommended to us?", Role.ASSISTANT),
        ("Can you remind me of the third step?", Role.ASSISTANT),
        ("I am going back to our previous conversation about Lisbon", Role.ASSISTANT),
        ("What did our previous landlord say?", Role.USER),  # not of a talk
    ],
)
def test_a_query_tells_whose_word_it_means(query: str, role: Role | None) -> None:
    assert meant_role(query) is role


@pytest.mark.timeout(60)
def test_a_query_of_marks_that_are_never_closed_takes_no_longer_than_another() -> None:
    assert meant_role("„" * 200_000) is None  # of 10,000 each was looked behind to the end, 1.8 s: of these 12 minutes


def test_the_words_of_asking_are_known_in_every_form_and_what_is_asked_about_is_not_among_them() -> None:
    assert set(terms("reminding discussions suggests recommendations")) <= asking_terms()
    assert asking_terms().isdisjoint(terms("a birthday of my sister in Lisbon, the second job, two magazines"))


@pytest.mark.parametrize(
    ("query", "content"),
    [
        ("京都でどうでしたか", {"京都", "都で"}),
        ("我们为什么可以", {"们为", "么可"}),
        ("이야기 언제", set[str]()),
        ("Ana in Lisbon", {"ana", "lisbon"}),
    ],
)
def test_pairs_that_only_make_a_sentence_are_told_from_what_is_looked_for(query: str, content: set[str]) -> None:
    assert {term for word in query_terms(query) if not is_grammar(word) for term in word if term in content} == content
    assert sum(not is_grammar(word) for word in query_terms(query)) == len(content)
