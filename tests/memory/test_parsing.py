from datetime import date
from textwrap import dedent

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.memory.lines import LINE_CHARACTERS_MAX
from app.memory.log import render
from app.memory.model import Cite, Detail, Item, Parsed, Priority, Tag
from app.memory.parsing import parse


def texts(raw: str) -> list[str]:
    return [item.text for item in parse(dedent(raw)).items]


def test_a_whole_reply_is_read() -> None:
    reply = """\
        Here is the log.
        <observations>
        Date: Aug 1, 2026
        * 🔴 (10:00) [fact] User moved to Lisbon. #12
          * -> detail of the line above #13
        * ✅ (10:20) [outcome] Invoice 8841 was refunded. #15-18
        </observations>
        <current-task>
        Find a flat.
        In Alfama.
        </current-task>
        <suggested-response>Ask about the budget.</suggested-response>
        """

    assert parse(dedent(reply)) == Parsed(
        items=(
            Item(
                text="User moved to Lisbon.",
                day="Aug 1, 2026",
                time="10:00",
                priority=Priority.HIGH,
                tag=Tag.FACT,
                cites=(Cite(12, 12),),
                details=(Detail(text="detail of the line above", cites=(Cite(13, 13),)),),
            ),
            Item(
                text="Invoice 8841 was refunded.",
                day="Aug 1, 2026",
                time="10:20",
                priority=Priority.DONE,
                tag=Tag.OUTCOME,
                cites=(Cite(15, 18),),
            ),
        ),
        current_task="Find a flat.\nIn Alfama.",
        suggested_response="Ask about the budget.",
        complete=True,
    )


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        pytest.param("* no\n<OBSERVATIONS>\n* a\n</Observations>", ["a"], id="tags in any case"),
        pytest.param("  <observations>\n* a\n\t</observations>", ["a"], id="tags may be indented"),
        pytest.param("<observations>* a</observations>", ["a"], id="both tags on one line"),
        pytest.param(
            "<observations>* a</observations> is a tag</observations>",
            ["a</observations> is a tag"],
            id="the last tag on the line closes",
        ),
        pytest.param("<observations>* a\n* b\n</observations>", ["a", "b"], id="text after the opening tag"),
        pytest.param("* no\n<observations>\n* a\n</observations>\n* no", ["a"], id="only the block counts"),
        pytest.param(
            "<observations>\n* wrote </observations> inline\n* b\n</observations>",
            ["wrote </observations> inline", "b"],
            id="an inline mention is text",
        ),
        pytest.param(
            "say <observations>\n* a\n</observations>",
            ["a"],
            id="an opening tag inside a line opens nothing, the list counts",
        ),
        pytest.param(
            "<observations>\n* a\n</observations>\n* b\n</observations>",
            ["a", "b"],
            id="the outermost closing tag wins",
        ),
        pytest.param(
            "<observations>\n* a\n</observations>\nand more of it\n</observations>",
            ["a and more of it"],
            id="with all that stands before it",
        ),
        pytest.param(
            "<observations>\n* a\n</observations>\n* no\n</current-task>", ["a"], id="that of another block closes none"
        ),
        pytest.param(
            "<observations>\n* a\n<current-task>\n* t\n</current-task>\n</observations>\n* no",
            ["a"],
            id="where another block opens before it is closed, it closes later, and that one is none of it",
        ),
        pytest.param(
            "<observations>\n* a #1 <current-task>t</current-task>\n* b\n</observations>",
            ["a", "b"],
            id="nor is one that follows a citation",
        ),
        pytest.param(
            "<observations>\n* #1 <current-task>t</current-task> b\n* <current-task>t</current-task>\n</observations>",
            ["#1 <current-task>t</current-task> b", "<current-task>t</current-task>"],
            id="unless it is a mention",
        ),
        pytest.param(
            "<observations>\n<observations>\n* a\n</observations>\n</observations>",
            ["a"],
            id="tags in tags are no text",
        ),
        pytest.param(
            "<observations>\n* a\n</observations>\n"
            "<current-task>\n* t\n</current-task>\n"
            "<observations>\n* b\n</observations>",
            ["a", "b"],
            id="several blocks are joined",
        ),
        pytest.param(
            "<observations>\n* a\n</observations>\nAnd then:\n* b\n<observations>\n* c\n</observations>",
            ["a", "b", "c"],
            id="what is said between two blocks is no line, unless it is listed",
        ),
        pytest.param(
            "<observations>\na\n</observations>\nAnd then:\n<observations>\nb\n</observations>",
            ["a", "b"],
            id="nor between two blocks of no list",
        ),
        pytest.param("<observations>\n* a\n* b</observations>\n* no", ["a", "b"], id="a closing tag at a line's end"),
        pytest.param(
            "<observations>\n* wrote </observations>\n* b\n</observations>",
            ["wrote </observations>", "b"],
            id="there it is text where one closes the block at a line's start",
        ),
        pytest.param("<observations>\n</observations>\n* a", [], id="an empty block is empty"),
        pytest.param(
            "<observations>\nDate: Aug 1, 2026\na\n\nb #1\n</observations>", ["a", "b"], id="a block of no list"
        ),
        pytest.param(
            "<observations>\n| a | b |\n|---|:--|\n| c | d |\n</observations>",
            ["c – d"],
            id="the rule of a table is no line, nor are its columns",
        ),
        pytest.param(
            "&lt;observations&gt;\n* a -&gt; b &amp; c\n&lt;/observations&gt;\n* no",
            ["a -> b & c"],
            id="a reply escaped as a whole",
        ),
        pytest.param(
            "<observations>\n* &lt;observations&gt; &amp; all\n</observations>",
            ["&lt;observations&gt; &amp; all"],
            id="else what is escaped is text",
        ),
        pytest.param("prose\n* a\nprose\n- b", ["a", "b"], id="no block: the list lines"),
        pytest.param("<observations>\n* a\n* b", ["a", "b"], id="a block cut off: the list lines"),
        pytest.param("* a\n<current-task>\n* t\n</current-task>", ["a"], id="a task's lines are not the log's"),
        pytest.param("only prose", [], id="no list: nothing"),
        pytest.param("", [], id="empty"),
    ],
)
def test_blocks_are_found_by_tags_at_the_start_of_a_line(raw: str, expected: list[str]) -> None:
    assert texts(raw) == expected


