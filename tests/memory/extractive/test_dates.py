from datetime import date

import pytest

from app.memory.extractive.dates import resolved

MONDAY = date(2023, 5, 8)
SUNDAY = date(2023, 5, 14)


@pytest.mark.parametrize(
    ("phrase", "meaning"),
    [
        ("yesterday", "7 May 2023"),
        ("last night", "7 May 2023"),
        ("the day before yesterday", "6 May 2023"),
        ("tomorrow", "9 May 2023"),
        ("the day after tomorrow", "10 May 2023"),
        ("last Friday", "5 May 2023"),
        ("last Monday", "1 May 2023"),
        ("this coming Friday", "12 May 2023"),
        ("this coming Monday", "15 May 2023"),
        ("last week", "week of 1 May 2023"),
        ("next month", "Jun 2023"),
        ("last year", "2022"),
        ("last weekend", "weekend of 6 May 2023"),
        ("in the past weekend", "weekend of 6 May 2023"),
        ("this weekend", "weekend of 13 May 2023"),
        ("next weekend", "weekend of 20 May 2023"),
        ("two days ago", "6 May 2023"),
        ("from the city two weeks ago", "week of 24 Apr 2023"),
        ("due in 2 weeks", "week of 22 May 2023"),
        ("exam, which is in two days", "10 May 2023"),
        ("5 months ago", "Dec 2022"),
        ("어제", "7 May 2023"),
        ("내일", "9 May 2023"),
        ("昨天", "7 May 2023"),
        ("明天", "9 May 2023"),
        ("昨日", "7 May 2023"),
        ("来月", "Jun 2023"),
        ("来月3日", "3 Jun 2023"),
        ("下个月5号", "5 Jun 2023"),
        ("다음 달 3일", "3 Jun 2023"),
        ("一昨日", "6 May 2023"),
        ("上周五", "week of 1 May 2023"),
        ("다음 주말", "week of 15 May 2023"),
    ],
)
def test_a_relative_date_is_followed_by_the_day_it_stands_for(phrase: str, meaning: str) -> None:
    assert resolved(f"A {phrase} B", MONDAY) == f"A {phrase} ({meaning}) B"


@pytest.mark.parametrize(
    "text", ["next Friday", "on Tuesday", "the other day", "yesterday (7 May)", "昨天（5月7日）", "1000 days ago"]
)
def test_a_phrase_that_is_ambiguous_or_already_dated_is_left_alone(text: str) -> None:
    assert resolved(text, MONDAY) == text


@pytest.mark.parametrize(
    "text",
    [
        "I ran daily for the past month.",
        "The last week of May.",
        "I'm reading. It took me 5 books in two weeks.",
        "I did end up reading it in two days.",
        "It's no surprise that you read it in two weeks.",
        "How many miles are you willing to hike in a day?",
        "I will run three times in a week.",
    ],
)
def test_how_long_something_took_is_no_date(text: str) -> None:
    assert resolved(text, MONDAY) == text


@pytest.mark.parametrize("count", ["half a", "twenty-five", "1.5", "2,100", "two or three", "2-3", "over ten"])
def test_a_part_of_a_number_or_a_range_is_no_number_of_years(count: str) -> None:
    assert resolved(f"It was {count} years ago.", MONDAY) == f"It was {count} years ago."
    assert resolved(f"It was {count} year ago.", MONDAY) == f"It was {count} year ago."


@pytest.mark.parametrize(
    "text",
    ["the last night of our stay", "the last Friday of the month", "my last year at college", "last weekend of June"],
)
def test_the_last_of_something_else_is_not_counted_from_today(text: str) -> None:
    assert resolved(text, MONDAY) == text


@pytest.mark.parametrize(
    ("phrase", "meaning"),
    [
        ("last week", " (week before 14 May 2023)"),
        ("next week", " (week after 14 May 2023)"),
        ("先週", " (week before 14 May 2023)"),
        ("다음 주", " (week after 14 May 2023)"),
        ("上周", " (week of 1 May 2023)"),  # a Chinese week always ends on a Sunday
        ("this week", ""),
    ],
)
def test_a_sunday_may_end_a_week_or_begin_one(phrase: str, meaning: str) -> None:
    assert resolved(phrase, SUNDAY) == phrase + meaning


def test_a_word_that_only_holds_that_of_another_day_is_left_alone() -> None:
    han = "一昨年 再来週 再来年 明日香さん 大前天 大后天 上上周 下下周 目前天气 然后天黑了 文明年代"
    other = "さきおととい しあさって 재작년 지지난주 다다음주 엊그제 다음주제 안내일정"
    assert resolved(f"{han} {other}", MONDAY) == f"{han} {other}"


def test_the_weekday_of_yesterday_may_be_that_of_a_week_before() -> None:
    assert resolved("It came last Sunday.", MONDAY) == "It came last Sunday."
    assert resolved("It came last Saturday.", MONDAY) == "It came last Saturday (6 May 2023)."


@pytest.mark.parametrize(
    ("day", "text"), [(date.min, "yesterday"), (date.max, "due in 2 weeks"), (date.min, "last year")]
)
def test_a_date_outside_the_calendar_is_left_alone(day: date, text: str) -> None:
    assert resolved(text, day) == text
