"""The estimator's laws as properties, and its error on the half of the data that it was not fitted on."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.kit.tokens import (
    ASCII_CLASSES,
    HAN_COMMON,
    HANGUL_COMMON,
    SCALE,
    SEAM_GAIN_MAX,
    SEAM_LOSS_MAX,
    WEIGHTS,
    WIDE_CLASSES,
    text_tokens,
)
from tests.kit.fit_tokens import DATA, class_counts, errors, halves

# Any text but lone surrogates, and text dense in what the estimator looks at: runs, case, marks, spaces, other scripts.
texts = st.text() | st.text(alphabet='aeqzABZ0195 ,._/\n\t"{é😀한뷁的龘あ。，—яم')

needs_data = pytest.mark.skipif(not DATA.exists(), reason="token counts not found: ../shared/data/tokens is absent")


def test_no_text_is_no_tokens() -> None:
    assert text_tokens("") == 0


@given(texts.filter(bool))
def test_any_text_is_at_least_one_token(text: str) -> None:
    assert text_tokens(text) >= 1


@given(texts, texts)
def test_text_added_at_either_end_never_counts_less(head: str, tail: str) -> None:
    assert text_tokens(head + tail) >= max(text_tokens(head), text_tokens(tail))


@given(texts, texts)
def test_two_texts_joined_count_as_much_as_both_within_one(head: str, tail: str) -> None:
    assert abs(text_tokens(head + tail) - text_tokens(head) - text_tokens(tail)) <= 1


@given(texts)
def test_every_character_belongs_to_exactly_one_class(text: str) -> None:
    counts = class_counts(text)
    classes = {*ASCII_CLASSES, *WIDE_CLASSES, "hangul_common", "han_common", "other"} - {"pair_end"}
    assert sum(counts[name] for name in classes) == len(text)


@given(texts)
def test_every_count_has_a_weight(text: str) -> None:
    assert class_counts(text).keys() <= WEIGHTS.keys()


@given(texts)
@example("{" * 1_000)  # of what weighs most in the lower byte more than is summed at once
@example("я" * 1_000)
def test_the_estimate_is_the_weighted_sum_of_the_counts(text: str) -> None:
    thousandths = sum(WEIGHTS[name] * count for name, count in class_counts(text).items())
    assert text_tokens(text) == (max(1, (thousandths + SEAM_GAIN_MAX) // SCALE) if text else 0)


def test_no_weight_is_negative() -> None:
    assert min(WEIGHTS.values()) >= 0


@pytest.mark.parametrize("run", ["word_start", "number_start", "mark_start", "wide_start"])
def test_a_run_joined_at_a_seam_loses_no_more_than_the_rounding_allows(run: str) -> None:
    assert WEIGHTS[run] <= SEAM_LOSS_MAX


def test_a_pair_formed_at_a_seam_gains_no_more_than_the_rounding_allows() -> None:
    assert WEIGHTS["loose_space"] <= SEAM_GAIN_MAX
    # Lower and upper case are one run of letters, so this seam loses the start of a word as well.
    assert -SEAM_LOSS_MAX <= WEIGHTS["case_change"] - WEIGHTS["word_start"] <= SEAM_GAIN_MAX


@pytest.mark.parametrize("common", [HANGUL_COMMON, HAN_COMMON])
def test_a_set_of_common_characters_fits_one_charmap(common: str) -> None:
    assert len(set(common)) == len(common) <= 255


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("snake_case_name", {"word_start": 3, "mark_start": 2, "underscore": 2}),
        ("camelCaseName", {"word_start": 1, "case_change": 2, "capital": 2}),
        ("3.14 and 42", {"number_start": 3, "digit": 5, "loose_space": 1}),
        ("한국어 the café", {"wide_start": 2, "latin": 1, "word_start": 2, "space": 2}),
        ("的龘 한뷁", {"han_common": 1, "han": 1, "hangul_common": 1, "hangul": 1}),
        ("😀", {"emoji": 1, "wide_start": 1}),
        ("\ud83d", {"emoji": 1}),
    ],
)
def test_characters_runs_and_pairs_are_counted_by_class(text: str, expected: dict[str, int]) -> None:
    counts = class_counts(text)
    assert {name: counts[name] for name in expected} == expected


@needs_data
@pytest.mark.parametrize(
    ("language", "error_max"),
    [("en", 0.04), ("ko", 0.04), ("zh", 0.04), ("ja", 0.04), ("json", 0.04), ("tool_output", 0.07)],
)
def test_the_median_error_on_unseen_long_texts_is_within_the_bound_of_the_language(
    language: str, error_max: float
) -> None:
    _, unseen = halves()
    assert errors([sample for sample in unseen if sample.is_long], text_tokens)[language] <= error_max
