from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kit.days import day_label
from app.memory.model import Cite, Detail, Item, Origin, Priority, Tag
from app.memory.protected import coverage, irreplaceable, lost, protected, with_lines
from tests.steps import steps


def high(text: str, *, cite: int | None = None, day: str = "", time: str | None = None) -> Item:
    cites = (Cite(cite, cite),) if cite else ()
    return Item(text=text, priority=Priority.HIGH, cites=cites, day=day, time=time)


def done(text: str, first: int, last: int) -> Item:
    return Item(text=text, priority=Priority.DONE, tag=Tag.OUTCOME, cites=(Cite(first, last),))


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        pytest.param(high("User pays 40 euros."), True, id="a number"),
        pytest.param(high("User works with Maria."), True, id="a name"),
        pytest.param(high("User edits main.py."), True, id="an identifier"),
        pytest.param(high("User leaves on May 3."), True, id="a date"),
        pytest.param(high("사용자는 차를 좋아한다."), True, id="a script without capitals"),
        pytest.param(high("User likes tea."), False, id="plain words"),
        pytest.param(high("Nutzer trinkt gern Tee mit Honig."), True, id="German"),
        pytest.param(high("Maria likes tea. Then coffee."), False, id="capitals that begin a sentence"),
        pytest.param(Item(text="User pays 40 euros.", priority=Priority.MEDIUM), False, id="not important"),
        pytest.param(Item(text="The build is red.", tag=Tag.ISSUE), True, id="an open issue"),
        pytest.param(Item(text="Call back.", tag=Tag.NEXT_STEP), True, id="a next step"),
        pytest.param(Item(text="Call back.", tag=Tag.NEXT_STEP, uncertain=True), False, id="an uncertain next step"),
        pytest.param(Item(text="Paid 40 euros.", priority=Priority.DONE, tag=Tag.NEXT_STEP), False, id="done"),
    ],
)
def test_important_lines_with_something_to_lose_are_protected(item: Item, expected: bool) -> None:
    assert protected([item]) == ((item,) if expected else ())


def test_a_line_is_open_until_a_later_one_says_that_it_is_done() -> None:
    asked = high("User wants invoice 8841 refunded.")
    issue = Item(text="The deploy script fails on staging.", tag=Tag.ISSUE)
    other = high("User wants invoice 8842 refunded.")
    done = Item(text="Invoice 8841 was refunded.", priority=Priority.DONE)
    fixed = Item(text="The deploy script works on staging again.", tag=Tag.OUTCOME)

    assert protected([asked, issue, other, done, fixed]) == (other,)
    assert protected([done, fixed, asked, issue]) == (asked, issue)


@pytest.mark.parametrize(
    ("earlier", "later", "gone"),
    [
        pytest.param("User lives in Porto.", "User moved to Lisbon (before: lived in Porto).", True, id="a place"),
        pytest.param(
            "User meets Ann on Thursday at 10:00 in room 4.",
            "User meets Ann on Friday at 11:00 in room 4 (before: Thursday, 10:00).",
            True,
            id="a time",
        ),
        pytest.param("사용자는 부산에 산다.", "사용자는 서울로 이사했다 (이전: 부산에 산다).", True, id="Korean"),
        pytest.param("User lives in Porto.", "User lives in Lisbon.", False, id="nothing says that it is a change"),
        pytest.param("User pays Bob 35 euros.", "User pays Ann 40 euros (before: 35).", False, id="more was said"),
        pytest.param("Eva lived in Porto.", "User moved to Lisbon (before: lived in Porto).", False, id="of another"),
        pytest.param("User was born in Lisbon.", "User moved to Lisbon (before: lived in Porto).", False, id="as is"),
    ],
)
def test_a_line_is_protected_until_a_later_one_tells_it_as_what_was_so_before(
    earlier: str, later: str, gone: bool
) -> None:
    old, new = high(earlier), high(later)

    assert protected([old, new]) == ((new,) if gone else (old, new))
    assert protected([new, old]) == (new, old)


@pytest.mark.parametrize("told", [{"uncertain": True}, {"origin": Origin.TOOL}])
def test_what_is_uncertain_or_nobodys_word_takes_nothing_back(told: dict[str, Any]) -> None:
    old, new = high("User lives in Porto."), high("User moved to Lisbon (before: lived in Porto).")
    assert old in protected([old, replace(new, **told)])


