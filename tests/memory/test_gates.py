from dataclasses import replace

import pytest

from app.kit.tokens import text_tokens
from app.memory import prompts
from app.memory.gates import (
    Rejection,
    Verdict,
    clip_citations,
    judge_facts,
    judge_observation,
    judge_reflection,
    restore,
)
from app.memory.log import render
from app.memory.model import Cite, Detail, ExtractorInput, Item, ObserverInput, Parsed, Priority
from tests.memory.building import said
from tests.steps import steps

SOURCE = (said(11, "I paid 40 euros"), said(12, "and 50 dollars, see issue #77"))


def line(
    text: str, *cites: tuple[int, int], details: tuple[Detail, ...] = (), priority: Priority | None = Priority.HIGH
) -> Item:
    return Item(text=text, priority=priority, cites=tuple(Cite(*cite) for cite in cites), details=details)


def observed(
    *items: Item,
    source_tokens: int = 500,
    output_tokens: int = 4_000,
    cut_off: bool = False,
    repetitive: bool = False,
) -> Verdict:
    return judge_observation(
        Parsed(items=items, repetitive=repetitive),
        ObserverInput(messages=SOURCE, output_tokens=output_tokens),
        tokens=source_tokens,
        cut_off=cut_off,
    )


def test_a_sound_observation_passes_unchanged() -> None:
    items = (line("User paid 40 euros.", (11, 11)), line("User likes tea."))

    assert observed(*items) == Verdict(
        items=items, rejected=None, grounded_share=1.0, tokens=text_tokens(render(items))
    )


def test_an_example_of_the_prompt_is_no_observation_unless_it_was_said() -> None:
    """A small model repeats it: ``User moved from Porto to Lisbon`` stood among the notes of whoever it was."""
    examples = [line(text, (11, 11)) for text in sorted(prompts.examples())]
    own = line("User paid 40 euros.", (11, 11))

    assert len(examples) == 4
    assert observed(*examples).rejected is Rejection.EMPTY
    assert observed(*examples, own).items == (own,)

    moved = line("User moved from Porto to Lisbon (before: lived in Porto).", (1, 1))
    told = judge_observation(
        Parsed(items=(moved,)),
        ObserverInput(messages=(said(1, "I moved to Lisbon last week, from Porto."),)),
        tokens=500,
        cut_off=False,
    )
    assert told.items == (moved,)


@pytest.mark.parametrize(
    ("lines", "cut_off", "repetitive", "rejected"),
    [
        (0, False, False, Rejection.EMPTY),
        (0, False, True, Rejection.REPETITIVE),
        (0, True, True, Rejection.REPETITIVE),
        (0, True, False, Rejection.CUT_OFF),
        (1, True, False, Rejection.CUT_OFF),
        (1, False, False, None),
    ],
)
def test_a_bad_observation_is_rejected_for_the_first_gate_it_fails(
    lines: int,
    cut_off: bool,
    repetitive: bool,
    rejected: Rejection | None,
) -> None:
    verdict = observed(*[line("User likes tea.")] * lines, cut_off=cut_off, repetitive=repetitive)

    assert verdict.rejected is rejected


@pytest.mark.parametrize(
    ("lines", "complete", "cut_off", "rejected"),
    [
        (1, True, False, None),
        (1, False, False, None),
        (0, True, False, None),
        (0, False, False, Rejection.EMPTY),
        (0, True, True, Rejection.CUT_OFF),
    ],
)
def test_there_may_be_no_fact_worth_taking(
    lines: int, complete: bool, cut_off: bool, rejected: Rejection | None
) -> None:
    parsed = Parsed(items=(line("User likes tea.", (11, 11)),) * lines, complete=complete)
    verdict = judge_facts(parsed, ExtractorInput(messages=SOURCE), cut_off=cut_off)

    assert verdict.rejected is rejected


def test_facts_cite_the_messages_and_what_the_lines_cite_that_they_are_taken_from() -> None:
    cited = line("User paid.", (3, 4), (11, 11), (20, 20))
    verdict = judge_facts(
        Parsed(items=(cited,)), ExtractorInput(items=(line("User paid.", (4, 5)),), messages=SOURCE), cut_off=False
    )

    assert verdict.items[0].cites == (Cite(4, 4), Cite(11, 11))


