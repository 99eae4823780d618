"""Parses a query: its words with their kin, the time that it names, and the role that it is about. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.recall.asking import meant_role
from app.recall.kin import kin_of
from app.recall.model import Span
from app.recall.only_then import asks_what_was_said
from app.recall.times import Named, named_time
from app.recall.tokens import Alternatives, query_terms
from app.sessions.model import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A parsed query: its words with the kin of each, the time ``named`` and the role ``meant``.

    ``only_then``: it only asks what was said at that time, so that its words are not searched for.
    """

    words: Sequence[Alternatives]
    kin: Sequence[Alternatives]
    named: Span | None
    meant: Role | None
    now: datetime
    only_then: bool = False


def understood(text: str, now: datetime, *, words_max: int) -> Query:
    """Parse ``text`` as asked at ``now``; of too many words, the first and the last half of ``words_max`` are kept."""
    named = named_time(text, now)
    words = _ends(query_terms(named.text), words_max)
    return Query(
        words=words,
        kin=kin_of(words, text),
        named=named.span,
        meant=meant_role(text),
        now=now,
        only_then=named.span is not None and _only_asks(named),
    )


def _only_asks(named: Named) -> bool:
    """Whether only what was said then is asked for. A bare date ("2023-05-08") may itself be searched for."""
    return asks_what_was_said(named.beside, told=query_terms(named.text) != query_terms(named.beside))


def _ends(words: list[Alternatives], most: int) -> list[Alternatives]:
    """At most ``most`` words, from both ends: a question stands before or after pasted text."""
    return words if len(words) <= most else [*words[: most - most // 2], *words[len(words) - most // 2 :]]
