from datetime import UTC, datetime

import pytest

from app.recall.only_then import asks_what_was_said
from app.recall.times import named_time

NOW = datetime(2026, 8, 12, 15, 30, tzinfo=UTC)


def asks(query: str) -> bool:
    return asks_what_was_said(named_time(query, NOW).beside, told=True)


@pytest.mark.parametrize(
    "query",
    [
        "What did I say last May?",
        "What did we talk about on 8 May 2023?",
        "What happened in 2022?",
        "Please remind me what we've discussed yesterday evening",
        "Was habe ich letzten Mai gesagt?",
        "Was haben wir gestern gemacht?",
        "Qu'est-ce que j'ai dit hier ?",
        "Qu'avons-nous dit la semaine dernière ?",
        "¿Qué dije ayer?",
        "¿De qué hablamos la semana pasada?",
        "O que eu disse ontem?",
        "Cosa ho detto due settimane fa?",
        "Wat heb ik vorige week gezegd?",
        "что я говорил две недели назад",
        "昨天我们说了什么",
        "去年五月我说过什么",
        "5月に何を話した",
        "先週末に何をしましたか",
        "12월에 뭐라고 했지",
        "지난주에 우리가 무슨 얘기를 했지",
    ],
)
def test_a_query_of_saying_and_doing_alone_only_asks_what_was_said_then(query: str) -> None:
    assert asks(query)


@pytest.mark.parametrize(
    "query",
    [
        "What did I say about the car last May?",
        "What did Ana do last May?",
        "What did I say about AI last May?",
        "When did I go to Paris last year?",
        "Was hat Anna gestern gesagt?",
        "昨天我们说了什么菜",
        "昨日すしを食べたと言った",
        "2023-05-08",
        "yesterday",
    ],
)
def test_what_is_asked_about_is_looked_for(query: str) -> None:
    assert not asks(query)


def test_a_time_with_words_of_grammar_alone_asks_for_it_and_a_word_that_is_a_stop_word_elsewhere_does_not() -> None:
    assert asks_what_was_said("and ?", told=False)
    assert not asks_what_was_said("dog ", told=False)  # a stop word of Danish


@pytest.mark.timeout(60)
def test_a_long_run_of_signs_takes_no_longer_than_another() -> None:
    assert not asks_what_was_said("何に" * 5_000 + "猫", told=True)
