"""What a context shares with the call before it, and why its prefix broke."""

from dataclasses import replace
from datetime import date
from hashlib import sha256
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.context.cache import break_reason, compared, shared_pieces
from app.context.compile import compile_context
from app.context.model import Compiled, Format, Knowledge, Prefix, Section, Segment
from app.facts.standing import Standing
from app.sessions.model import Message, Role
from tests.context.building import (
    FORMATS,
    LOGS,
    NOW,
    ask,
    assistant,
    log_of,
    message,
    observation,
    reflection,
    snapshot,
    standing_fact,
    text,
    user,
)

LOG = log_of(user("Hi"), assistant("Hello"), user("Bye"))
BASE: dict[str, Any] = {
    "version": 3,
    "reflections": (reflection(1, "Old."),),
    "observations": (observation(2, "User moved."), observation(3, "User works.")),
}


def compiled(log: tuple[Message, ...] = LOG, asked: dict[str, Any] | None = None, **taken: Any) -> Compiled:
    wanted = {"system": ("You help.",), "knowledge": (Knowledge(title="Prices", text="2 euros"),), **(asked or {})}
    return compile_context(snapshot(log, **{**BASE, **taken}), ask(explain=True, **wanted))


def reason(after: Compiled, causes: dict[int, str] | None = None) -> str | None:
    return break_reason(compiled().prefix, after.prefix, causes or {})


MORE = (*BASE["observations"], observation(4, "User has a dog."))


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (compiled(), None),
        (compiled(log_of(user("Hi"), assistant("Hello"), user("Bye"), assistant("Bye"))), None),
        (compiled(asked={"channel": "sms"}), None),  # what changes by the turn is no part of it
        (compiled(asked={"system": ("You are brief.",)}), "system"),
        (compiled(asked={"system": ()}), "system"),
        (compiled(asked={"system": ("You help.", "Be brief.")}), "system"),
        (compiled(asked={"knowledge": (Knowledge(title="Prices", text="3 euros"),)}), "knowledge"),
        (compiled(asked={"knowledge": ()}), "knowledge"),
        (compiled(anchor_date=date(2026, 12, 24)), "anchor"),
        (compiled(asked={"max_observations": 1}), "budget"),
        (compiled(asked={"message_budget": 5}), "budget_step"),
        (compiled((replace(LOG[0], parts=(text("Hey"),)), *LOG[1:])), "edit"),
        (compiled((replace(LOG[0], role=Role.SYSTEM), *LOG[1:])), "edit"),
        (compiled((replace(LOG[0], name="Ana"), *LOG[1:])), "edit"),
        (compiled(LOG[:2]), "edit"),
    ],
)
def test_the_reason_is_what_changed_first_in_the_order_of_the_prefix(after: Compiled, expected: str | None) -> None:
    assert reason(after) == expected


@pytest.mark.parametrize(
    ("causes", "expected"),
    [
        ({4: "activated"}, "activation"),
        ({4: "observed"}, "activation"),
        ({4: "reflected"}, "reflection"),
        ({4: "consolidated"}, "consolidation"),
        ({4: "edited"}, "edit"),
        ({4: "deleted"}, "deletion"),
        ({4: "compacted"}, "compaction"),
        ({4: "something new"}, "memory"),
        ({}, "memory"),
        ({5: "reflected", 2: "reflected", 3: "edited", 4: "activated"}, "activation"),  # the first one since
    ],
)
def test_a_new_version_s_cause_is_the_reason(causes: dict[int, str], expected: str) -> None:
    assert reason(compiled(version=max(causes, default=4), observations=MORE), causes) == expected


@pytest.mark.parametrize(
    ("causes", "expected"),
    [
        ({4: "activated", 5: "reflected"}, "reflection"),
        ({4: "activated", 5: "consolidated", 6: "reflected"}, "consolidation"),
        ({4: "activated", 5: "something new"}, "memory"),
        ({4: "activated"}, "activation"),  # it may take the budget of older notes
        ({}, "memory"),
    ],
)
@pytest.mark.parametrize(
    "left",
    [
        {"reflections": (reflection(1, "Old."), reflection(5, "Moved.")), "observations": MORE[1:]},
        {"reflections": (reflection(5, "Moved."),)},
        {"observations": MORE[:1]},
    ],
)
def test_where_a_note_is_gone_an_activation_before_is_not_the_reason(
    causes: dict[int, str], expected: str, left: dict[str, Any]
) -> None:
    assert reason(compiled(version=max(causes, default=4), **left), causes) == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((1, 2), (1, 2), None),
        ((1, 2), (2,), "profile"),
        ((1,), (), "profile"),
        ((), (1,), "profile"),
    ],
)
def test_what_was_known_and_is_no_more_is_told_from_what_the_caller_wants_known(
    one: tuple[int, ...], other: tuple[int, ...], expected: str | None
) -> None:
    def known(numbers: tuple[int, ...], **asked: Any) -> Prefix:
        facts = tuple(standing_fact(number) for number in numbers)
        standing = Standing(began_at=NOW, facts=facts) if facts else None
        return compiled(asked=asked, standing=standing).prefix

    assert break_reason(known(one), known(other), {}) == expected
    assert break_reason(known(one), known(other, knowledge=()), {}) == "knowledge"


