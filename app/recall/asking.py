"""Words of asking in a query, which are not its topic, and the role that the query is about. Pure.

"Can you remind me what you said of Lisbon?" looks for Lisbon. The words of asking are English; of a query in another
language every word counts, and its pronouns say whom it is about.
"""

from functools import cache
from typing import Final

import regex

from app.kit.patterns import lazy_pattern
from app.memory.extractive.cues import is_first_person, is_second_person
from app.recall.tokens import Alternatives, query_terms
from app.sessions.model import Role

# Words of talking and asking. They weigh less, but are still searched for: people also speak of talks.
_WORDS: Final = """
advice advise ask asked asking chat chatted clarify conversation discuss discussed discussion earlier follow help idea
ideas know look looking mention mentioned need please previous previously provide provided recall recommend recommended
recommendation recommendations remember remind said say suggest suggested suggestion suggestions talk talked tell think
thinking thought tip tips told want wanted wonder wondering
"""
# Words of grammar in Chinese and Korean, which are cut into pairs as texts are; Japanese writes these in Hiragana.
_GRAMMAR: Final = """
什么 什麼 怎么 怎麼 为什么 為什麼 怎样 怎樣 哪里 哪裡 哪些 哪个 哪個 多少 几个 幾個 什么时候 甚麼時候 何时 何時
我们 我們 你们 你們 他们 他們 她们 她們 咱们 这个 這個 那个 那個 一个 一個 一下 还有 還有 可以 是不是 没有 沒有
有没有 知道 记得 記得 告诉 告訴 说过 說過 说了 說了 关于 關於 是什么 是怎么
언제 어디 누가 무엇 뭐라고 어떻게 어떤 얼마 했지 했어 했나 했나요 했습니까 입니까 합니까 습니다 까요 어요 아요 에요 예요
에 대해 대해서 에서 기억나 이야기 말했 있어 있나 우리 내가 네가 제가 저는 나는
"""
_HIRAGANA: Final = regex.compile(r"[\p{Hiragana}ー]+")
_TOLD: Final = lazy_pattern(
    r"\b(?:remind me|our (?:last|previous|earlier) (?:chat|conversation|discussion|session|talk|game)"
    r"|did you (?:advise|give|mention|recommend|say|suggest|tell|write)"
    r"|you(?:'ve|'d| have| had)?(?: also| just| once)? (?:advised|described|explained|gave|given|listed|made|mentioned"
    r"|provided|recommended|said|shared|suggested|told|wrote))\b"
)
_REQUEST: Final = lazy_pattern(r"\b(?:can|could|would|will) you\b")


@cache  # and not at import: stemming loads a library
def asking_terms() -> Alternatives:
    """The index terms of the words of asking."""
    return frozenset[str]().union(*query_terms(_WORDS))


def is_grammar(word: Alternatives) -> bool:
    """Whether a word of a query, in a script without spaces, is grammar alone.

    Such a word weighs less, but is not a stop word: words of content may be in Hiragana too.
    """
    return all(_HIRAGANA.fullmatch(term) for term in word) or word <= _grammar()


@cache
def _grammar() -> Alternatives:
    return frozenset[str]().union(*query_terms(_GRAMMAR))


def meant_role(query: str) -> Role | None:
    """The role whose messages answer: the user's for "my sister", the assistant's for "what you recommended".

    A request ("can you suggest a film") is about the user. None: any role.
    """
    lowered = query.lower()
    if _TOLD.search(lowered):
        return Role.ASSISTANT
    rest = _REQUEST.sub(" ", lowered)
    of_the_user = rest != lowered or is_first_person(rest)
    return Role.USER if of_the_user and not is_second_person(rest) else None
