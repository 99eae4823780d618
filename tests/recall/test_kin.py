from app.recall.kin import kin, kin_of
from app.recall.tokens import query_terms, terms


def kin_by_place(query: str) -> list[set[str]]:
    return [set(found) for found in kin_of(query_terms(query), query)]


def test_a_word_has_its_kin_and_a_name_has_none() -> None:
    assert kin_by_place("Where are the pictures of Lisbon?") == [set(terms("camera image photo photograph")), set()]


def test_kin_is_kin_to_what_it_is_kin_of_and_not_to_itself() -> None:
    known = kin()
    assert len(known) > 1_000
    assert all(term not in others for term, others in known.items())
    assert all(term in known[other] for term, others in known.items() for other in others & known.keys())


def test_a_query_in_another_language_has_none_for_words_that_look_english() -> None:
    assert all(kin_by_place("photo store"))
    assert kin_by_place("photo dog")[0]
    assert not any(kin_by_place("Wann war das Photo in dem Store?"))
    assert not any(kin_by_place("东京的照片"))


def test_words_of_the_asking_have_none() -> None:
    assert kin_by_place("remember the recommendation") == [set(), set()]