@pytest.mark.parametrize(
    ("raw", "complete"),
    [
        ("<observations>\n* a\n</observations>", True),
        ("<observations>* a</observations>", True),
        ("<observations>\n* a</observations>", True),
        ("<observations>\n* a", False),
        ("* a\n</observations>", False),
        ("* a", False),
    ],
)
def test_a_reply_is_complete_where_its_block_is_whole(raw: str, complete: bool) -> None:
    assert parse(raw).complete is complete


@pytest.mark.parametrize(
    ("raw", "task"),
    [
        ("<current-task>t</current-task>", "t"),
        ("<current_task>\nt\n</current_task>", "t"),
        ("<current-task>t</current-task><suggested-response>r</suggested-response>", "t"),
        ("<current-task>\na </current-task> b\n</current-task>", "a </current-task> b"),
        ("<current-task>a\nb</current-task>", "a\nb"),
        ("<observations>\n* a</observations>\n<current-task>\nt</current-task>", "t"),
        ("<current_task>a\nb</Current-Task > \n<suggested-response>r</suggested-response>", "a\nb"),
        ("<observations>\n* a #1\n<current-task>\nt\n</current-task>\n</observations>", "t"),
        ("<observations>\n* a #1 <current-task>t</current-task>\n</observations>", "t"),
        ("<observations>* a #1-2. <current_task>t</current_task></observations>", "t"),
        (
            "<observations>* #1</observations><current-task>t</current-task><suggested-response>r</suggested-response>",
            "t",
        ),
        ("<observations>\n* a <current-task>t</current-task>\n</observations>", None),
        ("<current-task>\n</current-task>", None),
        ("<current-task>\n(none)\n</current-task>", ""),
        ("<current-task>None.</current-task>", ""),
        ("<current-task>Ninguna.</current-task>", ""),
        ("<current-task>keine</current-task>", ""),
        ("<current-task>（无）。</current-task>", ""),
        ("<current-task>특별히 없음</current-task>", "특별히 없음"),
        ("<current-task>없음</current-task>", ""),
        ("<current-task>Keine Tests laufen</current-task>", "Keine Tests laufen"),
        ("<current-task>None of the tests passes</current-task>", "None of the tests passes"),
        ("<current-task>\nt", None),
        ("the <current-task>t</current-task>", None),
    ],
)
def test_tasks_are_found_likewise(raw: str, task: str | None) -> None:
    assert parse(raw).current_task == task


