from datetime import UTC, datetime, timedelta, timezone

import pytest

from app.recall.relative import TimePhrase, time_phrases
from app.recall.times import named_time

NOW = datetime(2026, 8, 12, 15, 30, tzinfo=UTC)  # a Wednesday
TWO_WEEKS_AGO = ("2026-07-27", "2026-08-03")
LAST_WEEK = ("2026-08-03", "2026-08-10")


def stretches(text: str) -> list[tuple[str, str] | None]:
    return [
        told.stretch and (f"{told.stretch[0]:%Y-%m-%d}", f"{told.stretch[1]:%Y-%m-%d}")
        for told in time_phrases(text, NOW)
    ]


@pytest.mark.parametrize(
    ("query", "days"),
    [
        ("What did I say two weeks ago?", TWO_WEEKS_AGO),
        ("Was habe ich vor 2 Wochen gesagt?", TWO_WEEKS_AGO),
        ("Qu'ai-je dit il y a deux semaines ?", TWO_WEEKS_AGO),
        ("¿Qué dije hace dos semanas?", TWO_WEEKS_AGO),
        ("O que eu disse duas semanas atrás?", TWO_WEEKS_AGO),
        ("Cosa ho detto due settimane fa?", TWO_WEEKS_AGO),
        ("Wat zei ik twee weken geleden?", TWO_WEEKS_AGO),
        ("两周前我说了什么", TWO_WEEKS_AGO),
        ("2週間前に何を話した", TWO_WEEKS_AGO),
        ("2주 전에 뭐라고 했지", TWO_WEEKS_AGO),
        ("What was there last week?", LAST_WEEK),
        ("letzte Woche", LAST_WEEK),
        ("la semaine dernière", LAST_WEEK),
        ("la semana pasada", LAST_WEEK),
        ("la settimana scorsa", LAST_WEEK),
        ("지난주에 뭐라고 했지", LAST_WEEK),
        ("三天前", ("2026-08-09", "2026-08-10")),
        ("一昨日の夕食", ("2026-08-10", "2026-08-11")),
        ("an hour ago", ("2026-08-12", "2026-08-13")),
        ("a month ago", ("2026-07-01", "2026-08-01")),
        ("nine months ago", ("2025-11-01", "2025-12-01")),
        ("vor einem Jahr", ("2025-01-01", "2026-01-01")),
        ("in the last two weeks", ("2026-07-29", "2026-08-13")),
        ("in den letzten 10 Tagen", ("2026-08-02", "2026-08-13")),
        ("les trois derniers mois", ("2026-05-14", "2026-08-13")),
        ("最近三个月", ("2026-05-14", "2026-08-13")),
    ],
)
def test_how_long_ago_is_the_day_week_month_or_year_of_then_and_the_last_weeks_are_all_of_them(
    query: str, days: tuple[str, str]
) -> None:
    assert stretches(query) == [days]
    named = named_time(query, NOW).span
    assert named is not None
    assert (f"{named.since:%Y-%m-%d}", f"{named.until:%Y-%m-%d}") == days


@pytest.mark.parametrize(
    "query",
    [
        "I was there for two weeks",
        "the first three months of it",
        "a 20 minute walk",
        "Ich war zwei Wochen dort",
        "2 year old",
    ],
)
def test_how_long_something_took_is_no_time(query: str) -> None:
    assert not any(stretches(query))
    assert named_time(query, NOW).span is None


def test_a_number_of_several_signs_is_not_read_by_its_last() -> None:
    assert stretches("二十天前") == []


def test_a_phrase_is_told_once_and_of_several_each() -> None:
    told = list(time_phrases("Was it two weeks ago, or in the last 3 days?", NOW))
    assert [one.phrase for one in told] == ["two weeks ago", "last 3 days"]


def test_words_of_a_time_are_no_words_of_the_query_and_no_particle_of_it_is_left() -> None:
    assert named_time("2주 전에 뭐라고 했지", NOW).text.split() == ["2주", "전에", "뭐라고", "했지"]  # a number stays
    assert named_time("지난주에 뭐라고 했지", NOW).text.split() == ["뭐라고", "했지"]


def test_before_the_year_one_there_is_no_time() -> None:
    assert list(time_phrases("999 years ago", datetime(500, 1, 1, tzinfo=UTC))) == [TimePhrase("999 years ago", None)]
    assert list(time_phrases("前天", datetime(1, 1, 1, tzinfo=UTC))) == [TimePhrase("前天", None)]
    east = datetime(2, 1, 1, 12, tzinfo=timezone(timedelta(hours=12)))  # where the year 1 begins before it does in UTC
    assert list(time_phrases("last year", east)) == [TimePhrase("last year", None)]
    [winter] = time_phrases("last winter", datetime(2, 1, 10, tzinfo=UTC))
    assert winter.stretch is None


@pytest.mark.parametrize("query", ["ſix weeks ago", "nıne weeks ago", "vor eİnem Jahr"])
def test_a_number_with_a_letter_that_matches_regardless_of_case_alone_is_none(query: str) -> None:
    assert list(time_phrases(query, NOW)) == [TimePhrase(query, None)]
