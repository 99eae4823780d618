import json
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.memory.log import in_time_order, items_from_json, items_to_json, render
from app.memory.model import Cite, Detail, Item, Origin, Priority, Tag
from app.memory.parsing import parse

ANCHOR = date(2026, 8, 15)

words = st.lists(
    st.sampled_from(
        ["User", "moved", "to", "Lisbon.", "8841", "naïve", "次の会議", "a-b", "#12b", "(see", "10:00h", "<b>"]
    ),
    min_size=1,
    max_size=6,
).map(" ".join)
cites = st.lists(
    st.tuples(st.integers(1, 999), st.integers(0, 9)).map(lambda pair: Cite(pair[0], sum(pair))),
    max_size=3,
    unique=True,
).map(tuple)
details = st.lists(st.builds(Detail, text=words, cites=cites), max_size=2, unique=True).map(tuple)


@st.composite
def canonical_items(draw: st.DrawFn) -> tuple[Item, ...]:
    """Items as ``parse`` leaves them: in order of time, uncertain ones low, no two equal neighbours."""
    uncertain = draw(st.booleans())
    item = st.builds(
        Item,
        text=words,
        day=st.sampled_from(["", "Aug 1, 2026", "Aug 2, 2026", "some day"]),
        time=st.none() | st.sampled_from(["00:00", "09:05", "23:59"]),
        priority=st.just(Priority.LOW) if uncertain else st.none() | st.sampled_from(Priority),
        tag=st.none() | st.sampled_from(Tag),
        uncertain=st.just(uncertain),
        origin=st.none() | st.sampled_from(Origin),
        cites=cites,
        details=details,
    )
    return in_time_order(draw(st.lists(item, max_size=6, unique=True)))


@given(canonical_items(), st.none() | st.just(ANCHOR))
def test_parse_reads_back_what_render_wrote(items: tuple[Item, ...], anchor: date | None) -> None:
    assert parse(render(items, anchor=anchor)).items == items


@given(canonical_items())
def test_items_survive_json_exactly(items: tuple[Item, ...]) -> None:
    assert items_from_json(json.loads(json.dumps(items_to_json(items)))) == items


@given(st.builds(Item, text=st.text(), day=st.text(), details=st.lists(st.builds(Detail, text=st.text())).map(tuple)))
def test_no_text_can_pose_as_a_line_of_its_own(item: Item) -> None:
    lines = render([item]).splitlines()

    assert len(lines) == bool(item.day) + 1 + len(item.details)


def test_the_log_is_written_in_its_one_form() -> None:
    items = [
        Item(
            text="User moved to Lisbon.",
            day="Aug 1, 2026",
            time="10:00",
            priority=Priority.HIGH,
            tag=Tag.FACT,
            cites=(Cite(12, 12), Cite(15, 18)),
            details=(Detail(text="detail of the line above", cites=(Cite(13, 13),)),),
        ),
        Item(text="User may sell the car.", day="Aug 1, 2026", priority=Priority.HIGH, uncertain=True),
        Item(text="Invoice was refunded.", day="Aug 2, 2026", priority=Priority.DONE),
        Item(text="Nobody knows when.", day=""),
    ]

    assert render(items) == (
        "Date: Aug 1, 2026\n"
        "* 🔴 (10:00) [fact] User moved to Lisbon. #12 #15-18\n"
        "  * -> detail of the line above #13\n"
        "* 🟢 (uncertain) User may sell the car.\n"
        "Date: Aug 2, 2026\n"
        "* ✅ Invoice was refunded.\n"
        "Date:\n"
        "* Nobody knows when."
    )


def test_an_anchor_adds_how_long_ago_to_every_header_that_names_a_day() -> None:
    items = [Item(text="a", day="Aug 1, 2026"), Item(text="b", day="some day")]

    assert render(items, anchor=ANCHOR) == "Date: Aug 1, 2026 (2 weeks ago)\n* a\nDate: some day\n* b"