def test_a_value_in_the_system_prompt_that_changed_is_told_from_a_new_prompt() -> None:
    asked = ({"system": ("You help {temp:who}.",), "state": {"temp:who": who}} for who in ("Ana", "Bo"))
    before, after = (compiled(asked=each).prefix for each in asked)
    assert break_reason(before, after, {}) == "state"


def test_shared_tokens_are_those_of_the_pieces_both_begin_with() -> None:
    before, after = compiled(), compiled(version=4, observations=MORE)
    found = compared(after.cache, before.prefix, after.prefix, {4: "activated"})
    counted = (Section.SYSTEM, Section.KNOWLEDGE, Section.REFLECTIONS, Section.OBSERVATIONS)
    continuation = next(segment for segment in before.segments or () if segment.id == "continuation")
    guide = before.tokens[Section.GUIDE] - continuation.tokens
    assert found.shared_with_previous_tokens == sum(before.tokens[section] for section in counted) + guide
    assert found.break_reason == "activation"
    assert (found.epoch, found.prefix_sha256) == (after.cache.epoch, after.cache.prefix_sha256)


def test_a_context_shares_the_whole_of_itself() -> None:
    found = compiled().prefix
    assert shared_pieces(found, found) == len(found) > 0


def test_the_hash_of_a_prefix_is_over_its_units_each_ended_by_a_line_break() -> None:
    context = compiled()
    assert context.cache.prefix_sha256 == sha256(b"".join(unit + b"\n" for unit in context.units)).hexdigest()


def hashes(context: Compiled, *sections: Section) -> list[str]:
    assert context.segments is not None
    return [segment.sha256 for segment in context.segments if segment.section in sections]


def test_after_an_activation_only_what_follows_the_older_chunks_changes() -> None:
    before, after = compiled(), compiled(LOG[1:], version=4, observations=MORE)
    assert before.segments is not None
    assert after.segments is not None
    older = [segment for segment in before.segments if segment.stability in {"static", "epoch", "append"}]
    kept = [segment for segment in older if segment.role is Role.SYSTEM]
    assert unmarked(after.segments[: len(kept)]) == unmarked(kept)
    assert after.segments[len(kept)].id == "observation:4"


def unmarked(segments: Any) -> list[Segment]:
    return [replace(segment, breakpoint=False) for segment in segments]


def test_after_a_leveled_reflection_the_higher_levels_stay() -> None:
    levels = (reflection(1, "Oldest.", level=2), reflection(2, "Older."))
    before = compiled(reflections=levels)
    after = compiled(version=4, reflections=(*levels, reflection(3, "Old.")), observations=MORE[-1:])
    assert hashes(after, Section.REFLECTIONS)[:2] == hashes(before, Section.REFLECTIONS)
    assert shared_pieces(before.prefix, after.prefix) == 5  # system, knowledge, guide, and both reflections


@given(log=LOGS, has_memory=st.booleans(), shape=FORMATS)
def test_within_an_epoch_everything_is_shared(log: tuple[Message, ...], has_memory: bool, shape: Format) -> None:
    taken = BASE if has_memory else {}
    grown = [compile_context(snapshot(log[:count], **taken), ask(shape)) for count in range(1, len(log) + 1)]
    for before, after in pairwise(grown):
        found = compared(after.cache, before.prefix, after.prefix, {})
        assert (found.shared_with_previous_tokens, found.break_reason) == (before.cache.stable_tokens, None)


@given(
    logs=st.tuples(LOGS, LOGS),
    numbers=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    budgets=st.tuples(st.integers(1, 300), st.integers(1, 300)),
    shape=FORMATS,
)
def test_nothing_is_told_broken_but_what_is(
    logs: tuple[Any, Any], numbers: tuple[int, int], budgets: tuple[int, int], shape: Format
) -> None:
    """Of any two contexts: no reason means that the units of the first begin those of the second."""
    before, after = (
        compile_context(snapshot(log, observations=MORE[:number]), ask(shape, message_budget=budget))
        for log, number, budget in zip(logs, numbers, budgets, strict=True)
    )
    if break_reason(before.prefix, after.prefix, {}) is None:
        assert after.units[: len(before.units)] == before.units


def test_a_prefix_of_nothing_is_begun_by_anything() -> None:
    empty: Prefix = compile_context(snapshot(version=0), ask()).prefix
    assert break_reason(empty, compiled().prefix, {}) is None
    assert reason(compile_context(snapshot((message(1, Role.USER, text("Hi")),)), ask())) == "system"
