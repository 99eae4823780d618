from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.context.model import Turn
from app.context.rendering.pairing import Pairing
from app.memory.spans import _pair, ended_at, group_start, groups, readable, safe_span
from app.sessions.model import Kind, Message, Part, Role
from app.sessions.wire import normalise

ROLES = {
    Kind.USER: Role.USER,
    Kind.ASSISTANT: Role.ASSISTANT,
    Kind.TOOL_CALL: Role.ASSISTANT,
    Kind.TOOL_RESULT: Role.TOOL,
    Kind.SYSTEM: Role.SYSTEM,
    Kind.BOUNDARY: Role.SYSTEM,
}


def log(written: str) -> list[Message]:
    """Messages of 10 tokens each from words: ``u`` user, ``a`` assistant, ``s`` system, ``b`` boundary (both skipped),
    ``c1`` a call, ``c1,2`` two calls, ``r1`` a result; a following ``-`` skips the message."""
    return [message(seq, word) for seq, word in enumerate(written.split(), start=1)]


def message(seq: int, word: str) -> Message:
    letter, ids = word[0], [number for number in word[1:].rstrip("-").split(",") if number]
    kinds = {"u": Kind.USER, "a": Kind.ASSISTANT, "s": Kind.SYSTEM, "b": Kind.BOUNDARY}
    kind = kinds.get(letter) or (Kind.TOOL_CALL if letter == "c" else Kind.TOOL_RESULT)
    parts: list[Part] = [{"type": "text", "text": word}]
    if letter == "c":
        parts = [{"type": "tool_call", "id": number, "name": "f", "arguments": {}} for number in ids]
    elif letter == "r":
        parts = [{"type": "tool_result", "tool_call_id": number, "output": "done"} for number in ids]
    return Message(
        seq=seq,
        id=f"m-{seq}",
        kind=kind,
        role=ROLES[kind],
        parts=tuple(parts),
        tokens=10,
        created_at=datetime(2026, 8, 1, tzinfo=UTC),
        observe=kind not in {Kind.SYSTEM, Kind.BOUNDARY} and not word.endswith("-"),
    )


def cut(messages: Sequence[Message], *, force_closed: bool = False) -> list[str]:
    """The groups as ``1-3``, an open one with ``...``."""
    return [
        f"{group.messages[0].seq}-{group.messages[-1].seq}" + ("..." if group.open else "")
        for group in groups(messages, force_closed=force_closed)
    ]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("", []),
        ("u a", ["1-1", "2-2"]),
        ("u c1 r1 a", ["1-1", "2-3", "4-4"]),
        ("c1,2 r2 r1 u", ["1-3", "4-4"]),
        ("c1,2 r1,2", ["1-2"]),
        ("c1 a s r1 u", ["1-4", "5-5"]),
        ("c1 c2 r1 r2", ["1-4"]),
        ("c1 c2 r2 r1 a", ["1-4", "5-5"]),
        ("u c1", ["1-1", "2-2..."]),
        ("u c1,2 r1 a", ["1-1", "2-4..."]),
        ("c1 u", ["1-1", "2-2"]),
        ("c1 b", ["1-1", "2-2"]),
        ("c1,2 r1 u r2", ["1-2", "3-3", "4-4"]),
        ("c1 u c1 r1", ["1-1", "2-2", "3-4"]),
        ("c1 c1 r1", ["1-1", "2-3"]),
        ("c1,1 r1 r1 a", ["1-3", "4-4"]),
        ("r1 u", ["1-1", "2-2"]),
    ],
)
def test_calls_and_their_results_are_one_group(written: str, expected: list[str]) -> None:
    assert cut(log(written)) == expected


def test_calls_without_an_id_are_paired_in_order() -> None:
    call: Part = {"type": "tool_call", "id": None, "name": "f", "arguments": {}}
    result: Part = {"type": "tool_result", "output": "done"}
    first, words, last = log("c1 a r1")

    assert cut([replace(first, parts=(call,)), words, replace(last, parts=(result,))]) == ["1-3"]


@pytest.mark.parametrize(("written", "expected"), [("u c1", ["1-1", "2-2"]), ("c1,2 r1 a", ["1-2", "3-3"])])
def test_nothing_is_open_once_calls_are_closed_by_force(written: str, expected: list[str]) -> None:
    assert cut(log(written), force_closed=True) == expected


