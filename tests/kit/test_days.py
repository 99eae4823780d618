from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kit.days import date_phrases, day_label, is_day_alone, parse_day, partial_phrases, relative

ANCHOR = date(2026, 8, 15)


@pytest.mark.parametrize(
    ("days_ago", "expected"),
    [
        (0, "today"),
        (1, "yesterday"),
        (-1, "tomorrow"),
        (2, "2 days ago"),
        (6, "6 days ago"),
        (7, "1 week ago"),
        (13, "1 week ago"),
        (14, "2 weeks ago"),
        (29, "4 weeks ago"),
        (30, "1 month ago"),
        (59, "1 month ago"),
        (60, "2 months ago"),
        (364, "12 months ago"),
        (365, "1 year ago"),
        (729, "1 year ago"),
        (730, "2 years ago"),
        (-2, "in 2 days"),
        (-7, "in 1 week"),
        (-14, "in 2 weeks"),
        (-30, "in 1 month"),
        (-400, "in 1 year"),
    ],
)
def test_a_day_is_told_relative_to_the_anchor_in_buckets(days_ago: int, expected: str) -> None:
    assert relative(ANCHOR - timedelta(days=days_ago), ANCHOR) == expected


@pytest.mark.parametrize(
    "label",
    [
        "Aug 1, 2026",
        "August 1st, 2026",
        "Sat, 1 Aug 2026",
        "Aug 1, 2026 (2 weeks ago)",
        "**Aug 1, 2026**",
        "2026-08-01",
        "2026/8/1",
        "2026. 8. 1",
        "2026年8月1日 (土)",
        "2026년 8월 1일 토요일",
        "２０２６年８月１日",
        "1. August 2026",
        "1er août 2026",
        "1 de agosto de 2026",
    ],
)
def test_a_header_is_read_as_the_day_it_names(label: str) -> None:
    assert parse_day(label) == date(2026, 8, 1)


@pytest.mark.parametrize(
    "label",
    ["", "Aug 1", "August 2026", "Feb 30, 2026", "0000-01-01", "Aug 1, 2026 to Aug 3, 2026", "soon", "1" * 5_000],
)
def test_a_header_that_names_no_single_day_is_read_as_none(label: str) -> None:
    assert parse_day(label) is None


@given(st.dates())
def test_a_label_reads_back_as_its_day(day: date) -> None:
    assert parse_day(day_label(day)) == day


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on May 20, 2023 in Rome", [(2023, 5, 20)]),
        ("from 3 May to June 4", [(None, 5, 3), (None, 6, 4)]),
        ("since May 2023", [(2023, 5, None)]),
        ("5月20日に", [(None, 5, 20)]),
        ("2023년 5월부터", [(2023, 5, None)]),
        ("you may 99 times", []),
        ("version 1.2.3 of 10:30", []),
        ("1 aprıl, ſept 2", [(None, 4, 1), (None, 9, 2)]),  # letters that are others in another case
    ],
)
def test_dates_are_found_inside_a_text(text: str, expected: list[tuple[int | None, int, int | None]]) -> None:
    assert [(phrase.year, phrase.month, phrase.day) for phrase in date_phrases(text)] == expected


@given(st.text(alphabet="0123 .,-jJaAuUnNſıİK月日", max_size=12))
def test_every_text_can_be_searched_for_dates(text: str) -> None:
    for phrase in (*date_phrases(text), *partial_phrases(text)):
        assert 1 <= phrase.month <= 12


@pytest.mark.parametrize(
    ("line", "alone"),
    [
        ("## Aug 1, 2026", True),
        ("日期：2026年8月1日", True),
        ("Saturday, Aug 1, 2026:", True),
        ("User was born on Aug 1, 2026", False),
        ("Aug 1", False),
    ],
)
def test_a_bare_date_is_told_from_a_sentence_with_one(line: str, alone: bool) -> None:
    assert is_day_alone(line) is alone
