import pytest

from app.memory.grounding.claims import claims, normal


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
        ("on Oct 14/15, 2026", ()),
        ("commit a3f9c21", ("a3f9c21",)),
        ("main.py를 수정", ("main.py",)),
        ("edit config.yaml", ("config.yaml",)),
        ('read `src/main.py` and "a3f9c21"', ("src/main.py", "a3f9c21")),
        ("May 13/14", ()),
        ("95 €/month, 96 m²/flat, Größe/Preis, 2×/jour, 880元/晚", ()),
        ("修改/etc/hosts", ("/etc/hosts",)),
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
        "»hello there«",
    ],
)
def test_quotes_are_found_in_every_kind_of_marks(text: str) -> None:
    assert claims(text).quotes == ("hello there",)


def test_each_character_counts_to_one_claim_only() -> None:
    found = claims('On May 20, 2023 at 10:30 "5 of 6" took build42 for 7 days and order 8841, see #12.')

    assert [(phrase.year, phrase.month, phrase.day) for phrase in found.dates] == [(2023, 5, 20)]
    assert (found.quotes, found.times, found.identifiers, found.codes, found.numbers) == (
        ("5 of 6",),
        ("10:30",),
        ("build42",),
        ("8841",),
        ("7", "#12"),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("on 3.5.2026", [{(5, 3), (3, 5)}]),
        ("on 20/05/2026 and 05-21-2026", [{(5, 20)}, {(5, 21)}]),
        ("on 2.2.2026", [{(2, 2)}]),
        ("1.2.3.2026, 31.31.2026, 3.5/2026, 3.5.20260", []),
    ],
)
def test_dates_in_figures_are_read_both_ways(text: str, expected: list[set[tuple[int, int]]]) -> None:
    assert [{(phrase.month, phrase.day) for phrase in read} for read in claims(text).figures] == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("went yesterday (May 7, 2026) and on Friday, May 8", ["yesterday", "friday"]),
        ("goes tomorrow May 9", ["tomorrow"]),
        ("the day before yesterday (May 6, 2026), a week from today (May 15)", ["day before yesterday"]),
        ("avant-hier (6 mai 2026), après-demain (10 mai), vendredi 8 mai", ["avant-hier", "après-demain", "vendredi"]),
        ("我大前天（5月5日）来，上周五（5月1日）走", ["大前天", "周五"]),
        ("ab Oktober 1200,50 Euro, heute (8. Mai)", ["heute"]),
        ("went on Mondays (May 4, 2026), this week (May 4-10, 2026), last May 2025", []),
    ],
)
def test_a_date_right_behind_the_word_for_its_day_is_told_with_it(text: str, words: list[str]) -> None:
    assert [word for word, _ in claims(text).named] == words


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("order 8841, issue #42117 on port 8080.", ("8841", "#42117", "8080")),
        ("$1500, 1500 EUR, 1500 euros, 1500원, 20000%, 1,500, 1500.25, 1500k, 12345 million, #123 and 999", ()),
    ],
)
def test_a_code_is_a_whole_number_that_is_no_amount(text: str, codes: tuple[str, ...]) -> None:
    assert claims(text).codes == codes


def test_texts_are_compared_without_case_width_and_spacing() -> None:
    assert normal("  Ｃａｆé’s\n ＯＫ ") == "café's ok"
