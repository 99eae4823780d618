"""What ``explain`` tells: every piece of a context, and what each stage did with it."""

from dataclasses import asdict, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from app.context.compile import STAGES, compile_context
from app.context.model import Compiled, Decision, Format, Knowledge, Verdict
from app.memory.changing.summary import with_heading
from app.sessions.counting import message_tokens
from app.sessions.model import Kind, Message
from tests.context.building import (
    LOGS,
    ask,
    assistant,
    call,
    log_of,
    observation,
    reflection,
    result,
    snapshot,
    tool,
    user,
)
from tests.steps import steps

MEMORY: dict[str, Any] = {
    "reflections": (reflection(1, "Likes tea."), reflection(5, "Lives abroad.", level=2), reflection(9, "Has a cat.")),
    "observations": (observation(2, "Moved to Lisbon."), observation(3, "Works at a bank.")),
}


def explained(log: tuple[Message, ...], *, taken: dict[str, Any] | None = None, **asked: Any) -> Compiled:
    return compile_context(snapshot(log, **(taken or {})), ask(Format.NEUTRAL, explain=True, **asked))


def decisions(context: Compiled) -> dict[str, Decision]:
    """By id, the last word on each item."""
    assert context.decisions is not None
    return {decision.id: decision for decision in context.decisions}


def verdicts(context: Compiled) -> list[tuple[str, str, Verdict]]:
    assert context.decisions is not None
    return [(decision.id, decision.stage, decision.verdict) for decision in context.decisions]


def test_segments_name_every_piece_in_its_order() -> None:
    asked = {"message_budget": 400, "max_reflections": 2, "system": ("You help.",)}
    context = explained(log_of(*(user("word " * 50) for _ in range(20))), taken=MEMORY, **asked)
    assert context.segments is not None
    assert [
        (segment.id, segment.breakpoint) for segment in context.segments if not segment.id.startswith("message")
    ] == [
        ("system:0", True),
        ("guide", False),
        ("reflection:5", False),
        ("reflection:9", True),
        ("observation:2", False),
        ("observation:3", True),
        ("continuation", False),
        ("volatile", False),
    ]
    assert context.segments[-2].breakpoint  # the end of the tail
    assert set(asdict(context.segments[0])) == {
        "id", "section", "role", "stability", "tokens", "sha256", "breakpoint"
    }  # fmt: skip


def test_every_item_is_told_with_the_stage_that_decided() -> None:
    taken = {**MEMORY, "current_task": "Plan the move"}
    knowledge = (Knowledge(title="Prices", text="2 euros"), Knowledge(title="News", text="Rain", placement="tail"))
    context = explained(
        log_of(user("Hi")), taken=taken, system=("You help.", " "), knowledge=knowledge, max_reflections=2
    )
    kept, dropped = Verdict.KEPT, Verdict.DROPPED
    assert verdicts(context) == [
        ("system:0", "template", kept),
        ("knowledge:0", "knowledge", kept),
        ("guide", "continuation", kept),
        ("continuation", "continuation", kept),
        ("today", "volatile", kept),
        ("current_task", "volatile", kept),
        ("knowledge:1", "volatile", kept),
        ("reflection:5", "budget", kept),
        ("reflection:1", "budget", dropped),
        ("reflection:9", "budget", kept),
        ("observation:2", "budget", kept),
        ("observation:3", "budget", kept),
        ("message:1", "budget", kept),
    ]
    assert decisions(context)["reflection:1"].reason == "over the number of reflections"
    assert {stage for _, stage, _ in verdicts(context)} <= {stage.__name__ for stage in STAGES}


def test_what_goes_with_the_notes_is_told_too() -> None:
    context = explained(log_of(user("Hi")), taken=MEMORY, memory_budget=1)
    dropped = [decision for decision in decisions(context).values() if decision.verdict is Verdict.DROPPED]
    assert [(each.id, each.reason) for each in dropped if each.returns_with_tokens is None] == [
        ("guide", "no notes are shown"),
        ("continuation", "no notes are shown"),
        ("today", "no notes are shown"),
    ]


def test_where_the_assistant_spoke_last_the_volatile_part_has_no_place() -> None:
    context = explained(log_of(user("Hi"), assistant("Hello")), channel="sms")
    dropped = [(each.id, each.verdict) for each in decisions(context).values() if each.stage == "volatile"]
    assert dropped == [("today", Verdict.DROPPED), ("channel", Verdict.DROPPED)]


def test_a_cut_message_comes_back_whole_with_the_tokens_told() -> None:
    log = log_of(user("word " * 900))
    found = decisions(explained(log, message_budget=100))["message:1"]
    assert found.verdict is Verdict.CUT
    assert found.returns_with_tokens == log[0].tokens - 100
    assert decisions(explained(log, message_budget=log[0].tokens))["message:1"].verdict is Verdict.KEPT


def test_messages_that_were_not_even_read_are_one_item() -> None:
    log = log_of(*(user(f"turn {n} " + "word " * 20) for n in range(100)))
    head, read = log[:70], log[70:]
    skipped = sum(stored.tokens for stored in head)
    taken = {"tail_from_seq": 1, "tail_skipped_tokens": skipped}
    found = decisions(explained(read, taken=taken, message_budget=300))["messages:1-70"]
    assert (found.verdict, found.tokens) == (Verdict.DROPPED, skipped)
    assert found.returns_with_tokens == sum(stored.tokens for stored in log) - 300


