from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from app.memory.model import ObserverInput
from app.memory.narrowing import INPUT_TOKENS_MIN, Narrowing, known_good, passed_over
from app.memory.parsing import parse
from app.memory.records import Loaded
from app.memory.spans import safe_span
from app.memory.steps import Buffer, Observe
from app.sessions.model import Message
from tests.memory.building import EMPTY
from tests.memory.test_spans import message as plain

OBSERVE = Observe(want_tokens=16_000, force_closed=False)
BUFFER = Buffer(want_tokens=3_200, least_tokens=1_600, at_boundary=True)


def message(seq: int, text: str = "Hi", tokens: int = 10) -> Message:
    return replace(plain(seq, "u"), parts=({"type": "text", "text": text},), tokens=tokens)


def failed(attempts: int, kind: str = "refused", *, step: str = "observe", session: str = "s") -> Loaded:
    return replace(EMPTY, attempts=attempts, last_error={"kind": kind, "step": step, "session": session})


@pytest.mark.parametrize(
    ("attempts", "want", "alone"),
    [
        (0, 16_000, False),
        (1, 16_000, False),
        (2, 4_000, False),
        (3, 1_000, False),
        (4, 250, False),
        (5, 1, True),
        (30, 1, True),
    ],
)
def test_each_try_after_the_second_is_shown_a_quarter(attempts: int, want: int, *, alone: bool) -> None:
    narrowing = Narrowing.of(failed(attempts))

    assert narrowing.step(OBSERVE, limit_tokens=24_000) == replace(OBSERVE, want_tokens=want)
    assert narrowing.alone is alone


@pytest.mark.parametrize("kind", ["refused", "too_long", "too_large"])
def test_what_is_for_what_was_shown_narrows_it(kind: str) -> None:
    assert Narrowing.of(failed(2, kind)).divisor == 4


@pytest.mark.parametrize("kind", ["timeout", "bad_reply", "cut_off", "empty", "repetitive", "not_smaller"])
def test_what_may_be_for_it_narrows_it_after_four_failures(kind: str) -> None:
    assert Narrowing.of(failed(4, kind)) == Narrowing()
    assert Narrowing.of(failed(5, kind)).divisor == 4
    assert [Narrowing.of(failed(attempts, kind)).alone for attempts in (7, 8)] == [False, True]


@pytest.mark.parametrize(
    "kind", ["rate_limited", "overloaded", "connection", "unauthorized", "circuit_open", "internal"]
)
def test_what_is_for_the_provider_narrows_nothing(kind: str) -> None:
    assert Narrowing.of(failed(7, kind)) == Narrowing()


def test_a_failure_of_another_step_or_session_narrows_nothing() -> None:
    assert Narrowing.of(failed(7, step="reflect")) == Narrowing()
    assert Narrowing.of(failed(7, session="another")) == Narrowing()
    assert Narrowing.of(replace(EMPTY, attempts=7)) == Narrowing()


def test_a_narrowed_step_ahead_waits_for_no_boundary_and_no_half_step() -> None:
    assert Narrowing.of(failed(2)).step(BUFFER, limit_tokens=None) == Buffer(want_tokens=800, least_tokens=0)
    assert Narrowing.of(failed(1)).step(BUFFER, limit_tokens=None) == BUFFER


def test_more_than_a_call_takes_is_narrowed_from_what_it_takes() -> None:
    step = Narrowing.of(failed(2)).step(replace(OBSERVE, want_tokens=10**9), limit_tokens=24_000)

    assert step.want_tokens == 6_000


@pytest.mark.parametrize(
    ("attempts", "budget", "left"),
    [(1, 2_000, 2_000), (1, None, None), (2, 2_000, 500), (2, None, 2_000), (5, None, 0)],
)
def test_less_of_the_log_is_shown_too(attempts: int, budget: int | None, left: int | None) -> None:
    assert Narrowing.of(failed(attempts)).earlier_tokens(budget) == left


def test_only_for_its_length_a_message_is_cut_and_never_to_nothing() -> None:
    source = ObserverInput(messages=(message(1),), current_task="Carry on.", input_tokens=24_000)

    assert Narrowing.of(failed(5)).source(source) == replace(source, current_task=None)
    assert Narrowing.of(failed(2, "too_long")).source(source) == replace(source, input_tokens=6_000)
    assert Narrowing.of(failed(8, "timeout")).source(source).input_tokens == INPUT_TOKENS_MIN


def test_what_is_observed_again_is_narrowed_from_all_of_it() -> None:
    messages = [message(seq, tokens=100) for seq in range(1, 9)]

    assert Narrowing().want_tokens(messages, otherwise=7) == 7
    assert Narrowing.of(failed(2, step="rebuild")).want_tokens(messages, otherwise=7) == 200
    assert Narrowing.of(failed(5, step="rebuild")).want_tokens(messages, otherwise=7) == 1


def test_what_is_passed_over_leaves_a_line_that_cites_it_and_quotes_nothing() -> None:
    said = replace(message(12, text="bludgeon"), created_at=datetime(2026, 8, 1, 23, 30, tzinfo=ZoneInfo("UTC")))
    span = safe_span([said], want_tokens=1)
    assert span is not None

    verdict = passed_over(span, ZoneInfo("Asia/Seoul"))

    assert verdict.text == (
        "Date: Aug 2, 2026\n"
        "* 🟢 (08:30) What was said here is not in these notes: the model that writes them refused to read it. #12"
    )
    assert parse(verdict.text).items == verdict.items
    assert verdict.rejected is None


def test_the_question_known_to_be_good_has_nothing_of_the_session_s() -> None:
    source = ObserverInput(messages=(message(1, text="bludgeon"),), current_task="bludgeon", rejected="bludgeon")

    assert "bludgeon" not in str(known_good(source))
