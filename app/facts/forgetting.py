"""What is left of a resource's facts when some of what they rest on goes (docs/facts.md). Pure.

A fact that an extractor took from two sessions keeps what the other one said; where a caller has noted it too, in the
same words, it keeps these. One in a caller's own words goes with the first of its sources: nobody knows which of them
the words are from.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from app.facts.model import Author, Fact, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """The ids of what is deleted, and the facts that are others now."""

    deleted: tuple[int, ...]
    changed: tuple[Fact, ...]


def of_sessions(sessions: Iterable[UUID]) -> Callable[[Source], bool]:
    """What rests on these sessions."""
    gone = frozenset(sessions)
    return lambda source: source.session_id in gone


def of_message(session: UUID, seq: int, *, derived_from: int) -> Callable[[Source], bool]:
    """What rests on a message: it was cited, or an extractor saw it or what was derived from it, from a seq on."""
    return lambda source: (
        source.session_id == session and (seq in source.cites if source.text is None else source.to_seq >= derived_from)
    )


def derived_since(session: UUID, seq: int) -> Callable[[Source], bool]:
    """What an extractor made of the messages from ``seq`` on."""
    return lambda source: source.session_id == session and source.text is not None and source.to_seq >= seq


def without(facts: Sequence[Fact], is_gone: Callable[[Source], bool]) -> Left:
    """The facts without what rests on sources that are gone."""
    return _left(facts, {fact.id: _without(fact, is_gone) for fact in facts})


def without_facts(facts: Sequence[Fact], ids: Collection[int]) -> Left:
    return _left(facts, {fact.id: None if fact.id in ids else fact for fact in facts})


def _left(facts: Sequence[Fact], kept: Mapping[int, Fact | None]) -> Left:
    """What a fact that goes had replaced is valid for as long as that one was."""
    gone = {fact.id: fact for fact in facts if kept[fact.id] is None}
    now = {id_: _inherited(fact, gone) for id_, fact in kept.items() if fact is not None}
    return Left(deleted=tuple(gone), changed=tuple(now[fact.id] for fact in facts if now.get(fact.id, fact) != fact))


def _without(fact: Fact, is_gone: Callable[[Source], bool]) -> Fact | None:
    sources = tuple(source for source in fact.sources if not is_gone(source))
    if len(sources) == len(fact.sources):
        return fact
    if not sources or fact.author is Author.CALLER:
        return None
    told = None if any(source.text is None for source in sources) else sources[0].text
    return replace(fact, sources=sources, text=told or fact.text)


def _inherited(fact: Fact, gone: Mapping[int, Fact]) -> Fact:
    while (by := gone.get(fact.replaced_by or 0)) is not None:
        fact = replace(fact, valid_to=by.valid_to, replaced_by=by.replaced_by)
    return fact