@pytest.mark.parametrize(
    ("item", "passed"),
    [
        (Item(text="Trip to Rome (Aug 10, 2026)", day="Aug 1, 2026"), True),
        (Item(text="Trip to Rome (Aug 15, 2026)", day="Aug 1, 2026"), False),
        (Item(text="Trip to Rome (Aug 14, 2026)", day="Aug 1, 2026"), True),
        (Item(text="Trip to Rome today (Aug 1, 2026)", day="Aug 1, 2026"), False),
        (Item(text="Trip to Rome (Jul 10, 2026)", day="Aug 1, 2026"), False),
        (Item(text="Trip to Rome (Aug 10, 2026)"), False),
        (Item(text="Call Bob on Jul 10, 2026", tag=Tag.NEXT_STEP), True),
        (Item(text="Call Bob", day="Aug 1, 2026", tag=Tag.NEXT_STEP), False),
        (Item(text="Call Bob today (Aug 1, 2026)", day="Aug 1, 2026", tag=Tag.NEXT_STEP), True),
        (Item(text="Pay the bill of Jul 10, 2026", day="Aug 1, 2026", tag=Tag.NEXT_STEP), False),
        (Item(text="Call this week (week of 27 Jul 2026)", day="Aug 1, 2026", tag=Tag.NEXT_STEP), True),
        (Item(text="Call who rang last week (week of 20 Jul 2026)", day="Aug 1, 2026", tag=Tag.NEXT_STEP), False),
        (Item(text="Trip next week (week of 10 Aug 2026)", day="Aug 5, 2026"), False),
        (Item(text="Call next week (week after 9 Aug 2026)", day="Aug 9, 2026", tag=Tag.NEXT_STEP), False),
        (Item(text="Call who rang last week (week before 9 Aug 2026)", day="Aug 9, 2026", tag=Tag.NEXT_STEP), False),
        (Item(text="Trip to Rome, week of Dec 31, 9999", day="Aug 1, 2026"), False),
        (Item(text="来週の月曜日（8月10日）に電話", day="Aug 1, 2026", tag=Tag.NEXT_STEP), True),
        (Item(text="Позвонить 20 августа", day="Aug 1, 2026", tag=Tag.NEXT_STEP), False),
        (Item(text="Call Bob on Jul 10", day="Aug 1, 2026", tag=Tag.NEXT_STEP), False),
        (Item(text="Geburtstag am 10. August", day="Aug 1, 2026"), False),
        (Item(text="١٠ أغسطس ٢٠٢٦: الاجتماع", day="Aug 1, 2026"), True),
        (Item(text="Went to Rome (Aug 10, 2026)", day="Aug 1, 2026", priority=Priority.DONE), False),
        (Item(text="From Aug 3, 2026 to Aug 20, 2026", day="Aug 1, 2026"), False),
        (Item(text="Conference Aug 10-14, 2026", day="Aug 1, 2026", tag=Tag.NEXT_STEP), True),
        (Item(text="Conference Aug 10-15, 2026", day="Aug 1, 2026", tag=Tag.NEXT_STEP), False),
        (Item(text="Conference August 10 to 15, 2026", day="Aug 1, 2026", tag=Tag.NEXT_STEP), False),
        (Item(text="2026年8月10日から15日まで会議", day="Aug 1, 2026"), False),
        (Item(text="2026年8月10日から14日まで会議", day="Aug 1, 2026"), True),
        (Item(text="8월 10일부터 15일까지 회의", day="Aug 1, 2026", tag=Tag.NEXT_STEP), False),
    ],
)
def test_a_dated_intention_that_has_passed_is_marked(item: Item, passed: bool) -> None:
    assert render([item], anchor=ANCHOR).endswith("(likely already happened)") is passed
    assert "(likely already happened)" not in render([item])


def test_a_day_is_sorted_only_if_every_line_of_it_has_a_time() -> None:
    timed = [Item(text="b", day="x", time="11:00"), Item(text="a", day="x", time="09:00")]
    mixed = [Item(text="d", day="y", time="11:00"), Item(text="c", day="y")]

    assert [item.text for item in in_time_order([*timed, *mixed])] == ["a", "b", "d", "c"]
