"""Scores what a fact is worth in the few tokens of a profile, from its words, when it is written (docs/facts.md). Pure.

In whole points, so that Postgres and Python order facts alike. Numbers and names count in any language; the other cues
are surface words in English, in the first person and the third; those for lasting facts are also in Chinese, Japanese,
Korean, German, Spanish, French, Portuguese and Italian.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from typing import Final

from app.facts.model import Category
from app.kit.days import DatePhrase, date_phrases
from app.kit.patterns import lazy_pattern
from app.kit.words import NUMBER, names, terms

CATEGORY_POINTS: Final = {
    Category.PROFILE: 4,
    Category.PREFERENCE: 3,
    Category.DECISION: 3,
    Category.INSIGHT: 2,
    Category.COMMITMENT: 1,
}
NUMBER_POINTS: Final = 2  # a date is one
NAMES_MAX: Final = 2  # a point each
LASTING_POINTS: Final = 4
DONE_POINTS: Final = 2
INTENDED_POINTS: Final = -2
UNEVEN_POINTS: Final = -1
EVEN_WORDS: Final = range(2, 17)  # fewer hardly say anything, more crowd out other facts
CONFIRMED_POINTS: Final = 2  # said more than once, by when a session began
LEAST_POINTS: Final = 1

PLAN_DAYS: Final = 7  # after the last day that it names, a plan is over
MONTH_DAYS: Final = 31  # added if a plan names a month without a day

# The speaker's name, before the words.
SPEAKER: Final = lazy_pattern(r"^[\w .@'’-]{1,60}: ")
_LASTING: Final = lazy_pattern(
    r"\b(?:(?:name|wife|husband|partner|son|daughter|mother|father|mom|mum|dad|brother|sister|dog|cat|pet|job|birthday|kid"
    r"|degree)s?|child(?:ren)?|family|lives?|lived|works? (?:at|as|for|in)|allerg(?:y|ies|ic)|vegan|vegetarian|married"
    r"|divorced|engaged|born|grew up|moved|graduated|years? old|owns?|diagnosed"
    r"|heiße|meine? (?:mann|frau|partner(?:in)?|sohn|tochter|mutter|vater|bruder|schwester)|hund|katze|geburtstag"
    r"|wohnen?|wohnt|arbeite|allergisch|verheiratet|geboren"
    r"|me llamo|marido|esposa|mujer|hij[oa]s?|madre|padre|herman[oa]s?|perr[oa]|gat[oa]s?|cumpleaños|(?<!in )vivo"
    r"|vivimos|trabajo|alérgic[oa]|alergia|casad[oa]|nací"
    r"|je m['’]appelle|mon mari|ma femme|fils|fille|enfants|mère|père|frère|sœur|chien|anniversaire|habit(?:e|ons)"
    r"|je travaille|allergique|mariée?"
    r"|chamo-me|me chamo|mulher|filh[oa]s?|mãe|pai|irmão|irmã|cão|cachorro|aniversário|moro|moramos|nasci"
    r"|mi chiamo|marito|moglie|figli[oa]?|fratello|sorella|compleanno|abito|abitiamo|lavoro|allergic[oa]|sposat[oa]"
    r"|nat[oa] a)\b"
    r"|妻|丈夫|夫|娘|息子|女儿|儿子|妈妈|爸爸|母|父|家族|家人|狗|犬|猫|过敏|アレルギー|生日|誕生日|叫|住|工作|仕事|働"
    r"|아내|남편|딸|아들|엄마|아빠|가족|강아지|고양이|알레르기|생일|이름|살고|일하",
    re.IGNORECASE,
)
_DONE: Final = lazy_pattern(
    r"\b(?:i|we|user|he|she|they)(?:'ve|'d| have| has)? (?:just |recently |actually |also |finally )*"
    r"(?:[a-z]{2,}ed|bought|got|went|made|took|had|began|saw|met|won|found|sold|built|read|ran)\b",
    re.IGNORECASE,
)
_INTENDED: Final = lazy_pattern(
    r"\b(?:going to|gonna|plan(?:s|ning)?|thinking|looking|trying|hop(?:e|es|ing)|will|would|wants?|needs?)\b"
    r"|['’](?:ll|d)\b",
    re.IGNORECASE,
)


def worth(text: str, category: Category) -> int:
    """Points, at least ``LEAST_POINTS``: how specific it is, how lasting, and whether it came to be or is intended."""
    said = SPEAKER.sub("", text)
    return max(LEAST_POINTS, CATEGORY_POINTS[category] + sum(_points(said)))


def _points(said: str) -> Iterator[int]:
    yield NUMBER_POINTS if NUMBER.search(said) else 0
    yield min(NAMES_MAX, len(set(names(said))))
    yield LASTING_POINTS if _LASTING.search(said) else 0
    yield DONE_POINTS if _DONE.search(said) else 0
    yield INTENDED_POINTS if _INTENDED.search(said) else 0
    yield 0 if sum(1 for _ in terms(said)) in EVEN_WORDS else UNEVEN_POINTS


def passes_at(text: str, category: Category) -> datetime | None:
    """When a plan is over: some days after the last date with a year in its words; None: never."""
    if category is not Category.COMMITMENT:
        return None
    return max(filter(None, map(_passed, date_phrases(text))), default=None)


def _passed(phrase: DatePhrase) -> datetime | None:
    day = None if phrase.year is None else phrase.on(phrase.year)
    if day is None:
        return None
    try:
        over = day + timedelta(days=PLAN_DAYS + (MONTH_DAYS if phrase.day is None else 0))
    except OverflowError:  # the calendar ends before
        return None
    return datetime.combine(over, time(), tzinfo=UTC)
