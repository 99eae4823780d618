"""The type of a time in a request."""

import pytest
from pydantic import TypeAdapter, ValidationError

from app.kit.times import Time


@pytest.mark.timeout(60)
@pytest.mark.parametrize("long", ["T", " ", "+", "0"])
def test_a_megabyte_is_refused_in_linear_time(long: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Time).validate_python("2026-08-01" + long * 1_000_000)  # quadratic, it takes an hour


@pytest.mark.parametrize(
    ("told", "is_taken"),
    [
        ("0002-01-01T00:00:00Z", True),
        ("0001-12-31T23:59:59Z", False),
        ("9998-12-31T00:00:00Z", True),
        ("9998-12-31T00:00:01Z", False),
    ],
)
def test_a_time_is_taken_up_to_both_ends_and_not_beyond(told: str, is_taken: bool) -> None:
    try:
        TypeAdapter(Time).validate_python(told)
    except ValidationError:
        assert not is_taken
    else:
        assert is_taken
