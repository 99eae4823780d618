from dataclasses import replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from app.memory.gates import Rejection
from app.memory.log import render
from app.memory.model import Cite, ExtractorInput, Item, ObserverInput, ReflectorInput
from app.memory.narrowing import (
    CONDENSED,
    EXTRACTED,
    FAILED,
    INPUT_TOKENS_MIN,
    OBSERVED,
    SLOW,
    Narrowing,
    Showing,
    counted,
    known_good,
    passed_over,
)
from app.memory.parsing import parse
from app.memory.records import Loaded
from app.memory.spans import safe_span
from app.memory.steps import NEVER, Buffer, Observe
from app.sessions.model import Message, Role
from tests.memory.building import EMPTY, NOW, observation
from tests.memory.test_spans import message as plain

OBSERVE = Observe(want_tokens=16_000, force_closed=False)
BUFFER = Buffer(want_tokens=3_200, least_tokens=1_600, at_boundary=True)


def message(seq: int, text: str = "Hi", tokens: int = 10) -> Message:
    return replace(plain(seq, "u"), parts=({"type": "text", "text": text},), tokens=tokens)


def failed(attempts: int, kind: str = "refused", *, step: str = "observe", session: str = "s") -> Loaded:
    """So often in a row, by this kind alone."""
    return failed_by(*[kind] * attempts, step=step, session=session)


def failed_by(*kinds: str, step: str = "observe", session: str = "s") -> Loaded:
    """By these kinds, one after the other; ``slow`` is told with the time-out before it."""
    found = EMPTY
    for kind in kinds:
        more = 0 if kind == SLOW else 1
        told = {"kind": kind, "step": step, "session": session, FAILED: counted(found, step, kind)}
        found = replace(found, attempts=found.attempts + more, last_error=told)
    return found


def narrowing(loaded: Loaded, showing: Showing = OBSERVED) -> Narrowing:
    return Narrowing.of(loaded, showing)


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
    found = narrowing(failed(attempts))

    assert found.step(OBSERVE, limit_tokens=24_000) == replace(OBSERVE, want_tokens=want)
    assert found.alone is alone


@pytest.mark.parametrize("kind", ["refused", "too_long", "too_large"])
def test_what_is_for_what_was_shown_narrows_it(kind: str) -> None:
    assert narrowing(failed(2, kind)).divisor == 4


@pytest.mark.parametrize("kind", ["timeout", "bad_reply", "cut_off", "empty", "repetitive", "not_smaller"])
def test_what_may_be_for_it_narrows_it_after_four_failures(kind: str) -> None:
    assert narrowing(failed(4, kind)) == Narrowing(showing=OBSERVED)
    assert narrowing(failed(5, kind)).divisor == 4
    assert [narrowing(failed(attempts, kind)).alone for attempts in (7, 8)] == [False, True]


@pytest.mark.parametrize(
    "kind", ["rate_limited", "overloaded", "connection", "unauthorized", "circuit_open", "internal"]
)
def test_what_is_for_the_provider_narrows_nothing(kind: str) -> None:
    assert narrowing(failed(7, kind)) == Narrowing(showing=OBSERVED)


def test_a_failure_of_another_step_or_session_narrows_nothing() -> None:
    assert narrowing(failed(7, step="reflect")) == Narrowing(showing=OBSERVED)
    assert narrowing(failed(7, session="another")) == Narrowing(showing=OBSERVED)
    assert narrowing(replace(EMPTY, attempts=7)) == Narrowing(showing=OBSERVED)


@pytest.mark.parametrize("kind", ["timeout", "refused", "too_long"])
def test_what_an_outage_told_before_does_not_count_for_what_is_told_at_last(kind: str) -> None:
    assert narrowing(failed_by(*["overloaded"] * 6, kind)) == Narrowing(showing=OBSERVED)
    assert narrowing(failed_by(*["timeout"] * 4, kind)).divisor == (4 if kind == "timeout" else 1)


