"""Where one topic ends and another begins, as somebody says or as the words tell."""

import gzip
import json
from dataclasses import replace
from datetime import UTC, datetime
from itertools import cycle, islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kit.tokens import text_tokens
from app.memory.boundaries import MESSAGES_MAX, boundaries, span_of
from app.memory.rules import Rules
from app.memory.steps import Buffer, Observe
from app.sessions.model import Kind, Message, Role

KINDS = {"user": Kind.USER, "assistant": Kind.ASSISTANT, "system": Kind.BOUNDARY, "tool": Kind.TOOL_RESULT}
RULES = Rules.resolve({}, {})


def message(seq: int, role: str, text: str) -> Message:
    return Message(
        seq=seq,
        id=f"m-{seq}",
        kind=KINDS[role],
        role=Role(role),
        parts=({"type": "text", "text": text},),
        tokens=text_tokens(text) + 4,
        created_at=datetime(2026, 8, 1, tzinfo=UTC),
        observe=role != "system",
    )


def log(*said: tuple[str, str], first: int = 1) -> list[Message]:
    return [message(seq, role, text) for seq, (role, text) in enumerate(said, start=first)]


def ask(text: str) -> list[tuple[str, str]]:
    return [("user", text), ("assistant", "I see.")]


def test_a_boundary_message_ends_what_stands_before_it() -> None:
    found = boundaries(log(*ask("Pay the rent."), ("system", "done"), *ask("Book a flight."), first=11))
    assert found.told == {13}


def test_a_phrase_that_opens_a_topic_is_after_the_end_of_the_one_before() -> None:
    messages = log(*ask("Pay the rent."), *ask("New topic: flights."), first=11)
    assert boundaries(messages).told == {12}
    assert boundaries(messages[2:]).told == set()  # there is nothing before it


def test_what_answers_a_closing_phrase_still_belongs_to_the_topic() -> None:
    closing = log(*ask("Pay the rent."), *ask("That's all, thanks."))
    assert boundaries(closing).told == {4}
    assert boundaries([*closing, *log(*ask("Book a flight."), first=5)]).told == {4}


@pytest.mark.parametrize("role", ["assistant", "tool"])
def test_only_the_user_closes_and_opens_topics(role: str) -> None:
    said = [*ask("Pay the rent."), (role, "New topic: flights."), (role, "That's all, thanks.")]
    assert boundaries(log(*said)).told == set()


def test_what_no_observer_is_shown_opens_no_topic() -> None:
    messages = log(*ask("Pay the rent."), *ask("New topic: flights."))
    assert boundaries([*messages[:2], replace(messages[2], observe=False), messages[3]]).told == set()


def test_nothing_has_no_boundary() -> None:
    assert boundaries([]).told == boundaries([]).seen == set()


# Two topics of six turns each, in words of their own; the texts say the same in each language.
TOPICS = {
    "en": (
        ["garden", "tomato", "seedling", "watering", "compost", "harvest"],
        ["invoice", "payment", "supplier", "discount", "account", "receipt"],
        "We talked of the {0} and the {1}, and then of the {2} again.",
    ),
    "ko": (
        ["정원", "토마토", "모종", "물주기", "퇴비", "수확"],
        ["송장", "결제", "거래처", "할인율", "계좌", "영수증"],
        "{0} 그리고 {1} 다음에 다시 {2}",
    ),
    "zh": (
        ["花园", "番茄", "幼苗", "浇水", "堆肥", "收获"],
        ["发票", "付款", "供应商", "折扣", "账户", "收据"],
        "{0}，{1}，还有{2}",
    ),
    "ja": (
        ["庭園", "野菜", "苗木", "散水", "堆肥", "収穫"],
        ["請求書", "支払", "仕入先", "割引", "口座", "領収書"],
        "{0}と{1}、また{2}",
    ),
}


def talk(words: list[str], form: str) -> list[tuple[str, str]]:
    """Six turns in which each word comes again and again."""
    roles = ["user", "assistant"]
    return [(roles[at % 2], form.format(*(words[(at + step) % 6] for step in range(3)))) for at in range(12)]


@pytest.mark.parametrize("language", TOPICS)
def test_a_topic_shift_is_seen_in_any_script(language: str) -> None:
    garden, bills, form = TOPICS[language]
    assert boundaries(log(*talk(garden, form), *talk(bills, form))).seen == {12}


@pytest.mark.parametrize("language", TOPICS)
def test_one_topic_has_no_shift(language: str) -> None:
    garden, _, form = TOPICS[language]
    assert boundaries(log(*ask(form.format(*garden)) * 12)).seen == set()


# Messages of four words each, by letter. Cohesion dips below its mean three times: by over 1.1 standard deviations
# behind the 14th, by over 1.0 behind the 26th, by over 0.9 behind the 4th.
DIPPING = (
    "ghbh badf bhfa ddfd acac aabb aaea abdc dcbd gfcb adeb cdba cecd cabg "
    "ljfe lhii jjgk klde edch cccl kkjk elkg cflj kgfe llej hhjl felk kkdi"
)


def test_a_shift_is_one_standard_deviation_below_the_mean_cohesion() -> None:
    words = dict(zip("abcdefghijkl", [*TOPICS["en"][0], *TOPICS["en"][1]], strict=True))
    said = (" ".join(words[letter] for letter in letters) for letters in DIPPING.split())
    assert boundaries(log(*zip(cycle(("user", "assistant")), said, strict=False))).seen == {14, 26}


def test_a_few_messages_tell_nothing() -> None:
    garden, bills, form = TOPICS["en"]
    assert boundaries(log(*talk(garden, form)[:6], *talk(bills, form)[:6])).seen == set()