@pytest.mark.parametrize(
    ("line", "result", "survives"),
    [
        pytest.param(high("User pays Ann 40 euros."), [high("40 euros to Ann, paid by User.")], True, id="reworded"),
        pytest.param(high("User pays Ann 40 euros."), [high("Ann is paid 41 euros.")], False, id="another number"),
        pytest.param(
            high("User pays Ann 40 euros."), [high("Ann is paid."), high("It was 40 euros.")], False, id="torn apart"
        ),
        pytest.param(
            high("User pays Ann 40 euros.", cite=3),
            [high("Ann is paid.", cite=3), high("It was 40 euros.", cite=3)],
            True,
            id="torn apart, with its citation",
        ),
        pytest.param(
            high("User pays Ann 40 euros."),
            [Item(text="User pays.", details=(Detail(text="Ann, 40 euros"),))],
            True,
            id="in a detail",
        ),
        pytest.param(
            high("User met Ann, Bob, Carl, Dora and Emil."),
            [high("User met Ann, Bob, Carl and Dora.")],
            True,
            id="4 of 5 names",
        ),
        pytest.param(
            high("User met with Ann, Bob, Carl and Dora."),
            [high("User met Ann, Bob and Carl.")],
            False,
            id="3 of 4 names",
        ),
        pytest.param(
            high("Today Maria sold the blue boat."), [high("Later Maria went home.")], False, id="only the name left"
        ),
        pytest.param(
            high("Today Maria sold the blue boat.", cite=3),
            [high("Then Maria sold it.", cite=3)],
            True,
            id="akin, reworded",
        ),
        pytest.param(
            high("Today Maria sold the blue boat.", cite=3),
            [high("Then Maria went home.", cite=3)],
            False,
            id="akin, another thing",
        ),
        pytest.param(
            high("User wants a table for 4 at Rosa on May 3.", cite=3),
            [done("Table booked at Rosa for May 3.", 3, 9)],
            True,
            id="told as done",
        ),
        pytest.param(
            Item(text="No table for 4 at Rosa on May 3: fully booked.", tag=Tag.ISSUE, cites=(Cite(5, 6),)),
            [done("Table at Rosa for May 3 booked on the second try.", 3, 9)],
            True,
            id="an obstacle, told as done",
        ),
        pytest.param(
            replace(high("User wants a table for 4 at Rosa on May 3."), cites=(Cite(3, 5),)),
            [done("Table booked at Rosa for May 3.", 4, 9)],
            False,
            id="done, but resting on something later",
        ),
        pytest.param(
            replace(high("User wants a table for 4 at Rosa on May 3."), cites=(Cite(3, 3), Cite(12, 12))),
            [done("Table booked at Rosa for May 3.", 3, 9)],
            False,
            id="done, and asked for again since",
        ),
        pytest.param(
            high("User wants a table for 4 at Rosa on May 3.", cite=3),
            [replace(done("A table at Rosa on May 3.", 3, 9), priority=Priority.HIGH)],
            False,
            id="not told as done",
        ),
        pytest.param(
            high("User wants a table for 4 at Rosa on May 3.", cite=3),
            [done("Train tickets to Rome bought.", 3, 9)],
            False,
            id="another thing done",
        ),
        pytest.param(
            replace(high("User wants no table for 4 at Rosa before May 3.", cite=3), tag=Tag.PREFERENCE),
            [done("Table booked at Rosa for May 3.", 3, 9)],
            False,
            id="a preference is not done with",
        ),
        pytest.param(
            replace(high("User decided on a table for 4 at Rosa on May 3.", cite=3), tag=Tag.DECISION),
            [done("Table booked at Rosa for May 3.", 3, 9)],
            False,
            id="nor a decision",
        ),
        pytest.param(
            high("Ann owes the User 40 euros."), [high("Ann owes 40 euros.")], True, id="the user's name is none"
        ),
        pytest.param(
            high("User met with the board of Acme last Friday (Aug 7, 2026)."),
            [high("Met the board of Acme on Aug 7, 2026.")],
            True,
            id="a weekday beside its date is no name",
        ),
        pytest.param(
            high("User teaches at the Lyceum every Friday."),
            [high("User teaches at the Lyceum.")],
            False,
            id="a weekday without a date is one",
        ),
        pytest.param(
            high("User visited the harbour on Jun 15, 2026."),
            [high("2026-06-15: User visited the harbour.")],
            True,
            id="a date's month is no name",
        ),
        pytest.param(
            high("Tea is one of Maria's favourites."), [high("Maria's favourites: tea.")], True, id="a name's own form"
        ),
        pytest.param(
            high("Coffee is one of Maria's favourites."), [high("Coffee is a favourite of Maria.")], True, id="whose"
        ),
        pytest.param(
            high("User plans to paint the boat next month (June 2026)."),
            [high("User planned to paint the boat, and did on Jun 20, 2026.")],
            True,
            id="a day of the month",
        ),
        pytest.param(
            high("User plans to paint the boat on Jun 20, 2026."),
            [high("User plans to paint the boat in June 2026.")],
            False,
            id="only the month of a day",
        ),
        pytest.param(
            high("User has played the cello since about 2018 (8 years ago)."),
            [high("User has played the cello since 2018.")],
            True,
            id="how long ago a year was",
        ),
        pytest.param(
            high("User gave up smoking 8 years ago."), [high("User gave up smoking.")], False, id="how long ago alone"
        ),
        pytest.param(
            high("Jon took a short trip to Rome last week (Jun 12-18, 2026) to clear his mind.", cite=3),
            [high("Jon was in Rome on Jun 12-18, 2026.", cite=3)],
            True,
            id="akin, with all that is exact",
        ),
        pytest.param(
            Item(text="Jon is still searching for a place to open.", tag=Tag.ISSUE, cites=(Cite(3, 3),)),
            [Item(text="Jon looks for a studio.", tag=Tag.ISSUE, cites=(Cite(1, 3),))],
            True,
            id="open, and still open in other words",
        ),
        pytest.param(
            Item(text="Jon is still searching for a place to open.", tag=Tag.ISSUE, cites=(Cite(3, 3),)),
            [Item(text="Jon likes dancing.", tag=Tag.FACT, cites=(Cite(1, 3),))],
            False,
            id="open, and told otherwise",
        ),
        pytest.param(
            Item(text="The nightly build fails again.", tag=Tag.ISSUE),
            [Item(text="Nightly build fails.")],
            True,
            id="words",
        ),
        pytest.param(
            Item(text="The nightly build fails again.", tag=Tag.ISSUE),
            [Item(text="User likes tea.")],
            False,
            id="other words",
        ),
        pytest.param(high("사용자는 차를 좋아한다."), [high("사용자는 차를 좋아함")], True, id="Korean, reworded"),
        pytest.param(high("사용자는 차를 좋아한다."), [high("내일 회의가 있다")], False, id="Korean, another line"),
        pytest.param(
            high("User pays Ann 40 euros (before: 35, to Bob)."),
            [high("Ann is paid 40 euros.")],
            True,
            id="what is gone",
        ),
        pytest.param(
            high("The bill of Maria's is due."), [high("Maria: bill is due")], True, id="a name with an ending"
        ),
        pytest.param(
            high("Nutzer zieht mit der Ehefrau nach Leipzig in die Südvorstadt."),
            [high("Zieht mit der Frau nach Leipzig in die Südvorstadt.")],
            True,
            id="German, where a capital tells a noun",
        ),
        pytest.param(
            high("Nutzer zieht mit der Ehefrau nach Leipzig."),
            [high("Das Auto ist verkauft.")],
            False,
            id="German, lost",
        ),
        pytest.param(
            high("用户每天早上喝绿茶。"), [high("每天早上用户都喝绿茶。")], True, id="Chinese, in another order"
        ),
        pytest.param(high("用户每天早上喝绿茶。"), [high("用户住在里斯本。")], False, id="Chinese, lost"),
        pytest.param(
            high("공사는 9월 1일부터 9월 10일까지 한다."),
            [high("공사는 9월 1~10일에 한다.")],
            True,
            id="a range of days",
        ),
        pytest.param(high("东京会议改到下周三下午"), [high("下周三下午的东京会议")], True, id="Chinese, reordered"),
        pytest.param(high("上海会议"), [high("海上议会")], False, id="Chinese, other words of the same signs"),
    ],
)
def test_a_line_survives_where_what_makes_it_irreplaceable_is_left(
    line: Item,
    result: list[Item],
    survives: bool,
) -> None:
    assert lost([line], result) == (() if survives else (line,))


