"""What facts tell of what is asked later, by a running service."""

import asyncio
from dataclasses import replace

import httpx2
import pytest

from benchmarks.quality.facts import Known, Way, doubled, known
from benchmarks.quality.report import noted, noted_table
from benchmarks.quality.talks import Talk, sittings
from tests.benchmarks.test_quality import SAID, told
from tests.conftest import Service

QUESTION, ANSWER = "Where did Maria move?", "To Lisbon"


async def measured(service: Service, talk: Talk) -> Known:
    with httpx2.Client(base_url=service.url, timeout=60) as http:
        return await asyncio.to_thread(known, http, talk)


async def test_what_is_noted_of_each_chat_is_held_by_the_facts_and_the_profile(service: Service) -> None:
    found = await measured(service, told(*SAID, question=QUESTION, answer=ANSWER))

    assert found.grounded == (True, True)  # Lisbon, and the cat
    assert found.doubled == (False, False)
    for way in (Way.FACTS, Way.PROFILE):
        assert [(one.evidence, one.answer) for one in found.held[way]] == [(1, 1)]
    assert found.tokens[Way.PROFILE] == found.tokens[Way.PROFILE_SAMPLE] > found.tokens[Way.FACTS] > 0


async def test_a_talk_of_which_nothing_is_noted_has_no_share_of_anything(service: Service) -> None:
    found = await measured(service, told("Is it warm there?", question=QUESTION, answer=ANSWER))

    assert (found.grounded, found.doubled, set(found.tokens.values())) == ((), (), {0})
    assert {one.evidence for held in found.held.values() for one in held} == {0}


def test_the_chats_of_a_talk_are_its_sittings_in_their_order() -> None:
    assert [list(seqs) for seqs in sittings(told(*SAID))] == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("Maria: I really moved to Lisbon with Anna.", True),
        ("Maria: I found work in a bakery.", False),
    ],
)
def test_facts_are_doubles_by_most_of_their_words(other: str, *, expected: bool) -> None:
    assert doubled(["Maria: I moved to Lisbon with my sister Anna.", other]) == [expected, expected]


async def test_the_figures_of_facts_have_a_row_for_each_way_of_telling_them(service: Service) -> None:
    one = await measured(service, told(*SAID, question=QUESTION, answer=ANSWER))
    two = replace(one, grounded=(False, False), doubled=(True, False))

    made = noted([one, two])

    assert [figure.way for figure in made] == list(Way)
    assert {(figure.talks, figure.questions, figure.facts) for figure in made} == {(2, 2, 2)}
    assert {(figure.grounded, figure.doubled) for figure in made} == {(0.5, 0.25)}
    headings, rows = noted_table(made)
    assert [len(row) for row in rows] == [len(headings)] * len(Way)