def test_only_so_many_messages_are_compared() -> None:
    garden, bills, form = TOPICS["en"]
    long = talk(garden, form) * (MESSAGES_MAX // 12 + 1)
    assert len(long) not in boundaries(log(*long, *talk(bills, form))).seen
    assert len(long) - 12 in boundaries(log(*long[12:], *talk(bills, form))).seen


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["user", "assistant", "system", "tool"]),
            st.sampled_from(["That's all.", "New topic.", "Rent is due.", "Flights are cheap.", "", "¿?", "好"]),
        ),
        max_size=40,
    ),
    st.integers(1, 1_000),
)
def test_a_boundary_is_always_among_the_messages(said: list[tuple[str, str]], first: int) -> None:
    messages = log(*said, first=first)
    found = boundaries(messages)
    assert found.told | found.seen <= {message.seq for message in messages}
    opening = {message.seq - 1 for message in messages if message.role is Role.USER}
    assert found.seen <= opening


# Where a span is cut.


def rent(turns: int) -> list[tuple[str, str]]:
    return ask("Pay the rent of the flat in Lisbon by the fifth of May.") * turns


SAID = log(*rent(4), ("user", "That's all, thanks."), ("assistant", "Good."), *rent(6))
CLOSED = 10
HALF, ALL = sum(one.tokens for one in SAID[:CLOSED]), sum(one.tokens for one in SAID)


@pytest.mark.parametrize(
    ("step", "end"),
    [
        pytest.param(Buffer(want_tokens=ALL, least_tokens=HALF), CLOSED, id="the boundary"),
        pytest.param(Buffer(want_tokens=ALL, least_tokens=HALF + 1), 22, id="too little before it"),
        pytest.param(Buffer(want_tokens=HALF - 1, least_tokens=1), 9, id="more wanted than is before it"),
        pytest.param(Buffer(want_tokens=ALL, least_tokens=HALF, at_boundary=True), CLOSED, id="early"),
        pytest.param(Buffer(want_tokens=ALL, least_tokens=HALF + 1, at_boundary=True), None, id="not that early"),
        pytest.param(Observe(want_tokens=2 * HALF, force_closed=False), CLOSED, id="half of what is due"),
        pytest.param(Observe(want_tokens=ALL, force_closed=False), 22, id="less than half of what is due"),
        pytest.param(Observe(want_tokens=2 * HALF, force_closed=True), 18, id="too much waits"),
        pytest.param(Observe(want_tokens=2 * HALF, force_closed=False, whole=True), 18, id="all of it was asked for"),
        pytest.param(Buffer(want_tokens=ALL, least_tokens=ALL + 1), None, id="too little in all"),
    ],
)
def test_a_span_ends_at_a_boundary_where_that_leaves_it_large_enough(step: Buffer | Observe, end: int | None) -> None:
    span = span_of(step, SAID, RULES)
    assert (span and span.to_seq) == end


def test_a_large_message_behind_too_little_is_observed_with_it() -> None:
    messages = log(("user", "Here it is."), ("assistant", "word " * 9_000), ("user", "Thanks."))
    span = span_of(Buffer(want_tokens=6_000, least_tokens=3_000), messages, RULES)
    assert (span and span.to_seq) == 2


@pytest.mark.parametrize(("forced", "end"), [(False, 1), (True, 3)])
def test_a_call_keeps_what_comes_after_it_waiting_until_too_much_waits(forced: bool, end: int) -> None:
    said, calling, after = log(("user", "Pay the rent."), ("assistant", ""), ("assistant", "It takes long."))
    call = {"type": "tool_call", "id": "c1", "name": "pay", "arguments": {}}
    messages = [said, replace(calling, kind=Kind.TOOL_CALL, parts=(call,)), after]
    span = span_of(Observe(want_tokens=ALL, force_closed=forced), messages, RULES)
    assert (span and span.to_seq) == end


def test_a_boundary_that_was_told_goes_before_one_that_is_seen() -> None:
    garden, bills, form = TOPICS["en"]
    said = [*talk(garden, form), *talk(bills, form)]
    wanted = Buffer(want_tokens=10_000, least_tokens=1)
    seen = span_of(wanted, log(*said), RULES)
    told = span_of(wanted, log(*said[:6], ("system", "done"), *said[6:]), RULES)
    assert (seen and seen.to_seq, told and told.to_seq) == (12, 7)


def test_real_sessions_are_told_apart_where_their_topics_are(shared_data: Path) -> None:
    """Of the chunks of a conversation made of real sessions most end where a session does; by chance few would."""
    with gzip.open(shared_data / "longmemeval" / "messages.jsonl.gz", "rt", encoding="utf-8") as lines:
        turns = [json.loads(line) for line in islice(lines, 240)]
    ends = {at for at in range(1, len(turns)) if turns[at]["session"] != turns[at - 1]["session"]}
    messages = log(*((turn["role"], turn["content"]) for turn in turns))
    found = cuts(messages)
    assert len(found & ends) / len(found) > 0.6 > 5 * len(ends) / len(turns)


def cuts(messages: list[Message]) -> set[int]:
    """Where the chunks end that are made of a step of 6,000 tokens each."""
    found: set[int] = set()
    rest = messages
    while sum(one.tokens for one in rest) >= 6_000:
        span = span_of(Buffer(want_tokens=6_000, least_tokens=3_000), rest[:40], RULES)
        assert span is not None
        found.add(span.to_seq)
        rest = rest[span.to_seq - rest[0].seq + 1 :]
    return found