def test_every_message_of_the_span_can_be_cited() -> None:
    source = tuple(said(seq, "I like tea") for seq in (11, 12, 15))
    cited = line("User likes tea.", (10, 10), (15, 15))
    verdict = judge_observation(
        Parsed(items=(cited,)), ObserverInput(messages=source, output_tokens=500), tokens=500, cut_off=False
    )

    assert verdict.items[0].cites == (Cite(15, 15),)


def test_every_rejection_can_be_told_to_the_next_try() -> None:
    assert all(rejection.reason for rejection in Rejection)


def of_tokens(tokens: int) -> Item:
    """A line whose log is ``tokens`` tokens, found by adding words."""
    text = "paid"
    while text_tokens(render([line(text)])) < tokens:
        text += " a"
    assert text_tokens(render([line(text)])) == tokens
    return line(text)


@pytest.mark.parametrize(
    ("tokens", "source_tokens", "rejected"),
    [
        (500, 500, None),
        (600, 500, None),
        (4_000, 500, None),
        (4_001, 500, Rejection.NOT_SMALLER),
        (500, 501, None),
        (501, 501, Rejection.NOT_SMALLER),
        (502, 501, Rejection.NOT_SMALLER),
    ],
)
def test_an_observation_of_over_500_tokens_has_to_shrink(
    tokens: int, source_tokens: int, rejected: Rejection | None
) -> None:
    assert observed(of_tokens(tokens), source_tokens=source_tokens).rejected is rejected


@pytest.mark.parametrize("text", ["I'm sorry, but I can't assist with that.", "No new observations.", "None"])
def test_an_observation_that_has_no_word_of_its_source_is_empty_unless_it_is_of_little(text: str) -> None:
    """It took the place of all that was said. A long group that is shown alone may be of nothing to a model."""
    item, cited = line(text, priority=None), line(text, (11, 12), priority=None)
    alone = judge_observation(Parsed(items=(item,)), ObserverInput(messages=SOURCE[:1]), tokens=501, cut_off=False)

    preface = line("Here are the observations:", priority=None)

    assert observed(item, source_tokens=501).rejected is Rejection.EMPTY
    assert observed(preface, item, source_tokens=501).rejected is Rejection.EMPTY
    assert observed(cited, source_tokens=501).rejected is None
    assert observed(line(text), source_tokens=501).rejected is None
    assert observed(item, line("User paid."), source_tokens=501).rejected is None
    assert observed(item, source_tokens=500).rejected is None
    assert alone.rejected is None


def test_what_need_not_shrink_becomes_no_more_than_was_asked_for() -> None:
    assert observed(of_tokens(700), output_tokens=700).rejected is None
    assert observed(of_tokens(701), output_tokens=700).rejected is Rejection.NOT_SMALLER


def test_no_line_is_looked_at_of_what_is_rejected_whatever_it_says() -> None:
    said = line("User paid 40 euros.", (11, 11))

    assert observed(said, cut_off=True).grounded_share is None
    assert observed(of_tokens(701), output_tokens=700).grounded_share is None
    assert reflected(of_tokens(701), limit_tokens=700).grounded_share is None
    assert observed(said).grounded_share == 1.0


def test_what_fits_without_its_false_citations_is_not_rejected_for_them() -> None:
    cited = line("User paid 40 euros.", *((seq, seq) for seq in range(100, 400)))
    size = text_tokens(render([line("User paid 40 euros.")]))

    assert observed(cited, output_tokens=size).rejected is None
    assert observed(cited, output_tokens=size - 1).rejected is Rejection.NOT_SMALLER


def test_nor_for_those_of_its_details() -> None:
    false = tuple(Cite(seq, seq) for seq in range(100, 400))
    cited = line("User paid 40 euros.", details=(Detail(text="in cash", cites=false),))
    size = text_tokens(render([line("User paid 40 euros.", details=(Detail(text="in cash"),))]))

    assert observed(cited, output_tokens=size).rejected is None


def test_the_next_try_is_told_how_large_it_was_with_all_that_was_written() -> None:
    assert observed(of_tokens(701), output_tokens=700).reason == "it had about 701 tokens; write less"


