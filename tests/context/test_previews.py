"""Which large parts are shown as previews, and what a preview is."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.context.compile import compile_context
from app.context.model import Compiled, ContextLimits, Format, Verdict
from app.context.stages.previews import END_CHARS, HEAD_CHARS, previewed_seqs, with_previews
from app.sessions.counting import message_tokens
from app.sessions.model import Kind, Message, Role
from tests.context.building import (
    ask,
    assistant,
    call,
    log_of,
    message,
    observation,
    result,
    snapshot,
    system,
    text,
    tool,
    user,
)
from tests.context.shapes import check_anthropic, check_openai, flat

BIG = "first line: é\n" + "word " * 3_000 + "\nlast line"
LIMIT = 10_000


def tool_turns(count: int, output: Any = BIG) -> list[Any]:
    """So many calls, each with its result: the results are at the even seqs."""
    return [said for n in range(count) for said in (assistant(call(f"c{n}")), tool(result(f"c{n}", output)))]


def previewed(
    log: tuple[Message, ...], *, at: int | None = None, observed: int | None = None, keep: int = 6
) -> set[int]:
    activated = len(log) if at is None else at
    observed_seq = activated if observed is None else observed
    return set(previewed_seqs(log, activated_seq=activated, observed_seq=observed_seq, keep_results=keep))


# Which


@pytest.mark.parametrize(("keep", "seqs"), [(6, {2, 4}), (1, {2, 4, 6, 8, 10, 12, 14}), (8, set()), (100, set())])
def test_all_tool_results_but_the_last_few_are_previews(keep: int, seqs: set[int]) -> None:
    log = log_of(*tool_turns(8))
    assert previewed(log, keep=keep) - {1, 3, 5, 7, 9, 11, 13} == seqs
    assert previewed(log, keep=keep, observed=0) == seqs


def test_results_are_counted_by_themselves_and_not_by_messages() -> None:
    pair = [assistant(call("a"), call("b")), tool(result("a"), result("b"))]
    log = log_of(*pair, *pair, *pair, user("Thanks"))
    assert {seq for seq in previewed(log, keep=3) if seq % 2 == 0} == {2}
    assert {seq for seq in previewed(log, keep=2) if seq % 2 == 0} == {2, 4}


def test_other_messages_are_previews_once_they_are_observed() -> None:
    log = log_of(user(BIG), assistant("Yes"), user("Go on"))
    assert previewed(log, observed=2) == {1, 2}
    assert previewed(log, observed=0) == set()


def test_the_newest_group_at_the_activation_is_shown_in_full_although_it_is_observed() -> None:
    assert previewed(log_of(user("Hi"), user(BIG))) == {1}
    assert previewed(log_of(user("Hi"), *tool_turns(1)), keep=0) == {1}


def test_what_came_after_the_activation_is_shown_in_full() -> None:
    log = log_of(user(BIG), *tool_turns(9))
    assert previewed(log, at=0) == set()
    assert previewed(log, at=2) == {1}


def test_instructions_and_summaries_are_never_previews() -> None:
    log = log_of(system(BIG), user(BIG), user("Hi"))
    summary = replace(log[1], kind=Kind.SUMMARY)
    assert previewed((log[0], summary, log[2])) == set()


# What


def shown(part: dict[str, Any], seq: int = 12) -> Message:
    return with_previews(message(seq, Role.USER, text("Look:"), part), key="s1", bytes_max=LIMIT)


@pytest.mark.parametrize(
    "part", [text(BIG), result("c1", BIG, is_error=True), {"type": "file", "content": BIG, "name": "a"}]
)
def test_a_preview_has_the_handle_the_size_the_type_the_head_and_the_end(part: dict[str, Any]) -> None:
    before, after = shown(part).parts
    field = {"text": "text", "tool_result": "output", "file": "content"}[part["type"]]
    said = after.pop(field)
    assert (before, after) == (text("Look:"), {name: value for name, value in part.items() if name != field})
    assert said.startswith(
        f"[artifact://s1/message:12:1?version=1 text/plain, {len(BIG.encode())} bytes; its beginning and end:]\nfirst"
    )
    assert said.endswith("\nlast line")
    assert f"[... {len(BIG) - HEAD_CHARS - END_CHARS} characters ...]" in said


def test_an_output_that_is_json_is_shown_as_its_text() -> None:
    said = shown(result("c1", {"rows": [BIG]})).parts[1]["output"]
    assert "application/json" in said
    assert '{"rows":["first line' in said


@pytest.mark.parametrize(
    "part",
    [
        text("a" * LIMIT),
        call("c1", {"code": BIG}),
        {"type": "image", "data": "a" * 20_000},
        {"type": "file", "data": "a" * 20_000},
        {"type": "reasoning", "text": BIG},
    ],
)
def test_what_is_small_or_no_text_stays_as_it_is(part: dict[str, Any]) -> None:
    assert shown(part).parts[1] is part
    beside = with_previews(message(12, Role.USER, text(BIG), part), key="s1", bytes_max=LIMIT)
    assert beside.parts[0] != text(BIG)
    assert beside.parts[1] is part


@pytest.mark.parametrize("part", [text("Hi"), text(BIG) | {"tokens": 5}])
def test_a_message_that_a_preview_would_not_make_smaller_stays_as_it_is(part: dict[str, Any]) -> None:
    whole = message(12, Role.USER, part)
    assert with_previews(whole, key="s1", bytes_max=LIMIT) is whole


def test_a_preview_counts_as_what_it_is() -> None:
    after = shown({**text(BIG), "tokens": 5_000})
    assert after.tokens == message_tokens(after.parts) < 800


# In a context


def after_each(log: tuple[Message, ...], shape: Format, activations: dict[int, int], **fields: Any) -> list[Compiled]:
    """The context after each message; an activation at a seq observes up to another, in a version of its own."""
    compiled, version, activated, observed = [], 0, 0, 0
    for seq in range(1, len(log) + 1):
        if seq in activations:
            version, activated, observed = version + 1, seq, max(observed, min(activations[seq], seq))
        taken = snapshot(
            log[:seq],
            version=version,
            activated_seq=activated,
            observed_seq=observed,
            observations=(observation(1, "A line."),),
            **fields,
        )
        compiled.append(compile_context(taken, ask(shape, limits=ContextLimits(part_bytes_inline_max=1_600))))
    return compiled


BIG_TEXTS = st.sampled_from(["short", "b" * 1_601, "words " * 600, "é" * 1_700])
TURNS = st.one_of(
    st.builds(lambda said: [user(said)], BIG_TEXTS),
    st.builds(lambda said: [assistant(said)], BIG_TEXTS),
    st.builds(lambda said: [assistant(call("c")), tool(result("c", said))], BIG_TEXTS),
    st.builds(
        lambda one, two: [assistant(call("a"), call("b")), tool(result("b", two)), tool(result("a", one))],
        BIG_TEXTS,
        BIG_TEXTS,
    ),
)
BIG_LOGS = st.lists(TURNS, min_size=1, max_size=8).map(lambda turns: log_of(*(said for turn in turns for said in turn)))
ACTIVATIONS = st.dictionaries(st.integers(1, 20), st.integers(0, 20), max_size=3)


@given(log=BIG_LOGS, activations=ACTIVATIONS, shape=st.sampled_from(list(Format)), keep=st.integers(0, 3))
def test_between_activations_every_context_begins_the_next_one(
    log: tuple[Message, ...], activations: dict[int, int], shape: Format, keep: int
) -> None:
    for before, after in pairwise(after_each(log, shape, activations, rules={"keep_last_tool_results": keep})):
        if before.cache.epoch == after.cache.epoch:
            assert after.units[: len(before.units)] == before.units


@given(log=BIG_LOGS, activations=ACTIVATIONS, budget=st.integers(600, 4_000))
def test_the_prefix_holds_and_the_budget_too_while_the_start_of_the_tail_moves(
    log: tuple[Message, ...], activations: dict[int, int], budget: int
) -> None:
    rules = {"keep_last_tool_results": 1, "message_budget": budget}
    found = after_each(log, Format.NEUTRAL, activations, rules=rules)
    for before, after in pairwise(found):
        assert after.tokens["messages"] <= budget
        if before.cache.epoch == after.cache.epoch:
            assert after.units[: len(before.units)] == before.units


@given(log=BIG_LOGS, activations=ACTIVATIONS, shape=st.sampled_from([Format.ANTHROPIC, Format.OPENAI]))
def test_previews_keep_every_payload_valid(
    log: tuple[Message, ...], activations: dict[int, int], shape: Format
) -> None:
    check = {Format.ANTHROPIC: check_anthropic, Format.OPENAI: check_openai}[shape]
    for compiled in after_each(log, shape, activations, rules={"keep_last_tool_results": 0}):
        check(compiled.payload)


def test_the_newest_message_is_never_a_preview() -> None:
    log = log_of(user("Hi"), user(BIG))
    newest = compile_context(snapshot(log, activated_seq=2, observed_seq=2), ask()).payload["messages"][-1]
    assert newest["content"][0]["text"] == BIG


@pytest.mark.parametrize(("enabled", "count"), [(True, 1), (False, 0)])
def test_without_a_memory_everything_is_shown_in_full(enabled: bool, count: int) -> None:
    log = log_of(user(BIG), user("Hi"))
    taken = snapshot(log, activated_seq=2, observed_seq=2, rules={"enabled": enabled})
    assert str(compile_context(taken, ask()).payload).count("artifact://") == count


def test_explain_tells_of_each_message_that_is_shown_as_a_preview() -> None:
    log = log_of(user(BIG), user("Hi"))
    compiled = compile_context(snapshot(log, activated_seq=2, observed_seq=1), ask(explain=True))
    assert compiled.decisions is not None
    [cut] = [decision for decision in compiled.decisions if decision.stage == "previews"]
    assert (cut.id, cut.verdict) == ("message:1", Verdict.CUT)
    assert cut.tokens == compiled.segments[0].tokens if compiled.segments else False
    assert flat(compiled.payload, Format.NEUTRAL)
