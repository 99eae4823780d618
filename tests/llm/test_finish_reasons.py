import pytest

from app.llm.complaints import Complained
from app.llm.finish_reasons import stop_of
from app.llm.port import Stop


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("stop", Stop.END),
        ("end_turn", Stop.END),
        ("eos", Stop.END),
        ("tool_calls", Stop.END),
        ("a word yet to come", Stop.END),
        (None, Stop.END),
        ("", Stop.END),
        (7, Stop.END),
        ("length", Stop.LENGTH),
        ("max_tokens", Stop.LENGTH),
        ("MAX_TOKENS", Stop.LENGTH),
        ("model_length", Stop.LENGTH),
        ("model_context_window_exceeded", Stop.LENGTH),
        ("content_filter", Stop.REFUSAL),
        ("content_filter: PROHIBITED_CONTENT", Stop.REFUSAL),
        ("SAFETY", Stop.REFUSAL),
        ("RECITATION", Stop.REFUSAL),
        ("sensitive", Stop.REFUSAL),
        ("refusal", Stop.REFUSAL),
    ],
)
def test_a_reply_ended_as_its_sender_says(reason: object, stop: Stop) -> None:
    assert stop_of(reason) is stop


@pytest.mark.parametrize(
    "reason",
    [
        "error",
        "insufficient_system_resource",
        "network_error",
        "abort",
        "pause_turn",
        "function_call_filter: MALFORMED_FUNCTION_CALL",
        "OTHER",
    ],
)
def test_a_reply_that_broke_off_is_none(reason: str) -> None:
    with pytest.raises(Complained, match="broke off"):
        stop_of(reason)
