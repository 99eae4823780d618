"""Which facts of a resource are deleted or changed when some of their sources are removed (docs/facts.md). Pure.

A fact that an extractor took from two sessions keeps the words of the other one; if a caller noted it too, in the same
words, it keeps these. A fact in a caller's own words is deleted with the first of its sources that is removed: nobody
knows which of them the words came from. Corrections of anything but its words are kept without the words, for when the
fact is noted again.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from app.facts.model import Author, Category, Fact, Source
from app.sessions.model import Trust


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """What to correct of a fact that is noted again from the source's cites in its category; no words are kept.

    ``source.valid_from`` and ``valid_to``: as somebody set them (None: they did not); ``category``: as it is now.
    If its source has no category, nothing is noted again. ``id``: of its row, if it has one.
    """

    source: Source
    category: Category
    trust: Trust
    valid_to: datetime | None
    id: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FactChanges:
    """The ids of the facts to delete, and the facts as changed."""

    deleted: tuple[int, ...]
    changed: tuple[Fact, ...]


def of_session(session: UUID) -> Callable[[Source], bool]:
    """A test for sources of a session."""
    return lambda source: source.session_id == session


def of_message(session: UUID, seq: int) -> Callable[[Source], bool]:
    """A test for sources that rest on a message: a caller cites it, or an extractor read as far as it.

    An extractor that was shown a note of the message has read as far, because it is shown whole notes.
    """
    return lambda source: (
        source.session_id == session
        and (seq in source.cites if source.text is None or _is_reworded(source) else source.to_seq >= seq)
    )


def derived_since(session: UUID, seq: int) -> Callable[[Source], bool]:
    """A test for sources in the words of an extractor that read the session as far as ``seq`` or further."""
    return lambda source: (
        source.session_id == session and source.text is not None and not _is_reworded(source) and source.to_seq >= seq
    )


def _is_reworded(source: Source) -> bool:
    """Whether the words are a caller's now, who saw the cited messages, but not what else the extractor saw."""
    return source.text == "" and bool(source.cites)


def without(facts: Sequence[Fact], is_gone: Callable[[Source], bool]) -> FactChanges:
    """The changes of the facts if the sources that are gone are removed."""
    return _changes(facts, {fact.id: _without(fact, is_gone) for fact in facts})


def without_facts(facts: Sequence[Fact], ids: Collection[int]) -> FactChanges:
    return _changes(facts, {fact.id: None if fact.id in ids else fact for fact in facts})


def corrections(facts: Sequence[Fact], is_gone: Callable[[Source], bool]) -> list[Correction]:
    """The corrections to apply when the removed sources are read again, in the order of the facts.

    If the same messages tell several facts of a category, only their order tells which was corrected: all are kept.
    """
    taken = [
        _correction(fact, source)
        for fact in facts
        if fact.author is Author.EXTRACTOR
        for source in fact.sources
        if source.category is not None and is_gone(source)
    ]
    corrected = {key_of(one.source) for one in taken if _is_corrected(one)}
    return [one for one in taken if key_of(one.source) in corrected]


def key_of(source: Source) -> tuple[UUID, tuple[int, ...], Category | None]:
    """The key by which a fact that is noted again is recognised."""
    return source.session_id, source.cites, source.category


def _correction(fact: Fact, source: Source) -> Correction:
    told = [one.valid_from for one in fact.sources if one.text is not None]
    since = None if None in told or fact.valid_from in told else fact.valid_from
    ends = None if fact.replaced_by is not None else fact.valid_to
    return Correction(
        source=replace(source, text="", observations=(), valid_from=since),
        category=fact.category,
        trust=fact.trust,
        valid_to=ends,
    )


def _is_corrected(one: Correction) -> bool:
    said = (one.source.category, None, None)
    return said != (one.category, one.source.valid_from, one.valid_to)


def _changes(facts: Sequence[Fact], kept: Mapping[int, Fact | None]) -> FactChanges:
    """The facts deleted and changed. One that was replaced by a deleted one is valid for as long as that one was."""
    gone = {fact.id: fact for fact in facts if kept[fact.id] is None}
    now = {id_: _inherited(fact, gone) for id_, fact in kept.items() if fact is not None}
    changed = (now[fact.id] for fact in facts if now.get(fact.id, fact) != fact)
    return FactChanges(deleted=tuple(gone), changed=tuple(changed))


def _without(fact: Fact, is_gone: Callable[[Source], bool]) -> Fact | None:
    sources = tuple(source for source in fact.sources if not is_gone(source))
    if len(sources) == len(fact.sources):
        return fact
    if not sources or fact.author is Author.CALLER:
        return None
    if any(source.text is None for source in sources):
        return replace(fact, sources=sources)
    since = _since(fact, sources[0])
    return replace(fact, sources=sources, text=sources[0].text or fact.text, valid_from=since)


def _since(fact: Fact, source: Source) -> datetime:
    """Since when the fact is valid by this source, unless somebody has set it."""
    if fact.valid_from != fact.sources[0].valid_from or source.valid_from is None:
        return fact.valid_from
    return source.valid_from if fact.valid_to is None else min(source.valid_from, fact.valid_to)


def _inherited(fact: Fact, gone: Mapping[int, Fact]) -> Fact:
    while (by := gone.get(fact.replaced_by or 0)) is not None:
        fact = replace(fact, valid_to=by.valid_to, replaced_by=by.replaced_by)
    return fact