@pytest.mark.parametrize(
    ("written", "want", "limit", "expected"),
    [
        pytest.param("", 10, None, None, id="nothing"),
        pytest.param("u a u a", 20, None, (2, 20), id="up to what is wanted"),
        pytest.param("u a u a", 29, None, (2, 20), id="never past what is wanted"),
        pytest.param("u a u a", 30, None, (3, 30), id="exactly what is wanted"),
        pytest.param("u a u", 0, None, (1, 10), id="at least one group"),
        pytest.param("c1 r1 a", 5, None, (2, 20), id="at least one whole group"),
        pytest.param("u c1 r1 a", 20, None, (1, 10), id="no half group"),
        pytest.param("u a u a", 40, 20, (2, 20), id="at most the limit"),
        pytest.param("c1 r1 a", 40, 15, (2, 20), id="one group beyond the limit"),
        pytest.param("u c1 a", 40, None, (1, 10), id="not past an open group"),
        pytest.param("c1 a", 40, None, None, id="only an open group"),
        pytest.param("u s u- a", 10, None, (3, 10), id="what is skipped after the last group"),
        pytest.param("u s u- a", 5, None, (3, 10), id="what is skipped after a group beyond what is wanted"),
        pytest.param("s u-", 40, None, None, id="only skipped"),
        pytest.param("s u- u", 0, None, (3, 10), id="skipped before a group"),
        pytest.param("s c1", 40, None, None, id="skipped before an open group"),
        pytest.param("u s c1", 40, None, (2, 10), id="skipped between a closed and an open group"),
        pytest.param("c1 s r1", 40, None, (3, 20), id="skipped inside a group"),
    ],
)
def test_a_span_is_the_oldest_whole_closed_groups(
    written: str, want: int, limit: int | None, expected: tuple[int, int] | None
) -> None:
    span = safe_span(log(written), want_tokens=want, limit_tokens=limit)

    assert (span and (span.to_seq, span.tokens)) == expected


@pytest.mark.parametrize(
    ("least", "limit", "expected"),
    [
        pytest.param(30, None, (3, 30), id="beyond what is wanted until it holds the least"),
        pytest.param(50, None, None, id="not with less"),
        pytest.param(30, 20, (2, 20), id="with less where the limit is"),
        pytest.param(50, 40, None, id="not with less where all is taken before the limit"),
    ],
)
def test_a_span_holds_the_least_but_no_more_than_its_limit(
    least: int, limit: int | None, expected: tuple[int, int] | None
) -> None:
    span = safe_span(log("u a u a"), want_tokens=20, limit_tokens=limit, least_tokens=least)

    assert (span and (span.to_seq, span.tokens)) == expected


@pytest.mark.parametrize(
    ("want", "limit", "least", "limited"),
    [
        pytest.param(40, 20, 0, True, id="more was wanted"),
        pytest.param(20, 20, 0, False, id="as much as was wanted"),
        pytest.param(20, 20, 30, True, id="less than the least"),
        pytest.param(60, 50, 0, False, id="no more is there"),
    ],
)
def test_a_span_is_limited_where_more_was_wanted_than_one_call_may_be_shown(
    want: int, limit: int, least: int, limited: bool
) -> None:
    span = safe_span(log("u a u a"), want_tokens=want, limit_tokens=limit, least_tokens=least)

    assert span is not None
    assert span.limited is limited


def test_a_limited_span_that_is_cut_at_a_boundary_is_limited_still() -> None:
    messages = log("u a u a")
    span = safe_span(messages, want_tokens=40, limit_tokens=30)
    cut = span and ended_at(span, messages, {2}, least_tokens=0)

    assert cut is not None
    assert (cut.to_seq, cut.limited) == (2, True)


@pytest.mark.parametrize(
    ("written", "limit", "expected"),
    [
        pytest.param("u", 5, None, id="one beyond the limit"),
        pytest.param("u a", 5, 2, id="with the next"),
        pytest.param("u a", 20, None, id="as much as the limit"),
        pytest.param("u a u", 20, 3, id="more than the limit"),
    ],
)
def test_so_much_is_read_that_a_span_is_known_to_be_limited(written: str, limit: int, expected: int | None) -> None:
    found = readable(log(written), limit_tokens=limit, full=False)

    assert (found and len(found)) == expected


def test_a_span_past_its_patience_takes_open_calls() -> None:
    span = safe_span(log("c1 a"), want_tokens=40, force_closed=True)

    assert span is not None
    assert span.to_seq == 2


