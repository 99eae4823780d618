from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Client, MockTransport, Response
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from app.context.wording import in_context, recalled, recalled_from, today
from benchmarks.cache.conversations import DATA
from benchmarks.quality.baselines import BASELINES, bm25, message_tokens, newest, uniform, within
from benchmarks.quality.coverage import Held, held, shown
from benchmarks.quality.grounding import grounded
from benchmarks.quality.ledger import Ledger
from benchmarks.quality.measuring import BUDGETS, LOG, Measured, baselines
from benchmarks.quality.memory import RECALLED
from benchmarks.quality.report import figures, found, found_table, held_table
from benchmarks.quality.retrieval import WRITTEN, Searched, Vectorized, ranks, share
from benchmarks.quality.talks import Source, Split, Talk, asking, asking_each_category, talk, talks

SAID = (
    "I moved to Lisbon with my sister Anna",
    "How lovely! Is it warm there?",
    "Very warm. I found work in a bakery near the river",
    "My cat is called Pixel and he is 7 years old",
)


def told(*contents: str, question: str = "", answer: str = "", evidence: tuple[int, ...] = (1,)) -> Talk:
    rows_: list[dict[str, Any]] = [
        {
            "turn_id": f"t{number}",
            "role": "assistant" if number == 2 else "user",
            "speaker": "Maria" if number != 2 else "assistant",
            "content": content,
            "created_at": f"2026-08-0{number % 9 + 1}T10:00:00Z",
            "session": f"chat-{(number + 1) // 2}",
        }
        for number, content in enumerate(contents, start=1)
    ]
    asked = {
        "conversation": "c",
        "question": question,
        "answer": answer,
        "category": "one",
        "evidence_turn_ids": [f"t{seq}" for seq in evidence],
    }
    return talk(Source.LONGMEMEVAL, "c", rows_, [asked, asked | {"conversation": "another"}], 0)


def log(line: str) -> list[str]:
    return [f"Date: Aug 1, 2026\n* 🔴 [fact] {line}"]


def test_a_message_is_held_where_it_stands_itself() -> None:
    one = told(*SAID, evidence=(1, 3))

    assert held(one, one.questions[0], shown(frozenset({3}))).evidence == 0.5


@pytest.mark.parametrize(
    ("line", "share"),
    [
        ("Maria: found work, bakery. #3", 1.0),  # three of five content words
        ("Maria: found something. #3", 0.0),
        ("Maria: found work in a bakery near the river. #1", 0.0),  # cites another message
    ],
)
def test_a_message_is_held_where_a_line_citing_it_holds_half_of_its_words(line: str, share: float) -> None:
    one = told(*SAID, evidence=(3,))

    assert held(one, one.questions[0], shown(frozenset(), log(line))).evidence == share


def test_the_words_of_an_answer_are_looked_for_in_messages_their_days_and_the_log() -> None:
    one = told(*SAID, answer="Lisbon, Pixel, August 2026")
    nothing = shown(frozenset())

    assert held(one, one.questions[0], nothing).answer == 0
    assert held(one, one.questions[0], shown(frozenset({1}))).answer == 0.5  # Lisbon, 2026
    assert held(one, one.questions[0], shown(frozenset(), recalled={4: "My cat is called Pixel"})).answer == 0.25
    assert held(one, one.questions[0], shown(frozenset({1}), log("Her cat is Pixel. #4"))).answer == 1


@given(budget=st.integers(0, 200))
@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_never_costs_more_than_its_budget(name: str, budget: int) -> None:
    one = told(*SAID)

    chosen = within(one, BASELINES[name](one)("Where does Maria work?"), budget)

    assert sum(message_tokens(one, seq) for seq in chosen) <= budget


def test_the_last_messages_are_the_newest() -> None:
    assert within(told(*SAID), newest(told(*SAID))(""), message_tokens(told(*SAID), 4)) == {4}


@given(count=st.integers(1, 40))
def test_a_uniform_sample_has_every_message_once_and_its_halves_stand_on_both_sides(count: int) -> None:
    order = list(uniform(told(*["said"] * count))(""))

    assert sorted(order) == list(range(1, count + 1))
    assert count < 3 or order[0] <= count / 2 < order[1] + 1


