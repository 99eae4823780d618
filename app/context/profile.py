"""What was known of the resource before its session began, as the block that a context tells it by (docs/facts.md).

The most important first, as far as whole facts fit; one that does not is passed by, and the next may. Every fact is one
line, whatever was put into it, so that none can end the block or pose as a line of ours.
"""

from collections.abc import Callable, Iterator
from datetime import datetime, tzinfo
from functools import lru_cache
from typing import Final

from app.context.blocks import text_block
from app.context.draft import Line
from app.context.explain import decision, returning
from app.context.model import Block, Decision, Section, Stability, Verdict
from app.context.wording import known_before, known_line
from app.facts.standing import Standing, spread
from app.kit.tokens import text_tokens

STAGE: Final = "profile"
LINE_TOKENS_MIN: Final = 10  # no line is less, for each tells its category and a day
SEAM_TOKENS: Final = 1  # what two texts may be more than their sum where they meet (kit/tokens.py)
KEPT: Final = 1_024  # blocks: one is the same for as long as its session goes on


def facts_max(tokens_max: int) -> int:
    """How many facts can be told within so many tokens at most: no more of them are read."""
    return tokens_max // LINE_TOKENS_MIN


@lru_cache(maxsize=KEPT)
def profile_block(standing: Standing, *, zone: tzinfo, tokens_max: int) -> Block | None:
    """None where not one fact fits."""
    lines = _fitting(_head(standing, zone), _lines(standing, zone), tokens_max)
    if not lines:
        return None
    text = "\n".join([_head(standing, zone), *(line.text for line in lines)])
    return text_block(STAGE, Section.KNOWLEDGE, Stability.STATIC, text)


def profile_decisions(standing: Standing, *, zone: tzinfo, tokens_max: int) -> Iterator[Decision]:
    """Which facts are told, and what it takes to have the others too."""
    head, lines = _head(standing, zone), _lines(standing, zone)
    kept = _fitting(head, lines, tokens_max)
    enough = tokens_max + sum(map(_cost, lines)) + text_tokens(head)
    for line in lines:
        if line in kept:
            yield decision(STAGE, Verdict.KEPT, line, "known before the session began")
        else:
            returns = returning(_fits(line, head, lines), budget=tokens_max, enough=enough)
            yield decision(STAGE, Verdict.DROPPED, line, "over the tokens of the profile", returns=returns)


def _fits(line: Line, head: str, lines: tuple[Line, ...]) -> Callable[[int], bool]:
    return lambda tokens_max: line in _fitting(head, lines, tokens_max)


def _head(standing: Standing, zone: tzinfo) -> str:
    return known_before(standing.began_at.astimezone(zone))


def _lines(standing: Standing, zone: tzinfo) -> tuple[Line, ...]:
    def local(time: datetime | None) -> datetime | None:
        return None if time is None else time.astimezone(zone)

    return tuple(
        Line(
            f"fact:{fact.id}",
            known_line(
                category=fact.category,
                text=fact.text,
                since=fact.valid_from.astimezone(zone),
                until=local(fact.valid_to),
            ),
        )
        for fact in spread(standing.facts)
    )


def _fitting(head: str, lines: tuple[Line, ...], tokens_max: int) -> tuple[Line, ...]:
    left, kept = tokens_max - text_tokens(head), []
    for line in lines:
        if (cost := _cost(line)) <= left:
            kept.append(line)
            left -= cost
    return tuple(kept)


def _cost(line: Line) -> int:
    return text_tokens("\n" + line.text) + SEAM_TOKENS
