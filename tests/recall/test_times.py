from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.recall.model import Span
from app.recall.times import CHARACTERS_MAX, named_time

NOW = datetime(2026, 8, 12, 15, 30, tzinfo=UTC)  # a Wednesday


def days(first: str, end: str) -> Span:
    """From the first day to the one that is out again."""
    return Span(since=datetime.fromisoformat(f"{first}T00:00Z"), until=datetime.fromisoformat(f"{end}T00:00Z"))


@pytest.mark.parametrize(
    ("query", "span"),
    [
        ("What did I say yesterday?", days("2026-08-11", "2026-08-12")),
        ("the dentist two weeks ago", days("2026-07-27", "2026-08-03")),
        ("What did Ana do in May?", days("2026-05-01", "2026-06-01")),
        ("Was it in 2022?", days("2022-01-01", "2023-01-01")),
        ("the meeting on 7 May 2023", days("2023-05-07", "2023-05-08")),
        ("the meeting of 2023-05-07", days("2023-05-07", "2023-05-08")),
        ("Was it in December 2022?", days("2022-12-01", "2023-01-01")),
        ("昨天我们说了什么", days("2026-08-11", "2026-08-12")),
        ("qué dijo ayer", days("2026-08-11", "2026-08-12")),
        ("was hat Anna gestern gesagt", days("2026-08-11", "2026-08-12")),
        ("qu'est-ce que j'ai dit hier", days("2026-08-11", "2026-08-12")),
        ("dog yesterday", days("2026-08-11", "2026-08-12")),  # a stop word of Danish
        ("wann 12.05.2026", days("2026-05-12", "2026-05-13")),
        ("2023年5月20日我们说了什么", days("2023-05-20", "2023-05-21")),
        ("五月二十三日我们说了什么", days("2026-05-23", "2026-05-24")),
        ("十月的旅行", days("2025-10-01", "2025-11-01")),
        ("二〇二三年五月", days("2023-05-01", "2023-06-01")),
        ("2031年5月去哪里", days("2031-05-01", "2031-06-01")),
        ("十二月三日", days("2025-12-03", "2025-12-04")),
        ("5月に何を話した", days("2026-05-01", "2026-06-01")),
        ("12월에 뭐라고 했지", days("2025-12-01", "2026-01-01")),
        ("2023年的旅行", days("2023-01-01", "2024-01-01")),
        ("yesterday at 5 pm", days("2026-08-11", "2026-08-12")),
    ],
)
def test_a_time_in_a_query_is_the_day_week_month_or_year_it_names(query: str, span: Span) -> None:
    assert named_time(query, NOW).span == span


@pytest.mark.parametrize(
    "query",
    [
        "",
        "at 5 pm",
        "um 17:30",
        "Was the 7th better?",
        "2월 30일",
        "0月",
        "What may we do?",
        "May I ask something?",
        "the sun and a second march",
        "room 12",
        "version 3.11 of it",
    ],
)
def test_what_hardly_names_a_time_is_not_taken_for_one(query: str) -> None:
    named = named_time(query, NOW)
    assert (named.span, named.text) == (None, query)


def test_words_that_only_count_from_today_are_no_words_of_the_query_and_dates_stay() -> None:
    assert named_time("the dentist yesterday", NOW).text.split() == ["the", "dentist"]
    assert named_time("the dentist on 7 May 2023", NOW).text == "the dentist on 7 May 2023"


def test_a_query_that_names_several_times_means_from_the_first_to_the_last() -> None:
    assert named_time("between 2 May 2023 and 9 June 2023", NOW).span == days("2023-05-02", "2023-06-10")


def test_a_day_is_one_of_the_zone_of_now() -> None:
    zone = timezone(timedelta(hours=9))
    span = named_time("What did I say yesterday?", NOW.astimezone(zone)).span
    assert span == Span(since=datetime(2026, 8, 12, tzinfo=zone), until=datetime(2026, 8, 13, tzinfo=zone))


@pytest.mark.parametrize("query", ["was it on 31 December 9999?", "was it in December 9999?", "on 1 January 0001"])
def test_a_date_at_the_ends_of_what_a_date_can_be_is_none(query: str) -> None:
    assert named_time(query, NOW).span is None


def test_a_date_far_into_a_long_query_is_not_looked_for() -> None:
    assert named_time("word " * (CHARACTERS_MAX // 5) + "on 7 May 2023", NOW).span is None


@given(st.dates(date(1990, 1, 1), date(2026, 8, 11)))
@settings(max_examples=20)
def test_a_full_date_of_the_past_is_its_day(day: date) -> None:
    span = named_time(f"What was said on {day.day} {day:%B %Y}?", NOW).span
    assert span == days(f"{day}", f"{day + timedelta(days=1)}")


@given(st.datetimes(timezones=st.just(UTC)), st.datetimes(timezones=st.just(UTC)), st.datetimes(timezones=st.just(UTC)))
def test_a_span_holds_its_begin_and_not_its_end(since: datetime, until: datetime, at: datetime) -> None:
    assert Span(since=since, until=until).holds(at) == (since <= at < until)
    assert Span().holds(at)
