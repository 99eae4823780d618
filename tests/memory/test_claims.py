import pytest

from app.memory.claims import claims, clock_times, normal, numerals


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,000 or 1000.0 or 1000", {"1000"}),
        ("1.000", {"1", "1000"}),
        ("1.234,50", {"1234.5"}),
        ("3.50 and 3,5", {"3.5"}),
        ("08", {"8"}),
        ("000", {"0"}),
        ("1.2.3", {"1.2.3"}),
        ("-12%", {"12"}),
        ("$5,200.40", {"5200.4"}),
        ("Two dogs, twice", {"2"}),
        ("三人と十匹", {"3", "10"}),
        ("개 3마리", {"3"}),
        ("twenty-five", {"20", "5", "25"}),
        ("two million three hundred thousand and four", {"2", "3", "4", "2300004"}),
        ("10k, or 1.5 Million", {"10", "10000", "1.5", "1500000", "1000000"}),
        ("someone", set()),
    ],
)
def test_numbers_are_compared_in_one_form(text: str, expected: set[str]) -> None:
    assert numerals(text) & expected == expected
    assert len(numerals(text) - expected) <= ("1.234" in text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mail ann@example.com now", ("ann@example.com",)),
        ("in src/app/main.py:42", ("src/app/main.py",)),
        ("under /etc/hosts.", ("/etc/hosts",)),
        ("in ~/notes/", ("~/notes",)),
        (r"C:\Users\ann", (r"users\ann",)),
        ("see https://example.com/a?b=1", ("//example.com/a",)),
        ("set max_tokens=5", ("max_tokens",)),
        ("call getUser()", ("getuser",)),
        ("upgrade to v1.2.3", ("v1.2.3",)),
        ("commit a3f9c21", ("a3f9c21",)),
        ("main.py를 수정", ("main.py",)),
        ("edit config.yaml", ("config.yaml",)),
        ('read `src/main.py` and "a3f9c21"', ("src/main.py", "a3f9c21")),
        ("May 13/14", ()),
        ("and/or, e.g. the 12-year-old, 3rd, 10k, 30min, 24/7, U.S., C++, ~5", ()),
    ],
)
def test_identifiers_are_told_from_words(text: str, expected: tuple[str, ...]) -> None:
    assert claims(text).identifiers == expected


@pytest.mark.parametrize(
    "text",
    [
        'said "Hello  there!"',
        "said “hello there”",
        "sagte „Hello there“",
        "« hello there »",
        "`hello there`",
        "「hello there」",
    ],
)
def test_quotes_are_found_in_every_kind_of_marks(text: str) -> None:
    assert claims(text).quotes == ("hello there",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("at 3:30 pm", {"15:30", "03:30"}),
        ("at 3pm", {"15:00", "03:00"}),
        ("at 12 a.m.", {"00:00", "12:00"}),
        ("at 15:30:20", {"15:30"}),
        ("at 25:30 or 15:99", set()),
        ("in 5 amazing days", set()),
    ],
)
def test_times_of_day_are_found(text: str, expected: set[str]) -> None:
    assert clock_times(text) == expected


def test_each_character_counts_to_one_claim_only() -> None:
    found = claims('On May 20, 2023 at 10:30 "5 of 6" took build42 for 7 days, see #12.')

    assert [(phrase.year, phrase.month, phrase.day) for phrase in found.dates] == [(2023, 5, 20)]
    assert (found.quotes, found.times, found.identifiers, found.numbers) == (
        ("5 of 6",),
        ("10:30",),
        ("build42",),
        ("7", "#12"),
    )


def test_texts_are_compared_without_case_width_and_spacing() -> None:
    assert normal("  Ｃａｆé’s\n ＯＫ ") == "café's ok"