@pytest.mark.parametrize(
    ("item", "grounded"),
    [
        pytest.param(line("User paid 40 euros.", (11, 11)), True, id="in the message cited"),
        pytest.param(line("User paid 50 dollars.", (11, 11)), False, id="in a message not cited"),
        pytest.param(line("User paid 50 dollars.", (11, 12)), True, id="in a range cited"),
        pytest.param(line("User paid 50 dollars."), True, id="in the span, nothing cited"),
        pytest.param(line("User paid 50 dollars.", (99, 99)), True, id="in the span, the citation dropped"),
        pytest.param(line("User paid 60 dollars."), False, id="nowhere"),
        pytest.param(
            line("User paid.", (11, 11), details=(Detail(text="50", cites=(Cite(12, 12),)),)), True, id="a detail cites"
        ),
        pytest.param(
            line("User paid.", (11, 11), details=(Detail(text="50"),)), False, id="a detail rests on its line"
        ),
        pytest.param(
            line("User paid.", (12, 12), details=(Detail(text="50", cites=(Cite(11, 11),)),)),
            True,
            id="a detail rests on what its line cites too",
        ),
    ],
)
def test_a_line_whose_claims_are_not_in_its_source_is_kept_as_uncertain(item: Item, grounded: bool) -> None:
    verdict = observed(item)

    assert verdict.rejected is None
    assert verdict.grounded_share == grounded
    assert verdict.items[0].text == item.text
    assert (verdict.items[0].uncertain, verdict.items[0].priority) == (
        (False, Priority.HIGH) if grounded else (True, Priority.LOW)
    )


EARLIER = (
    Item(text="User ordered part KX7 from shop_west for 90 euros, order 8841.", cites=(Cite(3, 3),)),
    Item(text="The spare is ZQ9.", uncertain=True, cites=(Cite(4, 4),)),
)


@pytest.mark.parametrize(
    ("item", "grounded"),
    [
        pytest.param(line("The lamp LX5 was paid.", (11, 11)), True, id="in a message not cited"),
        pytest.param(line("Part KX7 was paid, 40 euros.", (11, 11)), True, id="in an earlier line"),
        pytest.param(line("Part `KX7` was paid.", (11, 11)), True, id="in quotation marks"),
        pytest.param(line("Order 8841 was paid.", (11, 11)), True, id="the number of an order"),
        pytest.param(line("Order 8842 was paid.", (11, 11)), False, id="of another order"),
        pytest.param(line("Part KX8 was paid.", (11, 11)), False, id="nowhere"),
        pytest.param(line("Part ZQ9 was paid.", (11, 11)), False, id="in an uncertain line only"),
        pytest.param(line("Part KX7 was paid, 90 euros.", (11, 11)), False, id="a number is no name"),
        pytest.param(line("User paid 40 euros (before: 90).", (11, 11)), True, id="the former state"),
        pytest.param(line("User paid 40 euros (before: 95).", (11, 11)), False, id="another former state"),
        pytest.param(line("User paid 90 euros (before: 40).", (11, 11)), False, id="the former state as the new one"),
    ],
)
def test_a_thing_may_be_called_by_a_name_from_all_that_the_observer_was_shown(item: Item, grounded: bool) -> None:
    verdict = judge_observation(
        Parsed(items=(item,)),
        ObserverInput(messages=(*SOURCE, said(13, "for the lamp LX5")), earlier=EARLIER),
        tokens=500,
        cut_off=False,
    )

    assert verdict.items[0].uncertain is not grounded


def test_the_share_of_grounded_lines_is_reported() -> None:
    assert observed(line("40"), line("41"), line("42"), line("tea")).grounded_share == pytest.approx(0.5)
    assert observed().grounded_share == 1.0


@pytest.mark.parametrize(
    ("cite", "clipped"),
    [
        ((10, 10), None),
        ((11, 11), (11, 11)),
        ((20, 20), (20, 20)),
        ((21, 21), None),
        ((5, 12), (11, 12)),
        ((18, 30), (18, 20)),
        ((1, 99), (11, 20)),
    ],
)
def test_citations_are_clipped_to_the_span(cite: tuple[int, int], clipped: tuple[int, int] | None) -> None:
    item = line("said", cite, details=(Detail(text="more", cites=(Cite(*cite),)),))

    (found,) = clip_citations([item], within=((11, 20),))

    assert found.cites == found.details[0].cites == ((Cite(*clipped),) if clipped else ())
    assert found.text == "said"


def test_a_number_taken_for_a_citation_goes_back_into_the_text() -> None:
    verdict = observed(line("User opened issue", (77, 77), (12, 12)), line("User opened issue", (7, 7)))

    assert [(item.text, item.cites, item.uncertain) for item in verdict.items] == [
        ("User opened issue #77", (Cite(12, 12),), False),
        ("User opened issue", (), False),
    ]