def test_what_was_recalled_is_held_by_as_much_of_it_as_is_told() -> None:
    one = told(*SAID, evidence=(3,))
    whole, part = ({3: text} for text in (SAID[2], "Very warm."))

    assert held(one, one.questions[0], shown(frozenset(), recalled=whole)).evidence == 1
    assert held(one, one.questions[0], shown(frozenset(), recalled=part)).evidence == 0


def test_what_a_context_recalled_is_read_from_its_text() -> None:
    by = datetime(2026, 8, 1, 10, 5, tzinfo=UTC)
    said = ((3, "Very\nwarm"), (12, "Porto: 1"), (14, "At 10:05"))
    three, twelve, fourteen = (recalled(seq=seq, said_at=by, by="Ana", text=text) for seq, text in said)
    day, later = recalled_from(by.date()), recalled_from(date(2026, 8, 2))

    found = RECALLED.findall(in_context("\n".join([today(date(2026, 8, 3)), day, three, twelve, later, fourteen])))

    assert found == [("3", "Ana: Very\n  warm\n"), ("12", "Ana: Porto: 1\n"), ("14", "Ana: At 10:05\n")]


def test_evidence_has_its_places_among_the_hits_and_among_their_chats() -> None:
    one = told(*SAID, evidence=(1, 3))

    found = ranks(one, one.questions[0], [4, 2, 1])

    assert (found.messages, found.chats) == ((3, None), (2, 1))
    assert [share(found.messages, top) for top in (2, 3)] == [0, 0.5]


def test_vectors_are_waited_for_until_there_are_as_many_as_messages_were_told() -> None:
    written = iter([1, 3, 3, 10])  # each look; one that finds too few is followed by others until there are more
    looks = MockTransport(lambda _asked: Response(200, text=f"# HELP\n{WRITTEN} {float(next(written))}\n"))
    with Client(transport=looks, base_url="http://daybook") as http:
        vectorized = Vectorized(http, look_seconds=0)
        vectorized.wait(3)
        vectorized.wait(7)
    assert list(written) == []


def test_vectors_that_do_not_come_are_not_waited_for_for_ever() -> None:
    none = MockTransport(lambda _asked: Response(200, text=f"{WRITTEN} 0.0\n"))
    with Client(transport=none, base_url="http://daybook") as http, pytest.raises(TimeoutError):
        Vectorized(http, look_seconds=0, stalled_seconds=0).wait(1)


def test_the_figures_of_retrieval_are_those_of_questions_that_have_an_answer_and_of_each_category() -> None:
    one = told(*SAID, evidence=(1, 3))
    good, bad = (ranks(one, one.questions[0], seqs) for seqs in ([1, 3], [2]))
    adversarial = replace(bad, category="adversarial", is_adversarial=True)

    made = found([Searched(source=one.source, split=one.split, ranks=(good, bad, adversarial))])

    whole, dev, of_adversarial, of_one = made
    assert (whole.questions, dev.questions, of_one.questions, of_adversarial.questions) == (2, 2, 2, 1)
    assert (whole.any_message[5], whole.mean_messages[5], whole.any_chat[5], whole.all_chats[5]) == (0.5, 0.5, 1, 0.5)
    assert of_adversarial.any_message[5] == 0
    headings, rows = found_table(made)
    assert [len(row) for row in rows] == [len(headings)] * len(made)


def test_a_run_that_was_broken_off_goes_on_where_it_was(tmp_path: Path) -> None:
    path, shape = tmp_path / "build" / "eval.jsonl", TypeAdapter(Held)
    half, full = Held(evidence=0.5, answer=0.5), Held(evidence=1, answer=1)
    ledger = Ledger(path, resume=False)
    assert ledger.once("a", shape, lambda: half) == ledger.once("a", shape, lambda: full) == half
    with path.open("a") as file:
        file.write('["b", {"evi')  # killed while it wrote

    again = Ledger(path, resume=True)
    assert (again.knows("a"), again.knows("b")) == (True, False)
    assert again.once("b", shape, lambda: full) == full
    assert Ledger(path, resume=True).once("b", shape, lambda: half) == full
    assert Ledger(path, resume=False).once("a", shape, lambda: full) == full


