import pytest

from app.memory.lines import LINE_CHARACTERS_MAX, read_bullet, read_day, read_detail, read_item
from app.memory.log import detail_line, item_line
from app.memory.model import Cite, Item, Priority, Tag


def item(line: str) -> Item:
    read = read_item(line, day="")
    assert read is not None
    return read


@pytest.mark.parametrize(
    "line",
    [
        *("* said", "- said", "+ said", "• said", "•said", "1. said", "12) said", "  * said"),
        *("＊ said", "・said", "● said", "－ said"),
    ],
)
def test_every_kind_of_bullet_is_read(line: str) -> None:
    bullet = read_bullet(line)
    assert bullet is not None
    assert bullet.text == "said"


@pytest.mark.parametrize("line", ["🔴 said", "✅(10:00) said", "-> said", "**🔴 (10:00)** said", "*🔴 said"])
def test_a_mark_or_an_arrow_makes_a_bullet_of_a_line(line: str) -> None:
    assert read_bullet(line) is not None


@pytest.mark.parametrize(
    "line", ["said", "*said*", "**bold** words", "2026-08-01", "1. August 2026", "-5 degrees", "*", ""]
)
def test_other_lines_are_no_bullets(line: str) -> None:
    assert read_bullet(line) is None


@pytest.mark.parametrize(
    ("line", "day"),
    [
        ("Date: Aug 1, 2026", "Aug 1, 2026"),
        ("**Date: 2026-08-01**", "Aug 1, 2026"),
        ("**Date:** Aug 1, 2026", "Aug 1, 2026"),
        ("## Aug 1, 2026", "Aug 1, 2026"),
        ("### DATE : Saturday, 1 August 2026 (yesterday)", "Aug 1, 2026"),
        ("Date: date: Aug 1, 2026", "Aug 1, 2026"),
        ("2026年8月1日", "Aug 1, 2026"),
        ("Date: Aug 1", "Aug 1"),
        ("Date: **some day**", "some day"),
        ("Date:", ""),
        ("Aug 1", None),
        ("User moved on Aug 1, 2026", None),
    ],
)
def test_headers_are_read_as_their_day(line: str, day: str | None) -> None:
    assert read_day(line) == day


@pytest.mark.parametrize(
    "line",
    [
        "🔴 (10:00) [fact] said #12",
        "🔴 10:00 [fact] said #12",
        "(10:00) 🔴 [FACT]: said #12",
        "[fact] (10:00) 🔴️ said (#12)",
        "🔴 **10:00** - **[fact]** said [#12]",
        "🔴 10:00 AM | [fact] said #12.",
        "🔴 (10:00 a.m.) [fact] said #12, #12",
        "🔴 [10:00] [fact] said #12",
        "🔴 （10:00）【fact】said #12",
        "🔴 (10:00:30) [fact] said #12",
        "🔴 (10:00-10:05) [fact] said #12",
        "🔴 (10:00 – 10:05 AM) [fact] said #12",
        "🔴 (10:00) [fact, issue] said #12",
        "🔴 (10:00) [fact/preference] said #12",
        "🔴 (10:00) `[fact]` said #12",
        "**🔴 (10:00) [fact]** said #12",
        "**🔴** *(10:00)* **[fact]:** said #12",
        "**🔴 (10:00) [fact] said** #12",
        "**🔴 (10:00) [fact] said #12**",
        "🔴（10：00）【fact】said ＃１２",
        "🔴 ［fact］ (上午10:00) said （#12）",
        "🔴 (오전 10시) [fact] said #12",
        "🔴 (10h00) [fact] said 【#12】",
        "🔴 (10.00 Uhr) [fact] said #12。",
        "🔴 (१०:००) [fact] said #१२।",
    ],
)
def test_mark_time_and_tag_are_read_however_they_are_written(line: str) -> None:
    assert item(line) == Item(text="said", time="10:00", priority=Priority.HIGH, tag=Tag.FACT, cites=(Cite(12, 12),))


@pytest.mark.parametrize(
    ("written", "time"),
    [
        ("9:05", "09:05"),
        ("09:05", "09:05"),
        ("(9:05 pm)", "21:05"),
        ("12:00 AM", "00:00"),
        ("12:30 PM", "12:30"),
        ("22:15 PM", "22:15"),
        ("(下午3:05)", "15:05"),
        ("(3:05 م)", "15:05"),
        ("(午後3時半)", "15:30"),
        ("(오후 3시 5분)", "15:05"),
        ("(9h05)", "09:05"),
        ("(9.05)", "09:05"),
        ("23:59", "23:59"),
    ],
)
def test_times_are_read_as_24_hours(written: str, time: str) -> None:
    assert item(f"{written} said").time == time


@pytest.mark.parametrize(
    "text",
    [
        *("(24:00) said", "10:60 said", "10:30-11:00 said", "16:9 said", "[todo] said", "(sure) said", "(10) said"),
        *("2**said**2 so", "10 am said", "(2h) said", "(3.5) said"),
    ],
)
def test_what_is_no_time_and_no_tag_stays_text(text: str) -> None:
    assert item(text) == Item(text=text)


@pytest.mark.parametrize("written", ["[next_step]", "[Next Step]", "[next-step]"])
def test_a_tag_of_two_words_is_read_however_it_is_joined(written: str) -> None:
    assert item(f"{written} call Bob").tag is Tag.NEXT_STEP


