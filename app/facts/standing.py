"""The standing facts of a session: those of its resource when it began, as SQL for other statements, and their order.

Nothing is written for them (docs/decisions/0036): what a fact was then follows from what it is now. It had been noted
by then, in the words that it still has, and was valid then even if something later ended it. A fact that was deleted,
corrected or reworded since is left out. A branch began when its parent did.

Facts of callers come before those that the memory noted. Of each author, plans that were over come last, and the others
by worth (``worth.py``), of equals the newest first. ``facts_max`` are read of each author, so that a fact too long to
be told keeps no other out.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any, Final

from app.facts.model import Author, Category
from app.facts.worth import CONFIRMED_POINTS
from app.kit.lazy_greedy import lowest_first
from app.kit.words import terms

# JSON, or NULL if nothing was known. A tool's or a stranger's word is left out: they must not write what stands at the
# head of every session. A row without a text is no fact (rereading.py). The limit within the join has Postgres look the
# facts up by their resource: without it the facts of all were read.
STANDING: Final = """
SELECT json_agg(best) FROM (
  SELECT tenant, resource_id, coalesce(began_at, created_at) AS began_at
  FROM sessions WHERE id = {session} AND {facts_max} > 0
) s CROSS JOIN (VALUES {authors}) AS a (author) CROSS JOIN LATERAL (
  SELECT f.id, f.text, f.category, f.author, f.valid_from, ended.valid_to, s.began_at, rank.worth, rank.passed
  FROM facts f CROSS JOIN LATERAL (
    SELECT CASE WHEN f.replaced_by IS NOT NULL AND (
      SELECT r.created_at > s.began_at FROM facts r
      WHERE r.tenant = f.tenant AND r.resource_id = f.resource_id AND r.id = f.replaced_by
    ) THEN NULL ELSE f.valid_to END AS valid_to
  ) AS ended
  CROSS JOIN LATERAL (
    SELECT f.worth + CASE WHEN f.confirmed_at <= s.began_at THEN {confirmed} ELSE 0 END AS worth,
      coalesce(f.passes_at <= s.began_at, false) AS passed
  ) AS rank
  WHERE f.tenant = s.tenant AND f.resource_id = s.resource_id AND f.author = a.author
    AND f.worded_at <= s.began_at AND f.valid_from <= s.began_at AND coalesce(ended.valid_to > s.began_at, true)
    AND f.trust IN ('user', 'operator') AND f.text <> ''
  ORDER BY rank.passed, rank.worth DESC, f.valid_from DESC, f.id DESC LIMIT {facts_max}
) AS best
"""

# The mark changes as soon as any fact of the resource is written, which gives its row another xmin
# (docs/decisions/0032).
STANDING_MARK: Final = """
CASE WHEN s.resource_id IS NOT NULL AND {facts_max} > 0 THEN (
  SELECT bit_xor(hashint8extended(f.id, f.xmin::text::bigint))
  FROM facts f WHERE f.tenant = s.tenant AND f.resource_id = s.resource_id
) END
"""


def standing(*, session: str, facts_max: str) -> str:
    """The query that reads the standing facts, with these SQL parameters."""
    authors = ", ".join(f"('{author}')" for author in Author)
    return STANDING.format(session=session, facts_max=facts_max, authors=authors, confirmed=CONFIRMED_POINTS)


def standing_mark(*, facts_max: str) -> str:
    """The mark of the standing facts, as an SQL expression over the row ``s`` of the session."""
    return STANDING_MARK.format(facts_max=facts_max)


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingFact:
    """``worth`` and ``passed`` are as they were when the session began."""

    id: int
    text: str
    category: Category
    author: Author
    valid_from: datetime
    valid_to: datetime | None
    worth: int
    passed: bool

    def rank(self, *, told: float = 0.0) -> tuple[bool, bool, float, float, int]:
        """The sort key, the most important first; ``told``, 0 to 1: how much of it earlier facts said already."""
        return (
            self.author is not Author.CALLER,
            self.passed,
            -self.worth * (1 - told),
            -self.valid_from.timestamp(),
            -self.id,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The standing facts of a session that began at ``began_at``, by rank."""

    began_at: datetime
    facts: tuple[StandingFact, ...]


def standing_of(found: Sequence[Mapping[str, Any]] | None) -> Standing | None:
    """The rows of ``STANDING`` by rank; None if nothing was known."""
    if not found:
        return None
    facts = sorted(map(_fact_of, found), key=StandingFact.rank)
    return Standing(began_at=datetime.fromisoformat(found[0]["began_at"]), facts=tuple(facts))


def spread(facts: Sequence[StandingFact]) -> Iterator[StandingFact]:
    """All facts, the most important first; the worth of one falls by how much of it earlier ones said already.

    Maximal marginal relevance (Carbonell and Goldstein 1998), by the Jaccard similarity of the words of two facts.
    """
    words = [frozenset(terms(fact.text)) for fact in facts]
    told = [0.0] * len(words)
    having = defaultdict[str, set[int]](set)  # of those that are left: most of them share no word with the first
    for at, word in ((at, word) for at, of in enumerate(words) for word in of):
        having[word].add(at)
    for first in lowest_first(len(words), lambda at: facts[at].rank(told=told[at])):
        yield facts[first]
        for word in words[first]:
            having[word].discard(first)
        for at, common in Counter(chain.from_iterable(having[word] for word in words[first])).items():
            told[at] = max(told[at], common / (len(words[at]) + len(words[first]) - common))


def _fact_of(found: Mapping[str, Any]) -> StandingFact:
    ends = found["valid_to"]
    return StandingFact(
        id=found["id"],
        text=found["text"],
        category=Category(found["category"]),
        author=Author(found["author"]),
        valid_from=datetime.fromisoformat(found["valid_from"]),
        valid_to=None if ends is None else datetime.fromisoformat(ends),
        worth=found["worth"],
        passed=found["passed"],
    )
