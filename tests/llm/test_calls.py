from datetime import UTC, datetime

import pytest

from app.llm.calls import RETRY_AFTER_SECONDS_MAX, retry_after_seconds, understood
from app.llm.port import ModelError

NOW = datetime(2026, 8, 1, 10, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "Sat, 01 Aug 2026 10:00:30 GMT"}, 30.0),
        ({"retry-after": "Sat, 01 Aug 2026 12:00:30 +0200"}, 30.0),
        ({"retry-after": "Sat, 01 Aug 2026 10:00:30 -0000"}, 30.0),
        ({"retry-after": "Sat, 01 Aug 2026 09:00:00 GMT"}, 0.0),
        ({"retry-after": "Sat, 01 Aug 2026 12:00:30 GMT", "date": "Sat, 01 Aug 2026 12:00:10 GMT"}, 20.0),
        ({"retry-after": "Sat, 01 Aug 2026 09:00:30 GMT", "date": "Sat, 01 Aug 2026 09:00:10 GMT"}, 20.0),
        ({"retry-after": "Sat, 01 Aug 2026 10:00:30 GMT", "date": "today"}, 30.0),
        ({"retry-after": "7", "date": "Sat, 01 Aug 2026 12:00:10 GMT"}, 7.0),
        ({"retry-after": "99999999"}, RETRY_AFTER_SECONDS_MAX),
        ({"retry-after": "inf"}, RETRY_AFTER_SECONDS_MAX),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Mon, 01 Jan 99999999999 00:00:00 GMT"}, None),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after-ms": "x", "retry-after": "2"}, 2.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_seconds(headers, now=NOW) == seconds


@pytest.mark.parametrize("tokens", [float("inf"), float("nan"), "many", None])
def test_tokens_that_are_no_number_are_a_bad_reply(tokens: object) -> None:
    with pytest.raises(ModelError, match="shape") as raised:
        understood(tokens, int, provider="openai")  # type: ignore[arg-type] # what a server may send
    assert raised.value.kind == "bad_reply"
