"""How much a sentence is worth noting: what it asserts, and how much of that is not noted yet.

The weights are round numbers for kinds of sentences; docs/extractive.md has what each of them was worth when measured.
"""

from collections import Counter
from dataclasses import dataclass

from app.kit.words import specifics, terms, weight
from app.memory.extractive import cues
from app.memory.model import Tag

# Beyond its plain words, what makes a sentence specific: each counts as this many words more.
SPECIFIC_WEIGHT = 1.5
TAG_FACTOR = {
    Tag.DECISION: 1.4,
    Tag.OUTCOME: 1.3,
    Tag.ISSUE: 1.3,
    Tag.NEXT_STEP: 1.2,
    Tag.PREFERENCE: 1.2,
    Tag.FACT: 1.0,
}
FIRST_PERSON_FACTOR = 1.4
QUESTION_FACTOR = 0.4
REACTION_FACTOR = 0.5
# Half a sentence of letters is prose; below that it is a table, a dump or art.
LETTERS_SHARE_MIN = 0.5


@dataclass(frozen=True, slots=True)
class Assertion:
    """A sentence with what it says: ``value`` counts its new words, more for what is specific and asserted."""

    text: str
    tag: Tag
    value: float
    terms: frozenset[str]


def assertion(text: str, *, noted: Counter[str]) -> Assertion:
    """The sentence judged against ``noted``, how often each term was written or said before it."""
    ordered = dict.fromkeys(terms(text))  # a set has another order in each process, and sums of floats with it
    found = frozenset(ordered)
    tag = cues.tag_of(text)
    new = sum(weight(term) / (1 + noted[term]) for term in ordered)
    if not found or (len(found) == 1 and cues.is_pleasantry(text)):
        return Assertion(text, tag, 0.0, found)
    return Assertion(text, tag, (new + SPECIFIC_WEIGHT * len(specifics(text))) * _kind_factor(text, tag), found)


def _kind_factor(text: str, tag: Tag) -> float:
    if _letters_share(text) < LETTERS_SHARE_MIN:
        return REACTION_FACTOR
    if cues.is_question(text):
        return QUESTION_FACTOR
    if cues.is_reaction(text):
        return REACTION_FACTOR
    return TAG_FACTOR[tag] * (FIRST_PERSON_FACTOR if cues.is_first_person(text) else 1.0)


def _letters_share(text: str) -> float:
    letters = sum(map(str.isalnum, text))
    return letters / max(1, len(text) - text.count(" "))
