"""What the lines of an ended session are as facts."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from app.memory.model import Item
from app.memory.reading import Reading, new_facts
from tests.memory.building import EMPTY, NOW


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