def test_a_span_covers_what_it_does_not_skip() -> None:
    span = safe_span(log("s u u- a s s"), want_tokens=40)

    assert span is not None
    assert span.covers == ((2, 2), (4, 4))
    assert span.to_seq == 6
    assert [message.seq for message in span.messages] == [2, 4]


@pytest.mark.parametrize(("seq", "start"), [(1, 1), (2, 2), (3, 2), (4, 2), (5, 5), (9, 9)])
def test_a_seq_is_moved_to_the_start_of_its_group(seq: int, start: int) -> None:
    assert group_start(log("u c1 a r1 u"), seq) == start


def test_an_open_group_reaches_to_the_end_of_the_log() -> None:
    assert group_start(log("u c1 a a"), 4) == 2


WORDS = (
    "u",
    "a",
    "s",
    "b",
    "u-",
    "a-",
    *(f"{letter}{ids}" for letter in "cr" for ids in ("1", "2", "3", "1,2", "2,3")),
)
logs = st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join).map(log)


@given(logs, st.booleans())
def test_groups_partition_the_log_and_only_the_last_can_be_open(messages: list[Message], force_closed: bool) -> None:
    found = groups(messages, force_closed=force_closed)

    assert [message for group in found for message in group.messages] == messages
    assert not any(group.open for group in found[:-1])
    assert not (force_closed and found and found[-1].open)


@given(logs, st.integers(0, 200))
def test_a_span_parts_no_call_from_a_result_that_came_in_time(messages: list[Message], want: int) -> None:
    span = safe_span(messages, want_tokens=want)
    done = span.to_seq if span else 0
    pairs = [(messages[call].seq, messages[result].seq) for call, result in _pair(messages)[0]]

    assert not [pair for pair in pairs if pair[0] <= done < pair[1]]


@given(logs, logs, st.integers(0, 200))
def test_what_comes_later_never_reaches_into_a_span(messages: list[Message], more: list[Message], want: int) -> None:
    span = safe_span(messages, want_tokens=want)
    later = log(" ".join(_word(message) for message in [*messages, *more]))

    if span:
        assert group_start(later, span.to_seq + 1) == span.to_seq + 1


@given(logs, st.integers(0, 200), st.integers(0, 200))
def test_spans_one_after_the_other_cover_the_log_once(messages: list[Message], want: int, limit: int) -> None:
    left, seen = messages, list[int]()
    while span := safe_span(left, want_tokens=want, limit_tokens=limit, force_closed=True):
        assert span.to_seq >= left[0].seq
        seen += [seq for first, last in span.covers for seq in range(first, last + 1)]
        left = [message for message in left if message.seq > span.to_seq]

    assert seen == [message.seq for message in messages if message.observe][: len(seen)]
    assert not any(message.observe for message in left)


def _word(message: Message) -> str:
    part = message.parts[0]
    if part["type"] == "text":
        return str(part["text"])
    ids = ",".join(part.get("id") or part["tool_call_id"] for part in message.parts)
    return ("c" if part["type"] == "tool_call" else "r") + ids


@pytest.mark.parametrize(
    ("written", "ends", "least", "expected"),
    [
        pytest.param("u a u a u a", {2}, 0, (2, 20), id="at a boundary"),
        pytest.param("u a u a u a", {2, 4}, 0, (4, 40), id="the last one"),
        pytest.param("u a u a u a", {2}, 20, (2, 20), id="with as much as is wanted"),
        pytest.param("u a u a u a", {2}, 21, None, id="never with less"),
        pytest.param("u a u a u a", set(), 0, None, id="no boundary"),
        pytest.param("u a u a u a", {5}, 0, None, id="beyond the span"),
        pytest.param("u c1 r1 a", {2}, 0, None, id="within a group"),
        pytest.param("u c1 r1 a", {3}, 0, (3, 30), id="after a group"),
        pytest.param("u a b u a", {3}, 0, (3, 20), id="a boundary message ends what it closes"),
        pytest.param("s b u a", {2}, 0, None, id="nothing to show before it"),
    ],
)
def test_a_span_is_cut_at_the_last_boundary_that_leaves_enough(
    written: str, ends: set[int], least: int, expected: tuple[int, int] | None
) -> None:
    messages = log(written)
    span = safe_span(messages, want_tokens=40)
    assert span is not None
    found = ended_at(span, messages, ends, least_tokens=least)
    assert (found and (found.to_seq, found.tokens)) == expected