def test_what_is_for_the_provider_does_not_end_a_row() -> None:
    found = narrowing(failed_by("refused", "refused", "overloaded", "rate_limited"))

    assert found == narrowing(failed(2))
    assert narrowing(failed_by("refused", "overloaded", "refused")) == found


def test_who_asks_for_another_try_has_all_of_it_shown() -> None:
    redriven = replace(failed(5), attempts=0, last_error={"kind": "refused", "step": "observe", "session": "s"})

    assert narrowing(redriven) == Narrowing(showing=OBSERVED)
    assert counted(redriven, "observe", "refused") == {"refused": 1}


def test_a_failure_of_another_step_begins_a_row_of_its_own() -> None:
    assert counted(failed(5), "reflect", "refused") == {"refused": 1}
    assert counted(failed(5), "buffer", "refused") == {"refused": 6}
    assert counted(failed(5), "observe", "unauthorized") == {"refused": 5}
    assert counted(failed(5), "activate", "internal") == {}


def test_what_the_gates_reject_is_counted_by_its_plain_name() -> None:
    (name,) = counted(EMPTY, "observe", Rejection.CUT_OFF)

    assert (name, type(name)) == ("cut_off", str)


def test_a_narrowed_step_ahead_waits_for_no_boundary_and_no_half_step() -> None:
    assert narrowing(failed(2)).step(BUFFER, limit_tokens=None) == Buffer(want_tokens=800, least_tokens=0)
    assert narrowing(failed(1)).step(BUFFER, limit_tokens=None) == BUFFER


def test_more_than_a_call_takes_is_narrowed_from_what_it_takes() -> None:
    step = narrowing(failed(2)).step(replace(OBSERVE, want_tokens=10**9), limit_tokens=24_000)

    assert step.want_tokens == 6_000


@pytest.mark.parametrize(
    ("attempts", "budget", "left"),
    [(1, 2_000, 2_000), (1, None, None), (2, 2_000, 500), (2, None, 2_000), (5, None, 0)],
)
def test_less_of_the_log_is_shown_too(attempts: int, budget: int | None, left: int | None) -> None:
    assert narrowing(failed(attempts)).earlier_tokens(budget) == left


def test_only_for_its_length_a_message_is_cut_and_never_to_nothing() -> None:
    assert narrowing(EMPTY).input_tokens(100) == narrowing(failed(5)).input_tokens(100) == 100
    assert narrowing(failed(2, "too_long")).input_tokens(24_000) == 6_000
    assert narrowing(failed(5, "too_long")).input_tokens(24_000) == INPUT_TOKENS_MIN
    assert narrowing(failed(9, "too_long")).input_tokens(256_000) == 1_000
    assert [narrowing(failed(times, "too_long")).input_tokens(None) for times in (1, 2, 5)] == [
        None,
        6_000,
        INPUT_TOKENS_MIN,
    ]


@pytest.mark.parametrize(("slow", "tokens"), [(0, 24_000), (1, 6_000), (2, 1_500), (3, INPUT_TOKENS_MIN)])
def test_for_time_outs_a_message_is_cut_where_the_model_answered_to_another(slow: int, tokens: int) -> None:
    found = narrowing(failed_by(*["timeout"] * 8, *["timeout", SLOW] * slow))

    assert found.alone
    assert found.input_tokens(24_000) == tokens


def test_what_is_cut_for_its_length_is_not_for_what_was_refused_before() -> None:
    assert narrowing(failed_by(*["refused"] * 4, "too_long")).input_tokens(24_000) == 24_000


@pytest.mark.parametrize("showing", [OBSERVED, CONDENSED, EXTRACTED])
def test_after_a_time_out_of_one_part_alone_the_model_is_asked_about_another(showing: Showing) -> None:
    (step, *_) = showing.steps
    before, alone = (narrowing(failed(attempts, "timeout", step=step), showing) for attempts in (7, 8))

    kinds = ("timeout", "refused", "overloaded")
    assert ([before.asks(kind) for kind in kinds], [alone.asks(kind) for kind in kinds]) == (
        [False, False, False],
        [True, True, False],
    )


