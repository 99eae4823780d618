"""Facts: what is known of a resource for longer than a session, as values (api.md, Sessions)."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Self
from uuid import UUID

from app.sessions.model import Trust


class Category(StrEnum):
    DECISION = "decision"
    PREFERENCE = "preference"
    COMMITMENT = "commitment"
    INSIGHT = "insight"
    PROFILE = "profile"


class Author(StrEnum):
    """Who worded a fact."""

    CALLER = "caller"
    EXTRACTOR = "extractor"


class Validity(StrEnum):
    CURRENT = "current"
    PAST = "past"
    ALL = "all"


# Categories of the user's or the operator's word alone: no tool's output and no stranger's text becomes one of these.
OWN_WORD: Final = frozenset({Category.DECISION, Category.PREFERENCE, Category.PROFILE})
FOREIGN: Final = frozenset({Trust.TOOL, Trust.EXTERNAL})
SOURCES_MAX: Final = 20  # of one fact


@dataclass(frozen=True, slots=True, kw_only=True)
class FactConfig:
    """Limits: ``facts_max`` of one resource, with the past ones; ``noted_max`` noted by one reading of a session."""

    facts_max: int = 1_000
    noted_max: int = 30
    text_characters_max: int = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The messages of a session that a fact cites.

    ``text``: the words of an extractor, which read the messages ``from_seq``..``to_seq`` or notes of them, among these
    ``observations``; ``category`` and ``valid_from``: as it noted them (None: an older version did not keep them).
    ``text`` None: a caller cites the messages, and ``from_seq``..``to_seq`` are their ends.
    """

    session_id: UUID
    session: str
    from_seq: int
    to_seq: int
    cites: tuple[int, ...] = ()
    observations: tuple[int, ...] = ()
    text: str | None = None
    category: Category | None = None
    valid_from: datetime | None = None

    @classmethod
    def citing(cls, session_id: UUID, session: str, cites: Collection[int], *, text: str | None) -> Self:
        """A source of which only the cited messages are known; a model may have cited none."""
        return cls(
            session_id=session_id,
            session=session,
            from_seq=min(cites, default=0),
            to_seq=max(cites, default=0),
            cites=tuple(cites),
            text=text,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFact:
    text: str
    category: Category
    trust: Trust
    author: Author
    sources: tuple[Source, ...] = ()
    valid_from: datetime
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Valid from ``valid_from`` until ``valid_to`` (None: still). ``replaced_by``: the id of the fact that ended it."""

    id: int
    text: str
    category: Category
    trust: Trust
    author: Author
    sources: tuple[Source, ...]
    valid_from: datetime
    valid_to: datetime | None
    replaced_by: int | None
    created_at: datetime
    updated_at: datetime

    def says(self, new: NewFact) -> bool:
        """Whether ``new`` has the same words, category and end, whenever it began, and so tells nothing new.

        The word of a tool or a stranger is never the same as that of the user or the operator.
        """
        if (self.trust in FOREIGN) != (new.trust in FOREIGN):
            return False
        return (self.text, self.category, self.valid_to) == (new.text, new.category, new.valid_to)

    def lacking(self, sources: Iterable[Source]) -> tuple[Source, ...]:
        """Those of the sources that the fact does not rest on yet."""
        known = {(one.session_id, one.cites) for one in self.sources}
        return tuple(one for one in sources if (one.session_id, one.cites) not in known)

    def ended(self, *, by: "Fact") -> Self:
        return replace(self, valid_to=max(self.valid_from, by.valid_from), replaced_by=by.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactFilter:
    """``at``: the time of ``validity``; None: now."""

    category: Category | None
    validity: Validity
    at: datetime | None


def source_to_json(source: Source) -> dict[str, Any]:
    return {
        "session_id": str(source.session_id),
        "session": source.session,
        "from_seq": source.from_seq,
        "to_seq": source.to_seq,
        "cites": list(source.cites),
        "observations": list(source.observations),
        "text": source.text,
        "category": source.category,
        "valid_from": None if source.valid_from is None else source.valid_from.isoformat(),
    }


def source_from_json(stored: Mapping[str, Any]) -> Source:
    category, valid_from = stored.get("category"), stored.get("valid_from")
    return Source(
        session_id=UUID(stored["session_id"]),
        session=stored["session"],
        from_seq=stored["from_seq"],
        to_seq=stored["to_seq"],
        cites=tuple(stored["cites"]),
        observations=tuple(stored["observations"]),
        text=stored["text"],
        category=None if category is None else Category(category),
        valid_from=None if valid_from is None else datetime.fromisoformat(valid_from),
    )
