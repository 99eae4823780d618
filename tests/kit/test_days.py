from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kit.days import (
    MONTHS,
    date_phrases,
    day_behind_label,
    day_label,
    days_apart,
    days_meant,
    is_day_alone,
    parse_day,
    partial_phrases,
    relative,
)

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
        "sábado, 1 de ago. de 2026",
        "01.08.2026",
        "1 августа 2026 г.",
        "1 sierpnia 2026",
        "1 Ağustos 2026 Cumartesi",
        "١ أغسطس ٢٠٢٦",
        "1 अगस्त 2026",
        "2026. augusztus 1.",
        "ngày 1 tháng 8 năm 2026",
        "令和8年8月1日",
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
        ("3 out of 5, 2 ago", [(None, 8, 2)]),
        ("5 जनवरी को", [(None, 1, 5)]),
        ("10 تشرين الأول 2026", [(2026, 10, 10)]),
        ("3 Kasım'da", [(None, 11, 3)]),
        ("version 1.2.3 of 10:30", []),
        ("1 aprıl, ſept 2", [(None, 4, 1), (None, 9, 2)]),  # letters that are others in another case
    ],
)
def test_dates_are_found_inside_a_text(text: str, expected: list[tuple[int | None, int, int | None]]) -> None:
    assert [(phrase.year, phrase.month, phrase.day) for phrase in date_phrases(text)] == expected


@pytest.mark.parametrize(
    "written", ["{}.   29th, 2026", "{},   2026", "29-го de   {}. del   2026 року", "2026. {}   29", "29/30 {}"]
)
def test_a_date_is_found_far_from_every_other_figure(written: str) -> None:
    """As it is among figures, near which dates are looked for."""
    words, figures = "wo " * 40, "7x " * 40
    for name in MONTHS:
        alone, among = (list(date_phrases(f"{beside}{written.format(name)} {beside}")) for beside in (words, figures))
        assert alone == among


@pytest.mark.parametrize(
    ("written", "day"), [("29-го  października  2026 року", 29), ("2026年 8月 29日", 29), ("Sept. 29th,  2026", 29)]
)
def test_a_date_is_found_wherever_it_is_among_many_figures(written: str, day: int) -> None:
    for before in range(2_000, 2_100):
        found = list(date_phrases("7x " * (before // 3) + " " * (before % 3) + written + " 7x" * 1_000))
        assert [(phrase.year, phrase.day, phrase.end - phrase.start) for phrase in found] == [
            (2026, day, len(written))
        ], before


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


@pytest.mark.parametrize(
    ("line", "label"),
    [
        ("Datum: Montag, 3. August 2026", "Montag, 3. August 2026"),
        ("**Fecha:** lunes, 3 de agosto de 2026", "lunes, 3 de agosto de 2026"),
        ("日付：2026年8月3日（月）", "2026年8月3日（月）"),
        ("Дата: 3 августа 2026 года, понедельник", "3 августа 2026 года, понедельник"),
        ("Fecha: 03/08/2026", "03/08/2026"),
        ("Datum: nächste Woche", None),
        ("Frist: Montag, 3. August 2026", None),
        ("Datum der Reise: 3. August 2026", None),
    ],
)
def test_a_date_is_told_behind_the_word_for_it(line: str, label: str | None) -> None:
    assert day_behind_label(line) == label


def test_a_label_that_may_mean_several_days_means_one_of_those_at_hand() -> None:
    days = {date(2026, 8, 3), date(2026, 8, 5)}

    assert days_meant("03/08/2026", days) == {date(2026, 8, 3)}
    assert days_meant("3 août", days) == {date(2026, 8, 3)}
    assert days_meant("soon", days) == frozenset()


@pytest.mark.parametrize(
    ("text", "apart"),
    [
        ("Aug 8-9, 2026", "Aug 8, 2026 Aug 9, 2026"),
        ("8.-9. August 2026", "8 August 2026 9. August 2026"),
        ("8月8~9日", "8月8日 8月9日"),
        ("16:8-9 august", "16:8-9 august"),
        ("Aug 8 to 9, 2026", "Aug 8, 2026 Aug 9, 2026"),
        ("on Aug 8 to 9 people", "on Aug 8 to 9 people"),
        ("2026年8月8日至9日", "2026年8月8日 2026年8月9日"),
    ],
)
def test_a_range_of_days_is_two_days(text: str, apart: str) -> None:
    assert days_apart(text) == apart
