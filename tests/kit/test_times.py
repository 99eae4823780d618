"""The type of a time in a request."""

import pytest
from pydantic import TypeAdapter, ValidationError

from app.kit.times import Time


@pytest.mark.timeout(60)
@pytest.mark.parametrize("long", ["T", " ", "+", "0"])
def test_a_megabyte_is_refused_in_linear_time(long: str) -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Time).validate_python("2026-08-01" + long * 1_000_000)  # quadratic, it takes an hour
