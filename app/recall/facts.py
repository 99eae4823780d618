"""Facts that match a query: BM25 over the facts that are valid at the time the query is about. Pure."""

from collections.abc import Sequence
from datetime import datetime

from app.facts.model import Fact
from app.recall.model import Hit, HitKind, Span
from app.recall.ranking import plain_scores
from app.recall.tokens import Alternatives


def fact_hits(
    query: Sequence[Alternatives], facts: Sequence[Fact], *, now: datetime, named: Span | None, session: str | None
) -> list[Hit]:
    """The facts with a word of the query, in the order given.

    ``named``: the time that the query names; None: ``now``. ``session``: the key of the only session to rest on.
    """
    asked = [fact for fact in facts if _is_true(fact, now, named) and _rests_on(fact, session)]
    scores = plain_scores(query, [fact.text for fact in asked])
    return [_hit(fact, score) for fact, score in zip(asked, scores, strict=True) if score]


def _is_true(fact: Fact, now: datetime, named: Span | None) -> bool:
    """Whether the fact is valid at some time of the span, which may lie in the past."""
    since, until = (now, None) if named is None else (named.since, named.until)
    begun = fact.valid_from <= now and (until is None or fact.valid_from < until)
    return begun and (fact.valid_to is None or since is None or fact.valid_to > since)


def _rests_on(fact: Fact, session: str | None) -> bool:
    return session is None or any(source.session == session for source in fact.sources)


def _hit(fact: Fact, score: float) -> Hit:
    """The hit, placed at the fact's last source; a fact that rests on no session has no place."""
    source = fact.sources[-1] if fact.sources else None
    cites = source.cites if source else ()
    return Hit(
        kind=HitKind.FACT,
        session=source.session if source else None,
        from_seq=min(cites, default=source.from_seq if source else 0),
        to_seq=max(cites, default=source.to_seq if source else 0),
        score=round(score, 4),
        text=fact.text,
        created_at=fact.valid_from,
        trust=fact.trust,
        cites=cites,
        rests_on=frozenset((source.session, seq) for source in fact.sources for seq in source.cites),
    )
