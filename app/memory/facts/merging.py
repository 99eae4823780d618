"""Compares a new fact with the known ones: it says the same, refines one, or contradicts it (docs/facts.md). Pure.

By words alone, so that no model that notes a fact is shown another: what is erased with a session was in no other
session's sight. If the words do not tell, both facts stand.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias

from app.facts.model import FOREIGN, SOURCES_MAX, Author, Fact, NewFact
from app.kit.words import overlap, terms
from app.memory.facts.saying import ASSISTANT, Said, said
from app.memory.grounding.claims import BEFORE

DENIED_SHARE: Final = 0.5  # share of common words from which one text denies what the other claims
BEFORE_SHARE: Final = 0.5  # of the words of a "(before: ...)": with so many, an old fact may be meant
HELD_WORDS_MIN: Final = 2
TURNED_WORDS_MAX: Final = 6  # in longer texts turning words mostly have no weight

_ATTITUDES: Final = frozenset(terms("like likes love loves enjoy enjoys hate hates dislike dislikes"))

Read: TypeAlias = Callable[[str], Said]


class Relation(StrEnum):
    SAME = "same"
    REFINES = "refines"
    CONTRADICTS = "contradicts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """``same``: the known fact that says the same; else the new one ends ``ended``, or is ended by ``ended_by``."""

    same: Fact | None = None
    ended: tuple[Fact, ...] = ()
    ended_by: Fact | None = None


def merge(known: Sequence[Fact], new: NewFact, *, read: Read = said) -> Merge:
    """Decide between a new fact and the known ones: the one that came to be true later wins, whichever was noted first.

    The word of a tool or a stranger neither says the same as the user's nor ends it. A new fact that somebody has ended
    stands beside all others.

    ``read`` may be a cache, to merge several facts into the same ones.
    """
    if new.valid_to is not None:
        return Merge(same=next((fact for fact in known if fact.says(new)), None))
    foreign = new.trust in FOREIGN
    related = _related([fact for fact in known if fact.valid_to is None], new, read)
    if same := _same(related, foreign=foreign):
        return Merge(same=same)
    replaced = [fact for fact in known if fact.valid_from > new.valid_from and fact.replaced_by is not None]
    later = [
        fact
        for fact, found in (*related, *_related(replaced, new, read))
        if fact.valid_from > new.valid_from and found is not Relation.SAME and (fact.trust in FOREIGN) == foreign
    ]
    if later:
        ended_by = min(later, key=lambda fact: fact.valid_from)
        before = [fact for fact in known if fact.replaced_by == ended_by.id and _lasted(fact, new.valid_from)]
        if same := _same(_related(before, new, read), foreign=foreign):
            return Merge(same=same)
        return Merge(ended_by=ended_by)
    others = [fact for fact, _ in related if not foreign or fact.trust in FOREIGN]
    return Merge(ended=tuple(others))


def making_way(known: Iterable[Fact], found: Merge, *, now: datetime) -> Fact | None:
    """The fact to delete for room: the past one that ended first, else one that the new one ends; never a caller's."""
    noted = [fact for fact in known if fact.author is Author.EXTRACTOR and fact != found.ended_by]
    own = [fact for fact in noted if all(source.text is not None for source in fact.sources)]
    past = [fact for fact in own if fact.valid_to is not None and fact.valid_to <= now]
    if past:
        return min(past, key=lambda fact: (fact.valid_to or fact.valid_from, fact.id))
    return next((fact for fact in own if fact in found.ended), None)


def said_again(fact: Fact, new: NewFact) -> Fact:
    """The fact with the sources of the new one added. A fact in a caller's words rests on what the caller says alone.

    Beyond SOURCES_MAX the oldest sources that it was extracted from are left out, but for the first, which has its
    words: the oldest sessions are deleted first.
    """
    others = fact.lacking(new.sources)
    over = max(0, len(fact.sources) + len(others) - SOURCES_MAX)
    taken = [source for source in fact.sources[1:] if source.text is not None]
    if fact.author is Author.CALLER or over > len(taken):
        return fact
    return replace(fact, sources=(*(source for source in fact.sources if source not in taken[:over]), *others))


def _related(known: Sequence[Fact], new: NewFact, read: Read) -> list[tuple[Fact, Relation]]:
    """The known facts that relate to the new one, in its category now or when noted: somebody may have corrected it."""
    compared = [fact for fact in known if new.category in {fact.category, *(one.category for one in fact.sources)}]
    return [(fact, found) for fact in compared if (found := relation(fact.text, new.text, read=read))]