def test_a_citation_of_the_span_is_one_also_where_the_text_says_its_number() -> None:
    item = line("User opened it.", (12, 12))

    assert clip_citations([item], within=((11, 20),), said="see issue #12") == (item,)


CONDENSED = (line("User paid 40 euros.", (11, 11)), line("User paid 50 dollars.", (12, 14)))


def reflected(*items: Item, source_tokens: int = 100, limit_tokens: int | None = None) -> Verdict:
    return judge_reflection(
        Parsed(items=items), items=CONDENSED, source_tokens=source_tokens, limit_tokens=limit_tokens, cut_off=False
    )


@pytest.mark.parametrize(
    ("tokens", "limit_tokens", "rejected"),
    [
        (99, None, None),
        (100, None, Rejection.NOT_SMALLER),
        (50, 50, None),
        (51, 50, Rejection.NOT_SMALLER),
        (99, 200, None),
        (100, 200, Rejection.NOT_SMALLER),
    ],
)
def test_a_reflection_has_to_be_smaller_than_its_source_and_within_its_limit(
    tokens: int, limit_tokens: int | None, rejected: Rejection | None
) -> None:
    assert reflected(of_tokens(tokens), limit_tokens=limit_tokens).rejected is rejected


def test_an_empty_reflection_is_rejected() -> None:
    assert reflected().rejected is Rejection.EMPTY


@pytest.mark.parametrize(
    ("items", "rejected"),
    [
        ([line("I'm sorry, but I can't assist with that.", priority=None)], Rejection.EMPTY),
        ([line("None", priority=None)], Rejection.EMPTY),
        ([line("Here is the log:", priority=None), line("None", priority=None)], Rejection.EMPTY),
        ([line("Everything is fine.")], None),
        ([line("No observations.", priority=None), line("User paid.")], None),
        ([line("The user pays.", priority=None)], None),
        ([line("Alles wurde bezahlt.", (11, 12), priority=None)], None),
    ],
)
def test_a_reflection_that_has_no_word_of_its_source_is_empty(items: list[Item], rejected: Rejection | None) -> None:
    """It was the smallest valid result, and took the place of the log."""
    assert reflected(*items).rejected is rejected


def test_a_reflection_is_grounded_in_the_lines_it_condenses() -> None:
    verdict = reflected(
        line("User paid 40 euros and 50 dollars.", (11, 14)), line("User paid 40 euros.", (13, 13)), line("It was 60.")
    )

    assert [item.uncertain for item in verdict.items] == [False, True, True]


def test_a_reflection_cites_what_its_lines_cited() -> None:
    verdict = reflected(line("paid", (10, 13)), line("paid", (15, 15)))

    assert [item.cites for item in verdict.items] == [(Cite(11, 13),), ()]


def test_what_rests_on_uncertain_lines_only_stays_uncertain() -> None:
    doubted = Item(text="User may sell the car.", uncertain=True, cites=(Cite(1, 1),))
    verdict = judge_reflection(
        Parsed(items=(line("User may sell the car.", (1, 1)), line("User may sell.", (1, 11)))),
        items=(doubted, *CONDENSED),
        source_tokens=100,
        limit_tokens=None,
        cut_off=False,
    )

    assert [item.uncertain for item in verdict.items] == [True, False]
    assert verdict.grounded_share == 1.0


def test_what_only_an_uncertain_line_says_stays_uncertain_though_a_certain_one_has_its_citation() -> None:
    paid = Item(text="User paid 40 euros.", cites=(Cite(1, 1),))
    doubted = Item(text="User paid 500 euros.", uncertain=True, cites=(Cite(1, 1),))
    verdict = judge_reflection(
        Parsed(items=(line("User paid 40, then 500 euros.", (1, 1)), line("User paid 40.", (1, 1)))),
        items=(paid, doubted),
        source_tokens=100,
        limit_tokens=None,
        cut_off=False,
    )

    assert [item.uncertain for item in verdict.items] == [True, False]


def test_lost_lines_are_restored_verbatim() -> None:
    restored = restore(reflected(line("User paid 40 euros.")), CONDENSED, limit_tokens=1_000)

    assert restored.items == (line("User paid 40 euros."), CONDENSED[1])
    assert restored.tokens == text_tokens(render(restored.items))


def test_nothing_is_restored_where_nothing_was_lost() -> None:
    verdict = reflected(line("User paid 40 euros and 50 dollars."))

    assert restore(verdict, CONDENSED, limit_tokens=1_000) is verdict


