"""Ranks the messages that the index found together with the newest ones, which are not indexed yet. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from uuid import UUID

from app.recall.indexing import Entry, Index, entries
from app.recall.model import Indexed, Scope, Span
from app.recall.querying import Query
from app.recall.ranking import Ranked, ranked, word_counts
from app.recall.tokens import Alternatives


def ranked_of(query: Query, indexed: Sequence[Indexed], index: Index, span: Span) -> list[Ranked]:
    """The messages within ``span``, best first: those of the index, and the tail converted to index rows."""
    newest = _newest(index, [*query.words, *query.kin])
    rows = {row.place: row for row in [*indexed, *newest]}
    scope = _scope(index, newest, rows.values(), len(query.words))
    found = ranked(query.words, rows.values(), scope, named=query.named, meant=query.meant)
    return [one for one in found if span.holds(rows[one.place].created_at)]


def _newest(index: Index, words: Sequence[Alternatives]) -> list[Indexed]:
    return [
        indexed_of(session, entry, words)
        for session, messages in index.tail.items()
        for entry in entries(messages, index.last[session])
    ]


def indexed_of(session: UUID, entry: Entry, query: Sequence[Alternatives]) -> Indexed:
    return Indexed(
        session=session,
        seq=entry.seq,
        segment=entry.segment,
        length=entry.length,
        role=entry.role,
        created_at=entry.created_at,
        speaker=entry.speaker,
        counts=word_counts(query, entry.terms),
    )


def _scope(index: Index, newest: Sequence[Indexed], rows: Iterable[Indexed], words: int) -> Scope:
    having = Counter(word for row in rows for word in row.counts)
    segments = {session: last.segment for session, last in index.last.items()}
    segments |= {row.session: row.segment for row in newest}
    return Scope(
        messages=sum(last.seq for last in index.last.values()) + len(newest),
        length=sum(last.length for last in index.last.values()) + sum(row.length for row in newest),
        segments=sum(segments.values()),
        having=[having[word] for word in range(words)],
    )
