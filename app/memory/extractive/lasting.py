"""Decides what of a sentence is worth keeping when its conversation is over (docs/facts.md). Pure.

By surface words in English, Chinese, Japanese and Korean, as in ``cues``, chosen on the dev conversations of
docs/eval.md; those of five other languages are in ``european_lasting``.
"""

import re
from typing import Final

from app.kit.patterns import lazy_pattern
from app.kit.words import NUMBER, specifics, terms
from app.memory.extractive import cues, european, european_cues, european_lasting
from app.memory.model import Tag

# Statements about the speaker that hold for longer than today.
_PROFILE: Final = lazy_pattern(
    r"\b(?:my name is"
    r"|call me(?! (?:back|later|again|when|if|at|on|in|by|before|after|any|now|to(?:day|morrow|night))\b)"
    r"|i(?:'m| am) (?:(?:not|no longer) )?(?:an? (?!(?:bit|little|lot|couple|huge|big|few)\b)|from|based|married|single"
    r"|divorced|vegan|vegetarian|allergic|\d+)"
    r"|i (?:no longer|don't|do not) (?:live|work|study|own)"
    r"|i(?:'ve)? (?:just |recently )?(?:live|lived|moved|work|worked|study|studied|grew up|was born|own"
    r"|have an? (?!(?:bit|lot|good idea|few|question|feeling)\b)|have \d+|speak)"
    r"|i(?:'ve| have) been (?!think|look|consider|wonder|try|mean|plan|hear)\w+ing"
    r"|my (?:wife|husband|partner|son|daughter|mother|father|mom|mum|dad|brother|sister|dog|cat|boss|job|birthday"
    r"|address|phone|e-?mail|company|team|kids?|children)|we have (?:an?|two|three|\d+))\b"
    r"|我叫|(?<![自对對给給让讓])我是|我住|我在.{1,8}工作|我的(?:妻子|丈夫|儿子|女儿|狗|猫|生日|电话|地址)|(?<![自让讓给給])我有(?!时|時|点|點|些)|我家|我对.{1,8}过敏"
    r"|私は|僕は|俺は|住んで|働いて|出身|(?:犬|猫|娘|息子|妻|夫)の名前|名前は.{1,12}です|アレルギー"
    r"|제 이름|저는|나는|살고|일하고|다니고|이름은|알레르기",
    re.IGNORECASE,
)
# Statements that are over with the conversation: to go on with it, to ask the other, or on what was said.
_PASSING: Final = lazy_pattern(
    r"^(?:please(?! (?:always|never)\b)|if|imagine|assist|help|write|find|create|make|give|tell|show|explain|generate"
    r"|translate|summari[sz]e|rewrite|rephrase|paraphrase|proofread|provide|describe|compare|suggest|recommend|analy[sz]e"
    r"|convert|compose|implement|elaborate|calculate|discuss|i'll say|thanks|thank you|i see(?=[,.])"
    r"|i (?:meant|mean|was saying|agree|bet))\b"
    r"|\bi(?:'ll| will)(?: \w+ly| also| just)? (?:be |go )?"
    r"(?:check|try|look|keep|make sure|give|consider|start|think|do|take|sure|let|see|stop|ask|with|use|follow|have"
    r"|read|incorporate|provide|research|explore)\b"
    r"|\bi(?:'d| would) (?:(?:like|love) to (?:know|see|hear|get|learn|understand|have you|ask|add|make"
    r"|include|put|use)|appreciate)\b"
    r"|\bi think i(?:'ll| will|'ve got all)\b|\bi(?:'ve)? (?:got|have) (?:a|another) question\b"
    r"|\bi(?:'m| am)(?: \w+ly| also| just| not)? (?:looking for|interested in|curious|sure|excited|open to|happy to"
    r"|trying to (?:figure|understand|decide|find)|having (?:some )?(?:trouble|issues|a hard time))\b"
    r"|\bi(?:'ve| have)? (?:also |just )?(?:heard|noticed)\b"
    r"|\bremind(?:s|ed)? me of\b|\b(?:act|serve) as\b|\bwondering\b|\bneed (?:some )?help\b|\bthanks for\b"
    r"|\b(?:love|like|enjoy|appreciate)d? (?:it|that|this|them|how|the idea|hearing|seeing)\b"
    r"|^(?:만약|もし|如果|要是)|다면,|라면,|확신해|것 같아|지도 몰라|좋겠어|에서 나는 (?:소리|냄새)"
    r"|\bgiv(?:e|ing) up\b|\bmak(?:e|ing) it happen\b|\bkeep (?:it|them) up\b|\d% agree\b|\bcan't wait\b",
    re.IGNORECASE,
)
# What is only supposed, played, an example, or said by somebody else, who may be wrong.
_UNREAL: Final = lazy_pattern(
    r"^(?:suppos(?:e|ing)|assum(?:e|ing)|pretend|hypothetically|role-?play\w*"
    r"|(?:let's|let us) (?:say|pretend|imagine|assume|suppose)|in (?:my|the|this|a) (?:dream|story|game|novel|scenario)"
    r"|as a joke|according to)\b"
    r"|\b(?:kidding|joking)\b"
    r"|\b(?:wonder|ask)(?:s|ed|ing)? (?:me |us )?(?:if|whether|what|which|who|where|why|how)\b"
    r"|\b(?:you|he|she|they|people) (?:says?|said|told (?:me|us|them)|thinks?|thought|believes?|claim(?:s|ed)?)\b"
    r"[^,;]{0,20}\bi\b"
    r"|\b(?:said|says|reads|wrote|writes|sentence is|text is|example|instance):"
    r"|[你您他她](?:们|們)?(?:都|刚才|剛才)?(?:说|說|觉得|覺得|以为|以為|认为|認為)我",
    re.IGNORECASE,
)
# References to something that an earlier sentence named: "I chose them".
_POINTING: Final = lazy_pattern(
    r"^(?:that|this|which)\b|\b(?:it|them|'em|they|these|those|he|she|him|her|there)\b", re.IGNORECASE
)
NAMED_WORDS_MIN: Final = 3  # with so many words before it, its object is named in the sentence itself
PLAN_WORDS_MIN: Final = 4  # of a plan that names nothing: "I'm gonna keep going" is none
# Rules and dates that hold for whomever they are said of: "Never deploy on Fridays", but not "never had the time".
_BINDING: Final = lazy_pattern(
    r"\b(?:from now on|deadline|due (?:on|by)|scheduled)\b"
    r"|^(?:(?:please|and|but) )?(?:always|never) (?!(?:had|been|here|give up|\w+ed)\b)",
    re.IGNORECASE,
)
# Explicit promises of an assistant; what it explains, drafts or lists is nobody's plan.
_PROMISE: Final = lazy_pattern(
    r"^(?:i|we)(?:'ll| will|'ve decided| have decided| agreed| decided)\b|決定|决定|결정|予定|예정", re.IGNORECASE
)
_ENGLISH: Final = lazy_pattern(r"[a-z]{2}", re.IGNORECASE)