@given(
    sizes=st.lists(st.tuples(st.booleans(), st.integers(1, 30)), min_size=1, max_size=12),
    memory_budget=st.integers(1, 600),
    max_reflections=st.sampled_from([None, 1, 2]),
)
def test_a_note_returns_with_the_tokens_told_and_not_with_one_less(
    sizes: list[tuple[bool, int]], memory_budget: int, max_reflections: int | None
) -> None:
    notes = [(number, is_note, ["A line."] * lines) for number, (is_note, lines) in enumerate(sizes, start=1)]
    taken = {
        "reflections": tuple(reflection(number, *lines) for number, is_note, lines in notes if not is_note),
        "observations": tuple(observation(number, *lines) for number, is_note, lines in notes if is_note),
    }
    log = log_of(user("Hi"))

    def verdict(id_: str, budget: int) -> Verdict:
        context = explained(log, taken=taken, memory_budget=budget, max_reflections=max_reflections)
        return decisions(context)[id_].verdict

    first = explained(log, taken=taken, memory_budget=memory_budget, max_reflections=max_reflections)
    for found in decisions(first).values():
        if found.id.startswith(("reflection", "observation")) and found.returns_with_tokens:
            assert found.verdict is Verdict.DROPPED
            assert verdict(found.id, memory_budget + found.returns_with_tokens) is Verdict.KEPT
            assert verdict(found.id, memory_budget + found.returns_with_tokens - 1) is Verdict.DROPPED


@given(log=LOGS, budget=st.integers(1, 400), summary=st.none() | st.integers(0, 200))
def test_a_message_returns_with_the_tokens_told(log: tuple[Message, ...], budget: int, summary: int | None) -> None:
    taken = {} if summary is None else {"summary": summary_of(summary, seq=len(log) + 1)}
    for found in decisions(explained(log, taken=taken, message_budget=budget)).values():
        if found.returns_with_tokens:
            enough = budget + found.returns_with_tokens
            more = decisions(explained(log, taken=taken, message_budget=enough))[found.id]
            assert more.verdict is not Verdict.DROPPED
            if found.verdict is Verdict.CUT:
                less = decisions(explained(log, taken=taken, message_budget=enough - 1))[found.id]
                assert (less.verdict, more.verdict) == (Verdict.CUT, Verdict.KEPT)


def summary_of(words: int, *, seq: int) -> Message:
    """A stored summary, whose tokens are counted with the heading that it is shown with."""
    stored = log_of(user("so " * words))[0]
    parts = with_heading(replace(stored, up_to_seq=1)).parts
    return replace(stored, seq=seq, kind=Kind.SUMMARY, up_to_seq=1, tokens=message_tokens(parts))


def test_a_summary_has_half_of_the_budget_and_is_told_of_like_a_message() -> None:
    log, summary = log_of(user("Hi")), summary_of(300, seq=2)
    for budget, verdict in ((100, Verdict.CUT), (2 * summary.tokens - 1, Verdict.CUT), (1_000, Verdict.KEPT)):
        found = decisions(explained(log, taken={"summary": summary}, message_budget=budget))["message:2"]
        assert found.verdict is verdict
        assert found.returns_with_tokens == (2 * summary.tokens - budget if verdict is Verdict.CUT else None)


def test_a_short_message_of_a_group_that_was_cut_returns_before_a_long_one() -> None:
    log = log_of(assistant(call("c1"), call("c2")), tool(result("c1", "y " * 50)), tool(result("c2", "z " * 900)))
    found = decisions(explained(log, message_budget=60))
    short, long = (found[f"message:{seq}"].returns_with_tokens or 0 for seq in (2, 3))
    assert 0 < short < long


def test_a_group_left_out_returns_as_a_whole() -> None:
    log = log_of(user("Go"), assistant(call("c1")), tool(result("c1", "y " * 50)), user("word " * 80))
    found = decisions(explained(log, message_budget=110))
    assert found["message:2"].returns_with_tokens == found["message:3"].returns_with_tokens


def test_an_incoming_message_has_one_id_wherever_it_is_told_of() -> None:
    asked = log_of(user("Hi"), assistant("Hello"), user("word " * 50), assistant("Yes?"), user("And?"))
    context = explained(asked[:1], incoming=asked[1:], message_budget=40)
    assert context.segments is not None
    shown = [segment.id for segment in context.segments if segment.section == "messages"]
    told = [each.id for each in decisions(context).values() if each.stage == "budget"]
    assert shown == ["incoming:2", "incoming:3"]
    assert told == ["message:1", "incoming:0", "incoming:1", "incoming:2", "incoming:3", "left_out"]


def test_nothing_is_explained_unasked() -> None:
    context = compile_context(snapshot(log_of(user("Hi"))), ask())
    assert context.segments is None
    assert context.decisions is None


def test_ten_times_the_notes_take_no_hundred_times_as_much_to_explain() -> None:
    def work(notes: int) -> int:
        taken = {"observations": tuple(observation(number, "A cat slept here.") for number in range(notes))}
        context = explained(log_of(user("Hi")), taken=taken, memory_budget=100)
        assert sum(each.returns_with_tokens is not None for each in decisions(context).values()) > notes * 0.9
        return steps(lambda: explained(log_of(user("Hi")), taken=taken, memory_budget=100))

    assert work(1_000) < 20 * work(100)  # where each was decided with all others it took 100 times as much


def test_a_number_of_entries_is_no_matter_of_tokens() -> None:
    taken = {"observations": (observation(1, "A cat."), observation(2, "A line of many words about the cat."))}
    found = decisions(explained(log_of(user("Hi")), taken=taken, max_observations=1))["observation:1"]
    assert (found.reason, found.returns_with_tokens) == ("over the number of observations", None)