@pytest.mark.parametrize(("attempts", "shown"), [(0, 8), (1, 8), (2, 2), (3, 1), (5, 1)])
@pytest.mark.parametrize(
    ("step", "showing"), [("reflect", CONDENSED), ("consolidate", CONDENSED), ("note_facts", EXTRACTED)]
)
def test_of_the_log_the_oldest_are_shown_at_least_one(attempts: int, shown: int, step: str, showing: Showing) -> None:
    chunks = [observation(number) for number in range(1, 9)]
    found = narrowing(failed(attempts, step=step), showing)

    assert found.oldest(chunks) == chunks[:shown]
    assert narrowing(failed(5, step="observe"), showing).oldest(chunks) == chunks


@pytest.mark.parametrize(
    ("step", "showing", "kinds"),
    [
        ("observe", OBSERVED, {"refused", "bad_reply"}),
        ("reflect", CONDENSED, {"refused", "bad_reply", "too_long", "timeout", "empty"}),
        ("note_facts", EXTRACTED, {"refused", "bad_reply", "too_long", "timeout", "empty"}),
    ],
)
def test_what_loses_nothing_is_given_up_sooner(step: str, showing: Showing, kinds: set[str]) -> None:
    alone, before = [narrowing(failed(attempts, step=step), showing) for attempts in (5, 4)]
    asked = ("refused", "bad_reply", "too_long", "timeout", "empty", "overloaded", "unauthorized", "circuit_open")

    assert {kind for kind in asked if alone.gives_up(kind)} == kinds
    assert not any(map(before.gives_up, asked))


def test_what_is_observed_again_is_narrowed_from_all_of_it() -> None:
    messages = [message(seq, tokens=100) for seq in range(1, 9)]

    assert Narrowing(showing=OBSERVED).want_tokens(messages) == NEVER
    assert narrowing(failed(2, step="rebuild")).want_tokens(messages) == 200
    assert narrowing(failed(5, step="rebuild")).want_tokens(messages) == 1


def test_what_is_passed_over_leaves_a_line_that_cites_it_and_quotes_nothing() -> None:
    said = replace(message(12, text="bludgeon"), created_at=datetime(2026, 8, 1, 23, 30, tzinfo=ZoneInfo("UTC")))
    span = safe_span([said], want_tokens=1)
    assert span is not None

    verdict = passed_over(span, ZoneInfo("Asia/Seoul"))

    assert render(verdict.items) == (
        "Date: Aug 2, 2026\n"
        "* 🟢 (08:30) What was said here is not in these notes: the model that writes them refused to read it. #12"
    )
    assert parse(render(verdict.items)).items == verdict.items
    assert verdict.rejected is None


SAID = replace(message(3, text="bludgeon"), role=Role.TOOL, name="bludgeon")
NOTED = Item(text="bludgeon", day="Aug 1, 2026", cites=(Cite(3, 3), Cite(4, 4)))
GREETED = Item(text="User said: Hello.", day=NOTED.day, cites=(Cite(3, 3),))


@pytest.mark.parametrize(
    ("source", "said", "noted"),
    [
        (ObserverInput(messages=(SAID, SAID), earlier=(NOTED,), current_task="bludgeon", rejected="bludgeon"), 1, 0),
        (ExtractorInput(messages=(SAID, SAID), rejected="bludgeon"), 1, 0),
        (ExtractorInput(items=(NOTED, NOTED), rejected="bludgeon"), 0, 1),
        (ReflectorInput(items=(NOTED, NOTED), source_tokens=9, target_tokens=5, now=NOW, rejected="bludgeon"), 0, 1),
    ],
)
def test_the_question_known_to_be_good_is_of_one_message_or_note_and_has_nothing_of_the_session_s(
    source: Any, said: int, noted: int
) -> None:
    found = known_good(source)

    assert "bludgeon" not in str(found)
    messages, items = getattr(found, "messages", ()), getattr(found, "items", ())
    assert [(one.seq, one.role, one.parts[0]["text"]) for one in messages] == [(3, Role.USER, "Hello.")] * said
    assert list(items) == [GREETED] * noted