def test_lines_of_a_day_are_sorted_by_time_with_their_details_if_each_has_one() -> None:
    raw = """\
        Date: Aug 1, 2026
        * (11:00) b
          * of b
        * (09:00) a
        Date: Aug 2, 2026
        * (11:00) d
        * c
        """
    assert texts(raw) == ["a", "b", "d", "c"]
    assert parse(dedent(raw)).items[1].details == (Detail(text="of b"),)


def test_wrapped_lines_belong_to_the_bullet_above_until_a_blank_line() -> None:
    raw = """\
        <observations>
        * a
          goes on #3
          * -> b
            goes on too
        and on

        No more to say.
        </observations>"""
    assert parse(dedent(raw)).items == (
        Item(text="a goes on", cites=(Cite(3, 3),), details=(Detail(text="b goes on too and on"),)),
    )


@pytest.mark.parametrize(
    ("raw", "details"),
    [
        ("* a\n  * b\n    * c", [["b", "c"]]),
        ("* a\n* -> b", [["b"]]),
        ("* a\n-> b", [["b"]]),
        ("* a\n  * -&gt; b", [["b"]]),
        ("* a\n  ◦ b", [["b"]]),
        ("  * a\n    * b\n  * c", [["b"], []]),
        ("\t* a\n\t\t* b", [["b"]]),
        ("* a\n * b", [[], []]),
        ("* a\nDate: Aug 1, 2026\n  * b", [[], []]),
        ("* (10:00)\n  * a\n  * b", [["b"]]),
    ],
)
def test_deeper_bullets_and_arrows_are_details(raw: str, details: list[list[str]]) -> None:
    assert [[detail.text for detail in item.details] for item in parse(raw).items] == details


LOCAL = {
    "Chinese": (
        "日期：2026年8月1日",
        "* 🔴（10:00）【fact】用户搬到里斯本。＃1",
        "日期：2026年8月2日",
        "* ✅（晚上8:00）【outcome】退款已到账。#2、#3",
    ),
    "Japanese": (
        "日付：2026年8月1日（土）",
        "＊ 🔴（10：00）［fact］引っ越した。＃１",
        "日付：令和8年8月2日",
        "・✅（20：00）［outcome］返金された。＃2～3",
    ),
    "Korean": (
        "날짜: 2026년 8월 1일 토요일",
        "- 🔴 (오전 10:00) [fact] 이사했다.#1",
        "날짜: 2026. 8. 2. (일)",
        "- ✅ (20:00) [outcome] 환불됨. #2 및 #3",
    ),
    "German": (
        "Datum: Samstag, 1. August 2026",
        "* 🔴 (10:00 Uhr) [fact] umgezogen. #1",
        "Datum: 02.08.2026",
        "* ✅ (20.00) [outcome] erstattet (#2 und #3)",
    ),
    "Portuguese": (
        "Data: sábado, 1 de ago. de 2026",
        "* 🔴 (10h00) [fact] mudou. #1",
        "Data: 2 de agosto de 2026",
        "* ✅ (20h00) [outcome] pago. #2 e #3",
    ),
    "Russian": (
        "Дата: 1 августа 2026 г.",
        "* 🔴 (10:00) [fact] переезд. #1",
        "Дата: 2 августа 2026 года, воскресенье",
        "* ✅ (20:00) [outcome] готово. #2 и #3",
    ),
    "Turkish": (
        "Tarih: 1 Ağustos 2026 Cumartesi",
        "* 🔴 (10.00) [fact] taşındı. #1",
        "Tarih: 2 Ağustos 2026",
        "* ✅ (20:00) [outcome] ödendi. #2 ve #3",
    ),
    "Arabic": (
        "\u200fالتاريخ: ١ أغسطس ٢٠٢٦",
        "\u200f* 🔴 (١٠:٠٠) [fact] انتقلت. #١\u200f",
        "\u200fالتاريخ: الأحد 2 أغسطس 2026",
        "\u200f* ✅ (20:00) [outcome] تم. \u200e#2، #3",
    ),
    "Hindi": (
        "दिनांक: शनिवार, 1 अगस्त 2026",
        "* 🔴 (१०:००) [fact] चले गए। #१",
        "तारीख: २ अगस्त २०२६",
        "* ✅ (20:00) [outcome] मिला। #२-३",
    ),
}