def _same(related: Iterable[tuple[Fact, Relation]], *, foreign: bool) -> Fact | None:
    same = (fact for fact, found in related if found is Relation.SAME and (fact.trust in FOREIGN) == foreign)
    return next(same, None)


def _lasted(fact: Fact, at: datetime) -> bool:
    return fact.valid_to is None or fact.valid_to >= at


def relation(old: str, new: str, *, read: Read = said) -> Relation | None:
    """The relation of ``new`` to ``old``; None: it speaks of something else."""
    if old == new:  # also without content words
        return Relation.SAME
    before = BEFORE.search(new)
    one, other = read(old), read(BEFORE.sub("", new))
    if _are_apart(one.whose, other.whose):
        return None
    if one.whose[0] != other.whose[0]:  # only one names its speaker, who may be the user or somebody else
        return Relation.SAME if _among(_unnamed(one), _unnamed(other)) is Relation.SAME else None
    if before and (gone := read(before[1]).words):
        held = read(BEFORE.sub("", old)).words  # what was before in both is no news
        if _held(gone, held) >= BEFORE_SHARE and _are_of_one(held - gone, other.words - gone, gone):
            return Relation.CONTRADICTS
    if one.denies != other.denies and _is_denied(*((other, one) if other.denies else (one, other))):
        return Relation.CONTRADICTS
    return _among(one, other)


def _are_of_one(old: frozenset[str], new: frozenset[str], gone: frozenset[str]) -> bool:
    """Whether the other words are of one thing, if a number is gone: "four" may be four hours, or of September 4."""
    return not any(map(_is_exact, gone)) or not old or bool(old & new)


def _is_denied(denial: Said, claim: Said) -> bool:
    """Whether the denial is of the claim: "no blue cheese" is none of "cheese"; having stopped is one of it all."""
    if overlap(denial.claimed, claim.claimed) < DENIED_SHARE:
        return False
    return denial.ceases or denial.claimed - _ATTITUDES <= claim.claimed


def _among(old: Said, new: Said) -> Relation | None:
    one, other = old.words, new.words
    if old.denies == new.denies:
        if _are_swapped(old.sides, new.sides):
            return Relation.CONTRADICTS
        if other and _says_it(old, new):
            return Relation.SAME
        if one < other and _says_it(new, old):
            return Relation.REFINES
    replaces = old.is_other == new.is_other and new.spoken.replaces(old.spoken, alike=overlap(one, other))
    return Relation.CONTRADICTS if replaces else None


def _says_it(larger: Said, smaller: Said) -> bool:
    """Whether the first text says all that the second says; not if each has an exact term that the other lacks.

    A few words may stand in what says something else: "is vegan" in "cooks vegan dinners for Tom".
    """
    if _are_turned(larger, smaller) or (larger.exact - smaller.exact and smaller.exact - larger.exact):
        return False
    few = len(smaller.words) < HELD_WORDS_MIN
    held = larger.words > smaller.words and not few and larger.spoken.tells >= smaller.spoken.tells
    return held or larger.words == smaller.words


def _are_turned(one: Said, other: Said) -> bool:
    """Whether, among few words, one of them has a turning word that the other lacks."""
    return max(len(one.words), len(other.words)) <= TURNED_WORDS_MAX and one.turns != other.turns


def _are_swapped(old: tuple[frozenset[str], frozenset[str]], new: tuple[frozenset[str], frozenset[str]]) -> bool:
    """Whether they have the same sides in reverse, as for a move from Porto to Lisbon and back."""
    return bool(old[0] & new[1] and old[1] & new[0])


def _are_apart(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether they are by two named speakers, by the assistant and somebody else, or about different people."""
    named = all((one[0], other[0])) or ASSISTANT in {one[0], other[0]}
    return one[1] != other[1] or (named and one[0] != other[0])


def _unnamed(one: Said) -> Said:
    return replace(one, words=one.words - frozenset(terms(one.whose[0])))


def _held(words: frozenset[str], by: frozenset[str]) -> float:
    return len(words & by) / len(words)


def _is_exact(term: str) -> bool:
    """Whether the term has a digit: another number says another thing."""
    return any(character.isdigit() for character in term)
