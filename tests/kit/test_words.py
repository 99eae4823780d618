import re
import sys
import unicodedata
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kit import words
from app.kit.words import KEPT_CHARACTERS, MARKS_MAX, NUMBER, NormalForm, any_of, normalized, specifics, terms
from app.memory.extractive.cues import is_error

FORMS = get_args(NormalForm)


@given(st.lists(st.text(alphabet="abgnисé나の図77'", min_size=1, max_size=2 * KEPT_CHARACTERS), max_size=4))
def test_a_text_has_the_terms_of_its_words_however_long_these_are(said: list[str]) -> None:
    assert list(terms(" ".join(said))) == [term for word in said for term in terms(word)]


@pytest.mark.parametrize("text", ["Zürich naïve", "저는 서울에", "はガパオが", "Đà Nẵng"])
def test_a_letter_with_its_marks_apart_is_that_letter(text: str) -> None:
    assert list(terms(unicodedata.normalize("NFD", text))) == list(terms(text))


def test_of_a_long_run_nothing_is_kept() -> None:
    terms_before = words._kept.cache_info().currsize
    assert list(terms("zq" * KEPT_CHARACTERS)) == ["zq" * KEPT_CHARACTERS]
    assert words._kept.cache_info().currsize == terms_before


@pytest.mark.parametrize(
    ("text", "expected"),
    [("room 12", ["12"]), ("v2", []), ("1,200.50 and 3", ["1,200.50", "3"]), ("12년", ["12"]), ("年2", [])],
)
def test_a_number_does_not_begin_behind_a_letter(text: str, expected: list[str]) -> None:
    assert NUMBER.findall(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("मुझे मूंगफली से एलर्जी है।", ["मुझे", "मूंगफली", "से", "एलर्जी", "है"]),
        ("هل السعر يشمل 14A؟", ["هل", "السعر", "يشمل", "14a"]),
        ("שָׁלוֹם Ana", ["שָׁלוֹם", "ana"]),
        ("แพ้ถั่ว", ["แพ", "พ้", "้ถ", "ถั", "ั่", "่ว"]),
        ("iPhone手机", ["iphone", "手机"]),
    ],
)
def test_vowels_that_are_marks_belong_to_their_word(text: str, expected: list[str]) -> None:
    assert list(terms(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TypeError: no such name", True),
        ("an error came", True),
        ("It was done without errors.", False),
        ("the erroring of it", False),
        ("KeyErrors", False),
        ("連接失敗了", True),
    ],
)
def test_an_error_is_told_by_its_word_alone_or_at_the_end_of_a_name(text: str, expected: bool) -> None:
    assert is_error(text) is expected


@pytest.mark.timeout(60)
def test_a_quotation_that_nothing_closes_takes_no_longer_than_others() -> None:
    assert specifics("“a" * 250_000) == []  # each looked behind to the end: 20,000 took 6 s


@pytest.mark.timeout(60)
@pytest.mark.parametrize("marks", ["\u0301\u0316", "\u0f73", "\uff9e\u0316", "\u0344\u0323"])
@pytest.mark.parametrize("form", FORMS)
def test_marks_without_end_take_no_longer_than_others(marks: str, form: NormalForm) -> None:
    found = normalized("a" + marks * 250_000 + "b", form)  # sorted in quadratic time: 20,000 took 2 s
    assert found.endswith("b")
    assert len(found) < 10 * MARKS_MAX


@given(st.text(), st.sampled_from(FORMS))
def test_a_text_that_somebody_may_have_written_is_normalized_as_it_is(text: str, form: NormalForm) -> None:
    assert normalized(text, form) == unicodedata.normalize(form, text)


@pytest.mark.parametrize("crowd", ["!" * 99, "…" * 99, "😀" * 99, "e\u0301" * 99, "“" * 99, "각" * 99, "カ\uff9e" * 99])
def test_what_is_not_on_one_letter_stays(crowd: str) -> None:
    assert normalized(crowd, "NFKD") == unicodedata.normalize("NFKD", crowd)


def test_no_mark_is_taken_for_a_letter() -> None:
    """By all of Unicode: what is a mark in a normal form is found as one."""
    marks = [one for one in map(chr, range(sys.maxunicode + 1)) if is_marks(unicodedata.normalize("NFKD", one))]
    assert len(marks) > 900
    assert [one for one in marks if len(normalized("a" + one * 100, "NFKD")) > 3 * MARKS_MAX] == []


def is_marks(text: str) -> bool:
    return all(map(unicodedata.combining, text))


@pytest.mark.parametrize(
    "choices", [["a"], ["a", "ab", "b"], ["a", "a"], ["ab", "ac", "a.c"], ["", "ab"], ["가", "가나"]]
)
def test_any_of_words_matches_each_of_them_and_nothing_else(choices: list[str]) -> None:
    pattern = re.compile(any_of(choices))

    assert all(pattern.fullmatch(word) for word in choices)
    assert not any(pattern.fullmatch(word + "x") for word in choices)
    assert pattern.fullmatch("a-c") is None