def test_each_part_of_a_head_is_read_once() -> None:
    assert item("🔴 (10:00) 🟡 (11:00) said") == Item(text="🟡 (11:00) said", time="10:00", priority=Priority.HIGH)


def test_an_uncertain_line_is_low_whatever_its_mark() -> None:
    assert item("🔴 (10:00) (Uncertain) said") == Item(text="said", time="10:00", priority=Priority.LOW, uncertain=True)


@pytest.mark.parametrize(
    ("end", "cites"),
    [
        ("#12", [(12, 12)]),
        ("#12 #15-18", [(12, 12), (15, 18)]),
        ("#12, #13", [(12, 12), (13, 13)]),
        ("#12,#13", [(12, 12), (13, 13)]),
        ("#12, #14-15 and #17", [(12, 12), (14, 15), (17, 17)]),
        ("(#12-14)", [(12, 14)]),
        ("(#12, #14)", [(12, 12), (14, 14)]),
        ("[#12]", [(12, 12)]),
        ("#12–14", [(12, 14)]),
        ("#12-#14", [(12, 14)]),
        ("#14-12", [(12, 14)]),
        ("#12、#14", [(12, 12), (14, 14)]),
        ("＃12～14", [(12, 14)]),
        ("#12 à #14", [(12, 14)]),
        ("#12 ve #14", [(12, 12), (14, 14)]),
        ("#12 및 #14", [(12, 12), (14, 14)]),
        ("#١٢، #١٤", [(12, 12), (14, 14)]),
        ("#12.", [(12, 12)]),
        ("#12 #12", [(12, 12)]),
        ("(likely already happened) #12", [(12, 12)]),
        ("#12, 14", [(12, 12), (14, 14)]),
        ("(#12, 14, 17)", [(12, 12), (14, 14), (17, 17)]),
        ("#12#13", [(12, 12), (13, 13)]),
        ("#12/#13", [(12, 12), (13, 13)]),
        ("(#12) (#13)", [(12, 12), (13, 13)]),
        ("— #12", [(12, 12)]),
        ("**#12 #13**", [(12, 12), (13, 13)]),
        ("*(#12, #13)*", [(12, 12), (13, 13)]),
        ("`#12` `#13`", [(12, 12), (13, 13)]),
        (r"\#12 \#13", [(12, 12), (13, 13)]),
        ("（#12）", [(12, 12)]),
        ("【#12，#13】", [(12, 12), (13, 13)]),
        ("#12、#13～15", [(12, 12), (13, 15)]),
        ("#12。", [(12, 12)]),
    ],
)
def test_citations_at_the_end_are_read(end: str, cites: list[tuple[int, int]]) -> None:
    assert item(f"said {end}") == Item(text="said", cites=tuple(Cite(first, last) for first, last in cites))


@pytest.mark.parametrize(
    "text", ["用户搬到里斯本。", "リスボンに引っ越した", "리스본으로 이사했다.", "said.", "said (so)", "said 40"]
)
@pytest.mark.parametrize("end", ["#12", "（#12）", "(#12)"])
def test_a_citation_is_read_without_a_blank_before_it(text: str, end: str) -> None:
    glued = text if not text[-1].isascii() or not text[-1].isalnum() else f"{text} "
    assert item(f"{glued}{end}") == Item(text=text, cites=(Cite(12, 12),))


@pytest.mark.parametrize("text", ["said #12 then", "said this and"])
def test_only_an_and_between_citations_goes_with_them(text: str) -> None:
    assert item(f"{text} #13") == Item(text=text, cites=(Cite(13, 13),))


@pytest.mark.parametrize(
    "text",
    [
        *("PR #42 was merged", "was merged (see #42)", "said #1234567890", "in C#", "said #12a", "this and"),
        *("said #12 and", "in acme/app#12", "in C#12", "a total of 12, 13", "about src/**", "ticket #1,234"),
    ],
)
def test_what_is_no_citation_stays_text(text: str) -> None:
    assert item(text) == Item(text=text)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("搬到里斯本。#12", "搬到里斯本。"),
        ("搬到里斯本#12", "搬到里斯本"),
        ("갔다.#12、#14", "갔다."),
        ("Fin.(#12)", "Fin."),
    ],
)
def test_a_citation_needs_no_space_behind_the_end_of_a_sentence_or_a_script_without_spaces(
    line: str, text: str
) -> None:
    assert item(line).text == text
    assert item(line).cites[0] == Cite(12, 12)


@pytest.mark.parametrize("text", ["", "🔴", "🔴 (10:00) [fact]", "#12", "---", "(likely already happened)"])
def test_a_line_without_words_is_no_item(text: str) -> None:
    assert read_item(text, day="") is None


@pytest.mark.parametrize("text", ["->", "#12", "-> #12"])
def test_a_sub_bullet_without_words_is_no_detail(text: str) -> None:
    assert read_detail(text) is None


def test_an_overlong_line_is_cut_to_what_reads_back() -> None:
    written = item("(9:05) " + "word " * 5_000 + "#12")
    detail = read_detail("x" * LINE_CHARACTERS_MAX)

    assert detail is not None
    assert LINE_CHARACTERS_MAX - 5 <= len(item_line(written)) <= LINE_CHARACTERS_MAX
    assert len(detail_line(detail)) == LINE_CHARACTERS_MAX