def lasting_tag(sentence: str, *, ours: bool) -> Tag | None:
    """The kind of fact: a decision, a wish, a plan, what the speaker is, or what they did; None: not worth keeping.

    ``ours``: the assistant says it.
    """
    if cues.is_question(sentence) or cues.is_reaction(sentence) or cues.is_pleasantry(sentence):
        return None
    sentence = cues.own_words(sentence)
    if _has(sentence, _UNREAL, european_lasting.UNREAL):
        return None
    if (_has(sentence, _PASSING, european_lasting.PASSING) or _points(sentence)) and not binds(sentence):
        return None
    tag = cues.tag_of(sentence)
    return _of_assistant(sentence, tag) if ours else _of_user(sentence, tag)


def tells_of_self(sentence: str) -> bool:
    """Whether it says who its speaker is, or whom and what they have."""
    return (
        _has(sentence, _PROFILE, european_lasting.PROFILE)
        and not _has(sentence, _PASSING, european_lasting.PASSING)
        and not european.has(sentence, european_lasting.UNREAL)
        and not cues.is_question(sentence)
    )


def _has(sentence: str, cue: re.Pattern[str], also: re.Pattern[str]) -> bool:
    return cue.search(sentence) is not None or european.has(sentence, also)


def binds(sentence: str) -> bool:
    """Whether it is a rule or a date that holds from now on."""
    return _has(sentence, _BINDING, european_cues.RULE)


def _points(sentence: str) -> bool:
    """Whether it refers to something that another sentence names, and names nothing itself."""
    found = _POINTING.search(sentence)
    if found is not None and _words(sentence[: found.start()]) < NAMED_WORDS_MIN and not _specifics(sentence):
        return True
    return european.has(sentence, european_lasting.POINTING) and not _specifics(sentence)


def _specifics(sentence: str) -> list[str]:
    """Numbers and names; of German only numbers, because its nouns have capitals too."""
    found = specifics(sentence)
    if found and european.is_german(european.said(sentence)):
        return NUMBER.findall(sentence)
    return found


def _is_plan(sentence: str) -> bool:
    return bool(_specifics(sentence)) or _words(sentence) >= PLAN_WORDS_MIN


def _words(text: str) -> int:
    return sum(1 for _ in terms(text))


def _of_assistant(sentence: str, tag: Tag) -> Tag | None:
    promised = (
        tag in {Tag.DECISION, Tag.NEXT_STEP}
        and _has(sentence, _PROMISE, european_lasting.PROMISE)
        and specifics(sentence)
    )
    return tag if promised else None


def _of_user(sentence: str, tag: Tag) -> Tag | None:
    of_self = cues.is_first_person(sentence) or not _ENGLISH.search(sentence)  # others leave the pronoun out
    match tag:
        case Tag.DECISION | Tag.PREFERENCE | Tag.NEXT_STEP if binds(sentence):
            return tag
        case Tag.NEXT_STEP if cues.is_second_person(sentence) or not _is_plan(sentence):
            return None
        case Tag.DECISION | Tag.PREFERENCE | Tag.NEXT_STEP:
            return tag if of_self else None
        case _ if _has(sentence, _PROFILE, european_lasting.PROFILE):
            return Tag.FACT
        case _:
            return Tag.OUTCOME if cues.is_first_person(sentence) and _specifics(sentence) else None