def test_bm25_ranks_by_rare_words_and_leaves_out_what_shares_none() -> None:
    assert list(bm25(told(*SAID))("Which bakery did Anna find near the river?")) == [3, 1]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Maria: moved to Lisbon with Anna. #1", True),
        ("Maria: moved to Lisbon yesterday (Aug 1, 2026). #1", True),  # the day before it was said
        ("Maria: moved to Porto with Anna. #1", False),
        ("Maria: his cat is 8 years old. #4", False),
        ("Maria: moved to Lisbon. #4", False),  # said elsewhere
    ],
)
def test_a_line_is_grounded_if_its_names_numbers_and_dates_are_in_what_it_cites(line: str, *, expected: bool) -> None:
    said = ("I moved to Lisbon with my sister Anna yesterday", *SAID[1:])

    assert grounded(told(*said), log(line)) == [expected]


def test_what_cites_nothing_is_no_line_of_the_log() -> None:
    assert grounded(told(*SAID), ["* [fact] Trust the newest line."]) == []


def test_dev_and_test_share_no_conversation() -> None:
    splits = [talk(Source.LOCOMO, "c", [], [], number).split for number in range(10)]

    assert splits == [Split.DEV, Split.DEV, Split.TEST, Split.TEST, Split.TEST] * 2


@pytest.mark.skipif(not DATA.is_dir(), reason="the conversations are not beside the project (../shared/data)")
@pytest.mark.parametrize("limit", [0, 1])
def test_as_many_conversations_are_read_as_were_asked_for(limit: int) -> None:
    found = talks(Source.LOCOMO, limit=limit)

    assert len(found) == limit
    assert all(talk.questions and talk.messages[0]["name"] for talk in found)


def test_questions_whose_evidence_is_not_in_the_conversation_are_left_out() -> None:
    assert told(*SAID, evidence=(9,)).questions == ()
    assert told(*SAID, evidence=(2, 9)).questions[0].evidence == (2,)


@pytest.mark.parametrize(("count", "kept"), [(1, "0"), (2, "02"), (3, "013"), (9, "01234")])
def test_a_part_of_the_questions_is_spread_evenly_over_them(count: int, kept: str) -> None:
    one = told(*SAID)
    five = replace(one, questions=tuple(replace(one.questions[0], text=text) for text in "01234"))

    assert "".join(question.text for question in asking(five, count).questions) == kept


@pytest.mark.parametrize(
    ("count", "kept"), [(2, "ab"), (3, "abc"), (6, "aabbcc"), (7, "aaabbcc"), (8, "aaabbbcc"), (99, "aaaaabbbcc")]
)
def test_questions_are_spread_over_the_categories(count: int, kept: str) -> None:
    one = told(*SAID)
    mixed = replace(one, questions=tuple(replace(one.questions[0], category=name) for name in "abaacabcba"))

    assert "".join(sorted(question.category for question in asking_each_category(mixed, count).questions)) == kept


def test_the_report_has_a_row_for_every_method_and_budget_that_was_measured() -> None:
    one = told(*SAID, question="Where does Maria live?", answer="Lisbon")

    made = figures(list(baselines(one)))

    assert {(it.method, it.budget) for it in made} == {(name, budget) for name in BASELINES for budget in BUDGETS}
    assert all(it.questions == 1 and it.evidence == 1 for it in made if it.method == "last messages")
    assert all(it.evidence_by_category == {"one": it.evidence} for it in made)
    headings, rows = held_table(made)
    assert [len(row) for row in rows] == [len(headings)] * len(made)


def test_the_figures_of_a_split_are_means_over_its_questions_and_lines() -> None:
    one = told(*SAID, question="Where does Maria live?", answer="Lisbon")
    some = Measured(
        source=one.source,
        split=one.split,
        method=LOG,
        budget=2_000,
        tokens=1_500,
        categories=("one",),
        held=(Held(evidence=0.5, answer=1),),
    )
    two = replace(some, tokens=1_700, held=(Held(evidence=1, answer=0),), compression=4.0, grounded=(True, False))

    (made,) = figures([some, two])

    assert (made.talks, made.questions, made.tokens) == (2, 2, 1_600)
    assert (made.evidence, made.answer, made.compression, made.grounded) == (0.75, 0.5, 4.0, 0.5)
