"""The laws of architecture.md section 5 that a compiled context keeps, over random logs."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.context.cache import break_reason
from app.context.compile import compile_context
from app.context.model import Compiled, Format, Section
from app.context.rendering.parts import visible
from app.sessions.model import Kind, Message, Role
from tests.context.building import (
    FORMATS,
    LOGS,
    START,
    ask,
    assistant,
    call,
    log_of,
    message,
    observation,
    reflection,
    result,
    snapshot,
    text,
    tool,
    user,
)
from tests.context.shapes import CHECKS, check_openai, count_marks, flat

MEMORY = {"reflections": (reflection(1, "Old."),), "observations": (observation(2, "User moved."),)}


def growing(log: tuple[Message, ...], shape: Format, **fields: Any) -> list[Compiled]:
    """The context after each message of the log."""
    return [compile_context(snapshot(log[:count], **fields), ask(shape)) for count in range(1, len(log) + 1)]


@given(log=LOGS, has_memory=st.booleans(), shape=st.sampled_from(list(CHECKS)))
def test_every_payload_is_what_its_provider_demands(log: tuple[Message, ...], has_memory: bool, shape: Format) -> None:
    compiled = compile_context(snapshot(log, **(MEMORY if has_memory else {})), ask(shape, system=("You help.",)))
    CHECKS[shape](compiled.payload)


@given(log=LOGS, incoming=LOGS, shape=st.sampled_from(list(CHECKS)))
def test_incoming_messages_keep_the_payload_valid(
    log: tuple[Message, ...], incoming: tuple[Message, ...], shape: Format
) -> None:
    asked = ask(shape, incoming=incoming, state={"temp:page": "billing"})
    CHECKS[shape](compile_context(snapshot(log, **MEMORY), asked).payload)


@given(log=LOGS, has_memory=st.booleans(), shape=FORMATS)
def test_within_an_epoch_the_units_of_each_context_begin_the_next_one(
    log: tuple[Message, ...],
    has_memory: bool,
    shape: Format,
) -> None:
    for before, after in pairwise(growing(log, shape, **(MEMORY if has_memory else {}))):
        assert after.units[: len(before.units)] == before.units


@given(log=LOGS, shape=FORMATS)
def test_within_an_epoch_each_payload_begins_the_next_one(log: tuple[Message, ...], shape: Format) -> None:
    """Told on the payloads themselves; with no memory and no input of the caller nothing in them is volatile.

    But behind a blank message the calls before it have stand-ins for their results.
    """
    contexts = zip(log, growing(log, shape), strict=True)
    for before, after in pairwise(compiled for newest, compiled in contexts if any(map(visible, newest.parts))):
        start = flat(before.payload, shape)
        assert flat(after.payload, shape)[: len(start)] == start


@given(log=LOGS, shape=FORMATS, sizes=st.lists(st.integers(4, 900), min_size=14, max_size=14))
def test_the_prefix_holds_within_an_epoch_while_the_start_of_the_tail_moves(
    log: tuple[Message, ...], shape: Format, sizes: list[int]
) -> None:
    sized = tuple(message(m.seq, m.role, *m.parts, tokens=size) for m, size in zip(log, sizes, strict=False))
    for before, after in pairwise(growing(sized, shape, rules={"message_budget": 1_000})):
        if before.cache.epoch == after.cache.epoch:
            assert after.units[: len(before.units)] == before.units


@pytest.mark.parametrize("shape", list(Format))
def test_incoming_messages_that_take_the_place_of_all_stored_ones_begin_an_epoch(shape: Format) -> None:
    log = log_of(user("word " * 100), assistant("word " * 100), user("word " * 200))
    asked = ask(shape, message_budget=300)
    before = compile_context(snapshot(log[:2]), asked)
    after = compile_context(snapshot(log[:2]), replace(asked, incoming=log[2:3]))
    stored = compile_context(snapshot(log[:3]), asked)
    assert after.first_seq is None
    assert before.cache.epoch != after.cache.epoch
    assert break_reason(before.prefix, after.prefix, {}) == "budget_step"
    assert stored.units[: len(after.units)] == after.units


@given(log=LOGS, incoming=LOGS, shape=FORMATS)
def test_incoming_messages_are_no_part_of_the_prefix(
    log: tuple[Message, ...], incoming: tuple[Message, ...], shape: Format
) -> None:
    without, shown = (compile_context(snapshot(log, **MEMORY), ask(shape, incoming=more)) for more in ((), incoming))
    assert shown.units == without.units
    assert shown.cache.prefix_sha256 == without.cache.prefix_sha256
    assert shown.cache.stable_tokens == without.cache.stable_tokens


@given(
    sizes=st.lists(st.integers(0, 400), min_size=1, max_size=30),
    budget=st.integers(200, 3_000),
    memory_budget=st.integers(0, 400),
)
def test_no_section_is_over_its_budget_and_the_newest_message_is_there(
    sizes: list[int], budget: int, memory_budget: int
) -> None:
    log = log_of(*(user("word " * size) for size in sizes))
    observations = tuple(observation(n, *["A line of the log."] * (n % 4)) for n in range(1, 9))
    taken = snapshot(
        log, observations=observations, reflections=(reflection(1, "Old."), reflection(2, "Older.", level=2))
    )
    compiled = compile_context(taken, ask(message_budget=budget, memory_budget=memory_budget))
    assert compiled.tokens[Section.MESSAGES] <= budget
    if memory_budget:
        assert compiled.tokens[Section.REFLECTIONS] + compiled.tokens[Section.OBSERVATIONS] <= memory_budget
    newest = compiled.payload["messages"][-1]["content"][0]["text"]
    assert newest[:50] == log[-1].parts[0]["text"][:50]


@given(log=LOGS, shape=FORMATS)
def test_segments_and_sections_sum_to_the_total(log: tuple[Message, ...], shape: Format) -> None:
    compiled = compile_context(snapshot(log, **MEMORY), ask(shape, explain=True, system=("You help.",), channel="sms"))
    assert compiled.segments is not None
    assert sum(segment.tokens for segment in compiled.segments) == compiled.tokens["total"]
    assert sum(compiled.tokens[section] for section in Section) == compiled.tokens["total"]
    assert compiled.cache.stable_tokens == compiled.tokens["total"] - compiled.tokens[Section.VOLATILE]


@given(log=LOGS, shape=FORMATS)
def test_compiling_changes_no_stored_message_and_is_repeatable(log: tuple[Message, ...], shape: Format) -> None:
    copies = [[dict(part) for part in stored.parts] for stored in log]
    first, second = (compile_context(snapshot(log, **MEMORY), ask(shape, channel="sms")) for _ in range(2))
    assert first == second
    assert [list(stored.parts) for stored in log] == copies


@pytest.mark.parametrize("shape", [Format.ANTHROPIC, Format.OPENAI, Format.OPENAI_RESPONSES])
def test_four_breakpoints_at_most_one_at_the_end_of_each_stable_part(shape: Format) -> None:
    compiled = compile_context(snapshot(log_of(user("Hi")), **MEMORY), ask(shape, system=("You help.",)))
    assert count_marks(compiled.payload) == 4


def test_a_tool_loop_keeps_its_pairs_whatever_the_budget() -> None:
    loop = [
        user("Go"),
        *(turn for n in range(30) for turn in (assistant(call(f"c{n}")), tool(result(f"c{n}", "y " * 50)))),
    ]
    log = log_of(*loop)
    for budget in range(120, 2_000, 40):
        observed = snapshot(log, observed_seq=len(log))
        payload = compile_context(observed, ask(Format.OPENAI, message_budget=budget)).payload
        check_openai(payload)
        assert "[result of tool call" not in str(payload)
        assert payload["messages"][-1]["tool_call_id"] == "c29"


def test_the_start_of_the_tail_stands_still_for_many_turns() -> None:
    log = log_of(*(user(f"turn {n} " + "word " * 20) for n in range(200)))
    epochs = [compiled.cache.epoch for compiled in growing(log, Format.NEUTRAL, rules={"message_budget": 1_000})]
    assert 4 < len(set(epochs)) < len(log) / 5


def test_the_tail_is_the_same_whether_it_was_read_whole_or_from_near_its_start() -> None:
    log = log_of(*(user(f"turn {n} " + "word " * 20) for n in range(100)))
    whole = compile_context(snapshot(log), ask(message_budget=1_000))
    first = int(whole.cache.epoch.rpartition(":")[2])
    head, read = log[: first - 1], log[first - 1 :]
    taken = snapshot(
        read,
        tail_from_seq=1,
        observed_seq=0,
        tail_skipped_tokens=sum(stored.tokens for stored in head),
        unobserved_omitted=len(head),
    )
    assert compile_context(taken, ask(message_budget=1_000)) == whole


@pytest.mark.parametrize("shape", list(Format))
def test_storing_what_was_incoming_moves_nothing(shape: Format) -> None:
    log = log_of(*(user(f"turn {n} " + "word " * 20) for n in range(60)))
    for count in range(1, len(log)):
        asked = ask(shape, message_budget=700, incoming=log[count : count + 1])
        before = compile_context(snapshot(log[:count]), asked)
        after = compile_context(snapshot(log[: count + 1]), ask(shape, message_budget=700))
        assert flat(before.payload, shape) == flat(after.payload, shape)


@pytest.mark.parametrize("shape", list(CHECKS))
def test_the_volatile_part_closes_a_call_that_a_blank_message_left_open(shape: Format) -> None:
    log = log_of(user("Go"), assistant(call("c1")), user(" "))
    compiled = compile_context(snapshot(log), ask(shape, channel="sms"))
    CHECKS[shape](compiled.payload)
    assert "(no result)" in str(compiled.payload)


@pytest.mark.parametrize("shape", list(CHECKS))
@pytest.mark.parametrize("stored", [True, False])
def test_a_call_before_a_blank_newest_message_has_a_result_without_memory_too(shape: Format, *, stored: bool) -> None:
    said, blank = log_of(user("Go"), assistant(call("c1"))), message(3, Role.USER, text(" "))
    taken, asked = (snapshot((*said, blank)), ask(shape)) if stored else (snapshot(said), ask(shape, incoming=(blank,)))
    compiled = compile_context(taken, asked)
    CHECKS[shape](compiled.payload)
    assert str(compiled.payload).count("(no result)") == 1
    assert compiled.units == compile_context(snapshot(said), ask(shape)).units


@pytest.mark.parametrize("shape", list(CHECKS))
@pytest.mark.parametrize("role", [Role.TOOL, Role.USER])
def test_calls_whose_results_were_erased_together_are_closed_though_nothing_follows(shape: Format, role: Role) -> None:
    said = log_of(user("Go"), assistant(call("c1"), call("c2")))
    erased = replace(message(3, role), kind=Kind.TOOL_RESULT, erased_at=START)
    compiled = compile_context(snapshot((*said, erased)), ask(shape))
    CHECKS[shape](compiled.payload)
    assert str(compiled.payload).count("(no result)") == 2
    assert compiled.units == compile_context(snapshot(said), ask(shape)).units


def test_a_message_without_words_leaves_the_others_valid() -> None:
    log = (message(1, Role.USER, text(" ")), message(2, Role.ASSISTANT), message(3, Role.USER, text("Hi")))
    payload = compile_context(snapshot(log), ask(Format.ANTHROPIC)).payload
    assert [part["text"] for part in payload["messages"][0]["content"]] == ["Hi"]


# What a part may hold beside its neutral fields: anything, under any name that a rendering looks at.
FIELDS = st.sampled_from(
    ["provider", "native", "item_id", "phase", "detail", "summary", "content", "annotations", "encrypted_content",
     "thoughtSignature", "videoMetadata", "inlineData", "functionResponse", "signature", "status", "file_id", "error",
     "id", "tool_call_id"]
)  # fmt: skip
ANYTHING = st.sampled_from(
    [None, True, 5, "x", [], ["x"], {}, {"type": "x"}, {"type": ["x"]}, "anthropic", "gemini",
     "openai-responses", "reasoning", "server_tool_use", "web_search_tool_result", "code_interpreter_call",
     "image_generation_call", "mcp_call", "executableCode", "codeExecutionResult", "custom_tool_call", "msg_1", "c2ln"]
)  # fmt: skip
EXTRAS = st.dictionaries(FIELDS, ANYTHING, max_size=4)


@given(log=LOGS, extras=st.lists(EXTRAS, min_size=1, max_size=4), shape=FORMATS)
def test_whatever_a_part_holds_the_context_is_compiled_and_extended(
    log: tuple[Message, ...], extras: list[dict[str, Any]], shape: Format
) -> None:
    odd = tuple(
        replace(stored, parts=tuple({**extras[(seq + n) % len(extras)], **part} for n, part in enumerate(stored.parts)))
        for seq, stored in enumerate(log)
    )
    for before, after in pairwise(growing(odd, shape)):
        assert after.units[: len(before.units)] == before.units