WAITS = "User waits for {} beside the old harbour every single morning."
FAILS = "The deploy of the billing service fails whenever somebody changes a column."


@pytest.mark.parametrize(
    ("text", "tag", "left", "left_tag", "survives"),
    [
        pytest.param(WAITS.format("Olga Petrova"), None, "Olga Petrova came.", None, True, id="all of two names"),
        pytest.param(WAITS.format("Olga Petrova"), None, "Olga came.", None, False, id="one of two"),
        pytest.param(WAITS.format("Olga"), None, "Olga came.", None, False, id="one name alone"),
        pytest.param(
            WAITS.format("Olga"), None, "Olga came to the harbour.", None, True, id="and a quarter of the words"
        ),
        pytest.param(FAILS, Tag.ISSUE, "Billing hurts.", Tag.NEXT_STEP, True, id="a word of what is open in what is"),
        pytest.param(FAILS, Tag.ISSUE, "It hurts.", Tag.NEXT_STEP, False, id="no word of it"),
        pytest.param(FAILS, Tag.ISSUE, "Billing hurts.", None, False, id="in what is not open"),
        pytest.param(FAILS, None, "Billing hurts.", Tag.NEXT_STEP, False, id="of what is not open"),
    ],
)
def test_in_a_line_that_cites_the_same_less_of_the_wording_is_enough(
    text: str, tag: Tag | None, left: str, left_tag: Tag | None, survives: bool
) -> None:
    item = replace(high(text, cite=1), tag=tag)
    assert lost([item], [Item(text=left, tag=left_tag, cites=item.cites)]) == (() if survives else (item,))