def test_ten_thousand_tiny_messages_are_taken_in_spans_within_the_limit() -> None:
    rest, ends = log("u a " * 5_000), []
    while rest:
        span = safe_span(rest[:2_000], want_tokens=90_000, limit_tokens=15_000)
        assert span is not None
        assert span.tokens <= 15_000
        ends.append(span.to_seq)
        rest = rest[span.to_seq - rest[0].seq + 1 :]
    assert ends == [1_500, 3_000, 4_500, 6_000, 7_500, 9_000, 10_000]


def of_gemini(*contents: str) -> list[Message]:
    """Contents of Gemini as it numbers nothing: ``model f g`` calls two tools, ``user f=`` is a result, others words.

    ``f#1`` has an id of its own.
    """
    return [_content(seq, content) for seq, content in enumerate(contents, start=1)]


def _content(seq: int, content: str) -> Message:
    role, *words = content.split()
    read = normalise({"role": role, "parts": [_gemini_part(word) for word in words]})
    at = datetime(2026, 8, 1, tzinfo=UTC)
    return Message(seq=seq, id=f"m-{seq}", kind=read.kind, role=read.role, parts=read.parts, tokens=10, created_at=at)


def _gemini_part(word: str) -> dict[str, object]:
    name, _, number = word.rstrip("=").partition("#")
    own = {"id": number} if number else {}
    if not name.islower():
        return {"text": word}
    if word.endswith("="):
        return {"functionResponse": {"name": name, "response": {"done": True}, **own}}
    return {"functionCall": {"name": name, "args": {}, **own}}


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        pytest.param(["model f f", "user f= f="], ["1-2"], id="two calls of one tool, answered at once"),
        pytest.param(["model f f", "user f=", "user f=", "model Done"], ["1-3", "4-4"], id="one after the other"),
        pytest.param(["model f", "model f", "user f= f="], ["1-3"], id="in messages of their own"),
        pytest.param(["model f g", "user g=", "user f=", "model Done"], ["1-3", "4-4"], id="out of order"),
        pytest.param(["model f#1", "user f=", "model Done"], ["1-2", "3-3"], id="the call alone has an id"),
        pytest.param(["model f#1 f#2", "user f#2=", "user f=", "model Done"], ["1-3", "4-4"], id="one result has none"),
        pytest.param(["model f", "user f=", "model f", "user f="], ["1-2", "3-4"], id="numbered anew in each turn"),
        pytest.param(["model f", "user Stop", "user f=", "model Done"], ["1-1", "2-2", "3-3", "4-4"], id="after words"),
        pytest.param(["model f", "user Stop", "model f", "user f="], ["1-1", "2-2", "3-4"], id="never, and again"),
        pytest.param(["user Go", "model f f", "user f="], ["1-1", "2-3..."], id="one waits still"),
        pytest.param(["model f", "user g=", "user f="], ["1-3"], id="a result of no call between"),
    ],
)
def test_results_without_ids_stay_with_the_calls_of_their_tool(contents: list[str], expected: list[str]) -> None:
    assert cut(of_gemini(*contents)) == expected


CONTENTS = st.lists(
    st.sampled_from(
        ["user Go", "model f", "model f f", "model f g", "model f#1 g", "user f=", "user f= g=", "user g="]
    ),
    max_size=12,
)


@given(CONTENTS)
def test_no_group_parts_a_result_from_the_call_that_a_context_shows_it_with(contents: list[str]) -> None:
    """``f#1`` twice is two calls of one id, of which a group knows the newer alone: in these logs it comes once."""
    messages = of_gemini(*_once(contents, "model f#1 g"))
    for group in groups(messages):
        whole, parted = _late(messages), _late(messages[: group.messages[0].seq - 1])
        assert whole == parted + _late(messages[group.messages[0].seq - 1 :])


def _once(contents: list[str], one: str) -> list[str]:
    return [content for at, content in enumerate(contents) if content != one or one not in contents[:at]]


def _late(messages: Sequence[Message]) -> int:
    """How many results are shown without a call."""
    pairing = Pairing()
    turns = [Turn(id=one.id, role=one.role, parts=one.parts, tokens=0) for one in messages]
    shown = [part for turn in turns for said in pairing.said(turn) for part in said.parts]
    return sum(part["type"] == "text" and part["text"].startswith("[result of") for part in shown)
