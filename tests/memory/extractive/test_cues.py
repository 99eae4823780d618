"""What a sentence is taken for: real ones, most of which were once taken for something else."""

import pytest

from app.memory.extractive.cues import is_own_deed, tag_of
from app.memory.extractive.lasting import tells_of_self
from app.memory.extractive.scoring import assertion
from app.memory.model import Tag


@pytest.mark.parametrize(
    "sentence",
    [
        "I finished the report.",
        "We won the first prize.",
        "The reservation with code NQNU5R has been successfully canceled.",
        "My offer was accepted.",
        "我已经完成了报告。",
    ],
)
def test_what_is_done_is_an_outcome(sentence: str) -> None:
    assert tag_of(sentence) is Tag.OUTCOME


@pytest.mark.parametrize(
    "sentence",
    [
        "I won't forget that.",
        "I haven't done pottery yet.",
        "None of the flights were canceled.",
        "Reservation IFOYYZ cannot be canceled for a refund.",
        "These are stories to be passed down.",
        "Last week my grandma passed away.",
        "A taxi has a fixed price.",
        "希望我的建议可以帮助你顺利地完成任务。",
    ],
)
def test_what_is_not_done_is_none(sentence: str) -> None:
    assert tag_of(sentence) is not Tag.OUTCOME


@pytest.mark.parametrize(
    "sentence",
    [
        "We haven't decided on Postgres.",
        "We have not agreed on a price.",
        "I never agreed to that.",
        "We haven’t made a final decision.",
        "我还没决定去北京。",
        "我没有决定。",
        "まだ決めていません。",
        "まだ終わっていません。",
        "我不打算去北京。",
    ],
)
def test_what_is_not_decided_or_planned_is_only_told(sentence: str) -> None:
    assert tag_of(sentence) is Tag.FACT


def test_a_decision_that_is_to_be_made_is_a_next_step() -> None:
    assert tag_of("I have to make a decision by Friday.") is Tag.NEXT_STEP


@pytest.mark.parametrize(
    ("sentence", "own"),
    [
        ("Your reservation has been canceled.", True),
        ("I've updated the file.", True),
        ("Fixed the typo in app.py.", True),
        ("The flag has been recovered successfully and is 125.", True),
        ("Both trips are successfully canceled.", True),
        ("Staying motivated is crucial to successfully completing a course.", False),
        ("Models have been used successfully to study many galaxies.", False),
        ("Once your order has been canceled, you get an e-mail.", False),
        ("Done: this list holds tasks that are over.", False),
        ("A change that is merged early helps the team.", False),
        ("Hotels are booked by most people in spring.", False),
    ],
)
def test_an_assistant_tells_of_a_deed_or_explains(sentence: str, *, own: bool) -> None:
    assert is_own_deed(sentence) is own


@pytest.mark.parametrize(
    ("sentence", "decides"),
    [
        ("I decided on the blue one.", True),
        ("We made our final decision.", True),
        ("Let's go with Porto.", True),
        ("I'm going with the blue one.", True),
        ("Please proceed with upgrading to economy class.", True),
        ("Let's just cancel the entire reservation instead.", True),
        ("I haven't decided yet.", False),
        ("It's normal to be both excited and nervous with a big decision.", False),
        ("This makes us keep going with our passions.", False),
        ("我都会支持你的决定。", False),
        ("我决定去上海。", True),
        ("来月引っ越すことにしました。", True),
        ("毎朝走ることにしています。", False),
    ],
)
def test_a_decision_is_one_that_was_made(sentence: str, *, decides: bool) -> None:
    assert (tag_of(sentence) is Tag.DECISION) is decides


@pytest.mark.parametrize(
    ("sentence", "prefers"),
    [
        ("I really like jasmine tea.", True),
        ("I'm into climbing.", True),
        ("Never deploy on Fridays.", True),
        ("I always feel like I'm not making progress.", False),
        ("We got stuff like canned food.", False),
        ("Never saw this coming.", False),
        ("Now I'm stepping into the unknown.", False),
    ],
)
def test_a_preference_is_a_taste_or_a_rule(sentence: str, *, prefers: bool) -> None:
    assert (tag_of(sentence) is Tag.PREFERENCE) is prefers


@pytest.mark.parametrize(
    "text",
    [
        "1:import string",
        "[File: /chall.py (15 lines total)]",
        "root:x:0:0:root:/root:/bin/bash",
        "import os",
        "def main() -> None:",
        "x = compute(7)",
        "int main(void) {",
        "user@host:~$ ",
    ],
)
def test_what_a_program_is_made_of_or_printed_says_nothing(text: str) -> None:
    assert assertion(text).factor == 0


@pytest.mark.parametrize("text", ["Call me at 10:30 tomorrow.", "It costs $40.", "The flag is flag{x}"])
def test_what_has_signs_of_code_in_it_says_something(text: str) -> None:
    assert assertion(text).factor > 0


@pytest.mark.parametrize(
    ("sentence", "tells"),
    [
        ("我有两只猫。", True),
        ("他对生命和自我有了一些不同的认识。", False),
        ("我是老师。", True),
        ("如果我住近，我会带你去的。", False),
        ("나는 서울에 살고 있어.", True),
        ("만약 내가 가까이 살았다면, 나는 너를 데려갈 거야.", False),
    ],
)
def test_a_profile_is_of_the_speaker(sentence: str, *, tells: bool) -> None:
    assert tells_of_self(sentence) is tells
