"""What the lines of an ended session are as facts."""

from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from app.memory.facts.reading import Reading, new_facts, unread_messages
from app.memory.model import Cite, Detail, Item
from app.memory.narrowing import EXTRACTED, Narrowing
from app.memory.rules import Rules
from app.memory.spans import safe_span
from tests.memory.building import EMPTY, NOW, observation
from tests.memory.test_narrowing import message


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        ("Jul 4, 2026", datetime(2026, 7, 3, 15, tzinfo=UTC)),
        pytest.param("Jul 4, 2027", NOW, id="never later than now"),
        pytest.param("", NOW, id="nothing tells it"),
        pytest.param("Jan 1, 0001", NOW, id="a date that stands for none, before all time in the east"),
    ],
)
def test_a_fact_is_true_from_the_day_of_its_line(day: str, expected: datetime) -> None:
    line = Item(text="User lives in Lisbon.", day=day)

    (fact,) = new_facts([line], Reading(from_seq=1, to_seq=2), EMPTY, timezone=ZoneInfo("Asia/Tokyo"), facts_max=1)

    assert fact.valid_from.astimezone(UTC) == expected


def test_a_fact_says_what_the_details_of_its_line_say() -> None:
    line = Item(text="User stays in Porto.", details=(Detail(text="by the river;"), Detail(text="for a week.")))

    (fact,) = new_facts([line], Reading(from_seq=1, to_seq=2), EMPTY, timezone=ZoneInfo("UTC"), facts_max=1)

    assert fact.text == "User stays in Porto; by the river; for a week."


SAID = ("I live in Lisbon.", "I prefer a window seat.", "I still live in Lisbon, you know.", "リスボンに住んでいます。")


@pytest.mark.parametrize(
    ("noted", "cites"),
    [
        pytest.param("User lives in Lisbon.", (3,), id="the last that says it"),
        pytest.param("User prefers a window seat on the left.", (2,), id="most of it"),
        pytest.param("User prefers aisle seats near an exit row.", (), id="too little of it"),
        pytest.param("User: リスボンに住んでいます", (4,), id="without spaces"),
        pytest.param("User is here.", (), id="of no words that tell anything"),
    ],
)
def test_a_line_without_a_citation_is_of_the_message_that_says_it(noted: str, cites: tuple[int, ...]) -> None:
    span = safe_span([message(seq, text) for seq, text in enumerate(SAID, start=1)], want_tokens=1_000)
    reading = Reading(from_seq=1, to_seq=4, span=span)

    (fact,) = new_facts([Item(text=noted)], reading, EMPTY, timezone=ZoneInfo("UTC"), facts_max=1)

    assert fact.sources[0].cites == cites


def test_a_line_without_a_citation_is_of_the_note_that_says_it() -> None:
    told = Item(text="User lives in Lisbon, with two cats.", cites=(Cite(3, 4),))
    reading = Reading(from_seq=1, to_seq=10, chunks=(observation(1, Item(text="User lives in Lisbon."), told),))
    lines = [Item(text="User lives in Lisbon."), Item(text="User has cats.", cites=(Cite(9, 9),))]

    found = new_facts(lines, reading, EMPTY, timezone=ZoneInfo("UTC"), facts_max=9)

    assert [fact.sources[0].cites for fact in found] == [(3, 4), (9,)]


@pytest.mark.parametrize(("last_seq", "read_to"), [(1, 2), (2, 2), (3, 3)])
def test_what_came_while_the_memory_was_read_counts_as_read_with_what_is_shown(last_seq: int, read_to: int) -> None:
    """Else a fact would not be known to rest on it, and would outlive its erasure. What is not observed counts too."""
    memory = replace(EMPTY, last_seq=last_seq)
    messages = [message(1, "I live in Lisbon."), message(2, "My code is 4711.")]

    found = unread_messages(memory, Rules.resolve({}, {}), Narrowing.of(memory, EXTRACTED), messages, more=False)

    assert [one.seq for one in found.messages] == [1, 2]
    assert (found.from_seq, found.to_seq) == (1, read_to)