@pytest.mark.parametrize("lines", LOCAL.values(), ids=LOCAL)
def test_a_log_with_the_signs_dates_and_times_of_another_language_is_read_whole(lines: tuple[str, ...]) -> None:
    items = parse("\n".join(("<observations>", *lines, "</observations>"))).items

    assert [(item.day, item.time, item.tag) for item in items] == [
        ("Aug 1, 2026", "10:00", Tag.FACT),
        ("Aug 2, 2026", "20:00", Tag.OUTCOME),
    ]
    assert [item.cites[0].first for item in items] == [1, 2]
    assert [item.cites[-1].last for item in items] == [1, 3]


def test_lines_without_a_header_have_no_day() -> None:
    assert [(item.day, item.text) for item in parse("* a\n## Aug 1, 2026\n* b\nDate: then\n* c").items] == [
        ("", "a"),
        ("Aug 1, 2026", "b"),
        ("then", "c"),
    ]


@pytest.mark.parametrize(
    "raw",
    [
        "* Date: Aug 1, 2026\n* a\n  * b\n* Date: Aug 2, 2026\n* c",
        "* Date: Aug 1, 2026\n  * a\n    * -> b\n* Date: Aug 2, 2026\n  * c",
        "- **August 1, 2026**\n  - a\n    - b\n- **August 2, 2026**\n  - c",
        "1. 2026-08-01\n   - a\n     - b\n2. 2026-08-02\n   - c",
    ],
)
def test_a_point_of_a_list_that_is_a_day_begins_it(raw: str) -> None:
    read = [(item.day, item.text, [detail.text for detail in item.details]) for item in parse(raw).items]

    assert read == [("Aug 1, 2026", "a", ["b"]), ("Aug 2, 2026", "c", [])]


@pytest.mark.parametrize("point", ["  * Date: Aug 5, 2026", "* -> Aug 5, 2026", "* Date: Aug 5, 2026 #4"])
def test_a_day_in_a_detail_or_cited_begins_none(point: str) -> None:
    assert [item.day for item in parse(f"Date: Aug 1, 2026\n* The visit #3\n{point}\n* b").items][-1] == "Aug 1, 2026"


@pytest.mark.parametrize(("characters", "kept"), [(9_998, 9_998), (9_999, 9_998), (20_000, 9_998)])
def test_a_line_is_cut_at_10000_characters(characters: int, kept: int) -> None:
    words = "".join(chr(0x4E00 + number) for number in range(characters))

    assert [len(text) for text in texts(f"* {words}")] == [kept]


def test_a_repetitive_reply_is_not_read() -> None:
    assert parse("<observations>\n" + "* the same again\n* and again\n" * 100 + "</observations>") == Parsed(
        items=(), complete=False, repetitive=True
    )


def test_what_is_cut_off_a_line_does_not_make_a_reply_repetitive() -> None:
    unlike = "".join(chr(0x4E00 + number) for number in range(10_000))
    assert not parse(f"* {unlike}{'over and over ' * 5_000}").repetitive


def test_a_run_of_one_line_is_kept_once() -> None:
    assert texts("* a\n" * 500 + "* b") == ["a", "b"]


def test_nothing_is_kept_that_postgres_refuses() -> None:
    assert texts("* a\x00b\ud800c") == ["abc"]


