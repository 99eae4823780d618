"""How a user says that a topic is over, and how not."""

from itertools import chain

import pytest

from app.sessions.phrases import CLOSING, COURTESIES, OPENING, closes, opens, turns


@pytest.mark.parametrize(
    "text",
    [
        "That's all.",
        "That’s all for now, thanks!",
        "OK, great. Nothing else.",
        "No, that's it for today — thank you so much!",
        "Eso es todo, gracias.",
        "Danke, das war's!",
        "C'est tout, merci beaucoup.",
        "На этом всё, спасибо!",
        "네, 여기까지 할게요. 감사합니다!",
        "Bu kadar, teşekkürler.",
        "هذا كل شيء، شكرا",
        "बस इतना ही, धन्यवाद।",
        "好的，就这些了，谢谢！",
        "はい、以上です。ありがとうございました。",
    ],
)
def test_who_says_nothing_but_that_it_is_over_closes_the_topic(text: str) -> None:
    assert closes(text)
    assert turns(text)
    assert not opens(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Thanks!",
        "Is that all?",
        "That's all?",
        "هذا كل شيء؟",
        "I only had bread, that's all.",
        "That's all I know about the outage.",
        "That's all, but what about the invoice?",
        "The error says that's all.",
        "Nothing else works either.",
        "以上ですか？",
        "就这样做吧",
        "이상입니다만 다른 질문이 있어요.",
        "그게 다예요?",
        "that's all " * 40,
    ],
)
def test_who_says_anything_beside_it_closes_nothing(text: str) -> None:
    assert not closes(text)
    assert not turns(text)


@pytest.mark.parametrize(
    "text",
    [
        "New topic: how do I renew my passport?",
        "OK thanks. Let's move on.",
        "Thanks! On another note, I made ice cream last Friday.",
        "Let's move on to the budget for March.",
        "Cambiando de tema, ¿qué tiempo hará mañana?",
        "Neues Thema: die Heizung.",
        "Changeons de sujet.",
        "Давай сменим тему. Как дела на работе?",
        "주제를 바꿔서, 좋아하는 영화는 뭐야?",
        "换个话题，你周末去哪儿？",
        "話は変わりますが、来週の会議はいつですか？",
    ],
)
def test_who_begins_with_another_topic_opens_it(text: str) -> None:
    assert opens(text)
    assert turns(text)
    assert not closes(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Should we change the topic of the newsletter?",
        "New topic?",
        "I read a book about moving on.",
        "Moving on from Oracle took us a year.",
        "She said: let's move on.",
        "The task is called next task.",
        "다음 주제가 뭐였지?",
        "新话题的标题是什么",
        "別の話題について本を読みました",
    ],
)
def test_who_only_speaks_of_topics_opens_none(text: str) -> None:
    assert not opens(text)
    assert not turns(text)


def test_the_phrases_are_written_as_texts_are_compared() -> None:
    """In lower case, without the marks that part clauses, and none of them a mere courtesy."""
    for phrase in chain(CLOSING, OPENING, COURTESIES):
        assert phrase
        assert phrase == phrase.casefold().strip()
        assert not set(phrase) & set(".,;:!?。、，；：！？")
    assert not COURTESIES & (CLOSING | OPENING)
    assert not CLOSING & OPENING
    assert all(closes(phrase) for phrase in CLOSING)
    assert all(opens(phrase) for phrase in OPENING)
    assert all(turns(f"OK, no gracias! {phrase}") for phrase in CLOSING | OPENING)