@pytest.mark.parametrize("room", [0, 10, 25, 60, 1_000])
def test_no_more_is_restored_than_fits_and_of_like_lines_the_newest(room: int) -> None:
    guarded = [line(f"User paid {number} euros.") for number in range(100, 120)]
    verdict = reflected(line("User paid."))

    restored = restore(verdict, guarded, limit_tokens=verdict.tokens + room)

    assert restored.tokens <= verdict.tokens + room
    kept = len(restored.items) - 1
    assert list(restored.items[1:]) == guarded[len(guarded) - kept :]
    assert (kept > 0) == (room > 0)


@pytest.mark.parametrize("days", [1, 2, 20])
def test_of_lines_of_a_day_as_many_are_restored_as_there_is_room_for(days: int) -> None:
    """A day's header is there once, however many of its lines are put back."""
    guarded = [replace(line(f"User paid {n} euros."), day=f"May {1 + n % days}, 2026") for n in range(20)]
    verdict = reflected(line("User paid."))
    whole = restore(verdict, guarded, limit_tokens=10_000)
    largest = max(text_tokens(render([item])) for item in guarded)

    for limit in range(verdict.tokens, whole.tokens + 1, 3):
        restored = restore(verdict, guarded, limit_tokens=limit)
        assert limit - largest - 2 <= restored.tokens <= limit
    # A line's end may take a token, or none: it is counted as one.
    assert restore(verdict, guarded, limit_tokens=whole.tokens + len(guarded)).items == whole.items


def test_where_not_all_fit_the_lines_that_hold_most_are_restored_first() -> None:
    telling = line("User paid Ana Costa 40 euros on May 8 for flat A-12.")
    newer = [line(f"User went over all of it once more, with {name}, and it took a while.") for name in ("Bo", "Li")]
    verdict = reflected(line("User paid."))

    restored = restore(verdict, [telling, *newer], limit_tokens=verdict.tokens + 30)

    assert restored.items[1:] == (telling,)


def test_many_short_lines_are_restored_before_a_long_one_that_holds_more_than_each_of_them() -> None:
    long = line("User paid Ana Costa 40 euros on May 8 for flat A-12" + ", and it took quite a while" * 10 + ".")
    short = [line(f"User paid {number} euros.") for number in range(100, 108)]
    verdict = reflected(line("User paid."))

    restored = restore(verdict, [long, *short], limit_tokens=verdict.tokens + text_tokens(render([long])) + 2)

    assert restored.items[1:] == tuple(short)


def test_a_line_is_restored_with_its_details_or_not_at_all() -> None:
    verdict = reflected(line("User paid."))
    guarded = [line("User paid 40 euros.", details=tuple(Detail(text=f"for part {n} of it") for n in range(20)))]

    restored = [restore(verdict, guarded, limit_tokens=verdict.tokens + room) for room in range(300)]

    assert all(one.tokens <= verdict.tokens + room for room, one in enumerate(restored))
    assert [one.items[1:] for one in restored if one is not verdict] == [tuple(guarded)] * restored.count(restored[-1])
    assert restored[0] is verdict


@pytest.mark.timeout(60)
def test_an_edit_of_many_numbers_is_read() -> None:
    numbers = tuple(Cite(seq, seq) for seq in range(100_000, 500_000))  # each looked for in all the text: 20 min
    said = " ".join(f"#{cite.first}" for cite in numbers)

    (found,) = clip_citations([Item(text="x", cites=numbers)], within=((1, 10),), said=said)

    assert (found.text, found.cites) == (f"x {said}", ())


def test_many_lines_of_one_message_are_judged_as_fast_as_lines_of_one_each() -> None:
    def judged(items: tuple[Item, ...]) -> Verdict:
        return judge_reflection(Parsed(items=items), items=items, source_tokens=10**6, limit_tokens=None, cut_off=False)

    def work(items: tuple[Item, ...]) -> int:
        assert judged(items).grounded_share == 1.0
        return steps(lambda: judged(items))

    said = [f"User paid {1_000 + n} euros for item_{n} on May 3." for n in range(500)]
    of_one = tuple(line(text, (1, 1)) for text in said)
    of_each = tuple(line(text, (n, n)) for n, text in enumerate(said, start=1))

    assert work(of_one) < 2 * work(of_each)  # each against each other it is 10 times and, of 1,000, 20