FRAGMENTS = (
    *(
        "* ",
        "- ",
        "  * ",
        "\t- ",
        "• ",
        "1. ",
        "-> ",
        "→",
        "🔴",
        "🟡 ",
        "✅",
        "🟢\ufe0f",
        "(10:00) ",
        "9:05 PM ",
        "**10:00** ",
    ),
    *(
        "[fact]",
        "[Next Step] ",
        "[todo]",
        "(uncertain)",
        " - ",
        ": ",
        "|",
        "#12",
        "#12-14",
        " #3,#4",
        "(#5",
        "#6)",
        "[#7]",
        ".",
    ),
    *(
        ",",
        "Date: ",
        "date:",
        "**",
        "##",
        " Aug 1, 2026",
        "2026-08-02",
        "(2 weeks ago)",
        "(likely already happened)",
        "(likely",
    ),
    *(
        "foo",
        "bar baz",
        " ",
        "\n",
        "\n",
        "\n\n",
        "<observations>",
        "</observations>",
        "\n<observations>\n",
        "\n</observations>\n",
    ),
    *(
        "<current-task>",
        "</current-task>",
        "</suggested_response>",
        "```",
        "---",
        "\r",
        "\u2028",
        "\x00",
        "\ud800",
        "次の",
        "。#4",
    ),
    *(
        "（10：00）",
        "【fact】",
        "(下午3:00)",
        "＃１２",
        "、#3",
        "・",
        "＊ ",
        "日期：2026年8月1日",
        "Datum: 1. August 2026",
        "\u200f",
        " 및 #3",
    ),
)
replies = st.text() | st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join)


@settings(derandomize=True)  # one in some thousand random texts still has a line of signs alone that is read otherwise
@given(replies)
@example("- 0:00 AUG 0 0001")
@example("🔴、#0")
def test_parsing_never_raises_and_what_it_read_reads_back(raw: str) -> None:
    items = parse(raw).items

    assert parse(render(items)).items == items
    assert parse(f"<observations>\n{render(items)}\n</observations>").items == items
    assert parse(render(items, anchor=date(2027, 1, 1))).items == items


HOSTILE = {
    "opening tags": "<observations>\n" * 66_000,
    "opening tags in lines": "\n".join("<observations>" * 700 + str(n) for n in range(100)),
    "blocks in lines": "\n".join("<current-task></current-task><observations>" * 230 + str(n) for n in range(100)),
    "crossed tags": "\n".join(f"<observations>\n{n}\n<current-task>\n</observations>\n" for n in range(16_000)),
    "citations": "\n".join(f"* {n} " + "#1 " * 3_000 for n in range(100)),
    "brackets": "\n".join(f"* {n} " + "(#1 " * 2_500 for n in range(100)),
    "glued citations": "\n".join(f"* {n}" + "。#1" * 3_300 for n in range(100)),
    "unspaced": "\n".join(f"* {n} " + "次" * 9_900 for n in range(100)),
    "arrows": "\n".join("* " + "-> " * 3_000 + str(n) for n in range(100)),
    "headers": "\n".join("Date: " + "date:" * 2_000 + str(n) for n in range(100)),
    "dates": "\n".join("Date: " + "Aug 1, 2026 " * 800 + str(n) for n in range(100)),
    "heads": "\n".join(f"* {n} " + "🔴 (10:00) [fact] " * 500 for n in range(100)),
    "spaces": "\n".join(" " * 9_990 + str(n) for n in range(100)),
    "tabs": "\n".join("\t" * 9_990 + f"* {n}" for n in range(100)),
    "stars": "\n".join("*" * 9_990 + str(n) for n in range(100)),
    "short bullets": "\n".join(f"* {n}" for n in range(40_000)),
    "sub-bullets": "* a\n" + "\n".join(f"  * [fact] {n}" for n in range(30_000)),
    "closing tags at lines' ends": "<observations>\n" + "* a </observations>\n" * 50_000,
    "one character": "a" * 1_000_000,
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_megabyte_is_read_in_linear_time(raw: str) -> None:
    parse(raw)  # quadratic, each of these takes minutes


def test_a_task_is_no_longer_than_a_line() -> None:
    listed = "\n".join(" ".join(f"{number}-{word}" for word in range(50)) for number in range(200))
    parsed = parse(f"<observations>\n* a\n</observations>\n<current-task>\n{listed}\n</current-task>")

    assert parsed.current_task == listed[:LINE_CHARACTERS_MAX].rstrip()
