"""Scores how much a sentence is worth noting: what it asserts, and how much of that is not noted yet.

The weights are round numbers for kinds of sentences; docs/extractive.md has what each of them was worth when measured.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from app.kit.patterns import lazy_pattern
from app.kit.words import NUMBER, specifics, terms, weight
from app.memory.extractive import cues
from app.memory.model import Tag

# What makes a sentence specific: each number or name counts as this many words more.
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
# Prose is at least half letters; less is art, or with some numbers a row of a table or of a dump.
LETTERS_SHARE_MIN = 0.5
ROW_NUMBERS_MIN = 5  # a telephone number has fewer

# Output of programs, and code: agents are fed such texts in the user's name.
_OUTPUT = lazy_pattern(
    r"\d+[:|](?!\d\d\b)|\[File: |\(\d+ more lines|\((?:Open file|Current directory|Interactive session)\b|!DOCTYPE"
    r"|\"http|\S*[$#] ?$|[-d][rwx-]{9}|\S+:x?:\d+:\d+:|[\w.]+\([^ ]*\)$"
    r"|(?:import [\w.]+|from [\w.]+ import .*|(?:def|class) \w+.*:|return .*[)\w]|[\w.\[\]\"']+ ?[+-]?= ?\S.*"
    r"|(?:for|if|while|with) .*:)$"
)
_CODE_ENDS = ("{", ";")


@dataclass(frozen=True, slots=True)
class Assertion:
    """A sentence with what it says: its ``terms`` in order, each once, and the number of its numbers and names.

    ``factor``: the weight of its kind, 0 if it says nothing.
    """

    text: str
    tag: Tag
    terms: tuple[str, ...]
    specifics: int
    factor: float
    corrects: bool

    def value(self, noted: Counter[str]) -> float:
        """The weight of its words, each the less the more often ``noted`` has it, and of its numbers and names.

        In a correction or a decision all words count in full: who consents to one of several offers repeats its words.
        """
        in_full = self.corrects or (self.tag is Tag.DECISION and self.factor >= TAG_FACTOR[Tag.DECISION])
        new = sum(weight(term) / (1 if in_full else 1 + noted[term]) for term in self.terms)
        return (new + SPECIFIC_WEIGHT * self.specifics) * self.factor


def assertion(text: str) -> Assertion:
    """The sentence judged by itself."""
    found = tuple(dict.fromkeys(terms(text)))  # a set's order, and so a sum of floats, differs by process
    corrects = cues.is_correction(text)
    idle = not found or (len(found) == 1 and cues.is_pleasantry(text) and not corrects) or _is_row(text)
    tag = cues.tag_of(text)
    factor = 0.0 if idle else _kind_factor(text, tag)
    return Assertion(text, tag, found, len(specifics(text)), factor, corrects and not idle)


def _kind_factor(text: str, tag: Tag) -> float:
    if _share(text, str.isalnum) < LETTERS_SHARE_MIN:
        return REACTION_FACTOR
    if cues.is_question(text):
        return QUESTION_FACTOR
    if cues.is_reaction(text):
        return REACTION_FACTOR
    return TAG_FACTOR[tag] * (FIRST_PERSON_FACTOR if cues.is_first_person(text) else 1.0)


def _is_row(text: str) -> bool:
    if text.endswith(_CODE_ENDS) or _OUTPUT.match(text):
        return True
    return len(NUMBER.findall(text)) >= ROW_NUMBERS_MIN and _share(text, str.isalpha) < LETTERS_SHARE_MIN


def _share(text: str, is_one: Callable[[str], bool]) -> float:
    """The share of the signs of a text for which ``is_one`` holds; a mark is part of its letter."""
    signs = text.replace(" ", "")
    if not text.isascii():
        signs = "".join(sign for sign in signs if not unicodedata.category(sign).startswith("M"))
    return sum(map(is_one, signs)) / max(1, len(signs))