@pytest.mark.parametrize(
    ("item", "count"),
    [
        (high("User likes tea."), 0),
        (high("User edits main.py."), 1),
        (high("User pays Olga 1250 euros on May 3."), 3),
        (high("사용자는 차를 좋아한다."), 1),
        (Item(text="The build is red.", tag=Tag.ISSUE), 1),
        (Item(text="Build 7 is red.", tag=Tag.NEXT_STEP), 2),
    ],
)
def test_what_a_line_holds_that_is_irreplaceable_is_counted(item: Item, count: int) -> None:
    assert irreplaceable(item) == count


def test_coverage_is_the_share_that_survived() -> None:
    lines = [high(f"User pays {number} euros.") for number in (40, 41, 42, 43)]

    assert coverage(lines, lines[:3]) == pytest.approx(0.75)
    assert coverage([], []) == 1.0


def test_lines_are_put_in_at_their_day() -> None:
    first, second = "Aug 1, 2026", "Aug 3, 2026"
    log = [high("a", day=first, time="09:00"), high("b", day=first, time="11:00"), high("c", day=second)]
    timed = high("new", day=first, time="10:00")
    between = high("new", day="Aug 2, 2026")
    last = high("new", day="Aug 4, 2026")
    dayless = high("new", day="then")

    def order(item: Item) -> str:
        return " ".join(line.text for line in with_lines(log, [item]))

    assert [order(item) for item in (timed, between, last, dayless)] == [
        "a new b c",
        "a b new c",
        "a b c new",
        "a b c new",
    ]


def test_a_line_is_put_before_what_cites_later_messages_of_its_day() -> None:
    day = "Aug 1, 2026"
    log = [high("first", day=day, cite=2), high("second", day=day, cite=9)]

    lines = with_lines(log, [high("between", day=day, cite=5), high("last", day=day, cite=12)])

    assert [line.text for line in lines] == ["first", "between", "second", "last"]


lines = st.builds(
    high,
    st.lists(
        st.sampled_from(["User", "Ann", "pays", "40", "tea", "main.py", "May 3", "次の会議", "그는"]), min_size=1
    ).map(" ".join),
    cite=st.none() | st.integers(1, 5),
    day=st.sampled_from(["", "Aug 1, 2026", "Aug 2, 2026"]),
    time=st.none() | st.sampled_from(["09:00", "10:00"]),
)


@given(st.lists(lines), st.lists(lines))
def test_what_was_put_back_is_lost_no_more(guarded: list[Item], result: list[Item]) -> None:
    whole = with_lines(result, lost(guarded, result))

    assert coverage(guarded, whole) == 1.0
    assert sorted(map(repr, whole)) == sorted(map(repr, [*result, *lost(guarded, result)]))


def test_lines_of_many_days_are_put_in_as_soon_as_those_of_one() -> None:
    def work(days: list[str]) -> int:
        lines = [high(f"Line {number}.", day=day) for number, day in enumerate(days)]
        assert len(with_lines(lines[::3], lines)) == 800
        return steps(lambda: with_lines(lines[::3], lines))

    first = date(2020, 1, 1)
    of_each = [day_label(first + timedelta(days=number)) for number in range(600)]
    assert work(of_each) < 5 * work([day_label(first)] * 600)  # each day was read for each line
