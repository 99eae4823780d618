"""What was known of the resource before its session began: it stays as it was then (docs/facts.md).

The most important first, as far as whole facts fit; one that does not is passed by, and the next may. Every fact is one
line, whatever was put into it, so that none can end the block or pose as a line of ours.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import Final, NamedTuple

from app.context.blocks import text_block
from app.context.draft import Draft, Line, noting
from app.context.explain import decision, least
from app.context.model import Ask, Block, Decision, Section, Snapshot, Stability, Verdict
from app.context.wording import known_before, known_line
from app.facts.standing import Standing, spread
from app.kit.tokens import text_tokens
from app.kit.weighted_cache import weighted_cache

STAGE: Final = "profile"
LINE_TOKENS_MIN: Final = 10  # no line is less, for each tells its category and a day
SEAM_TOKENS: Final = 1  # what two texts may be more than their sum where they meet (kit/tokens.py)
CHARACTERS_KEPT: Final = 8_388_608  # of facts and their blocks: one is the same for as long as its session goes on
FACT_CHARACTERS: Final = 200  # that one takes beside its text


def facts_max(tokens_max: int) -> int:
    """How many facts can be told within so many tokens at most: no more of them are read."""
    return tokens_max // LINE_TOKENS_MIN


def profile(draft: Draft, snapshot: Snapshot, ask: Ask) -> Draft:
    """A block of its own; none where nothing was known, or the memory is switched off."""
    standing = snapshot.standing
    if standing is None or not snapshot.rules.enabled:
        return draft
    zone, tokens_max = snapshot.rules.zone, ask.limits.profile_tokens
    block = profile_block(standing, zone=zone, tokens_max=tokens_max)
    decisions = profile_decisions(standing, zone=zone, tokens_max=tokens_max)
    return noting(replace(draft, profile=() if block is None else (block,)), ask, decisions)


def profile_block(standing: Standing, *, zone: tzinfo, tokens_max: int) -> Block | None:
    """None where not one fact fits."""
    return _shown(standing, zone, tokens_max).block


class _Shown(NamedTuple):
    """A block with what it is kept by, which is the larger of the two."""

    standing: Standing
    block: Block | None


def _characters(shown: _Shown) -> int:
    facts = sum(FACT_CHARACTERS + len(fact.text) for fact in shown.standing.facts)
    return facts + FACT_CHARACTERS + (0 if shown.block is None else len(shown.block.text))


@weighted_cache(CHARACTERS_KEPT, weight=_characters, key=lambda *asked: asked)
def _shown(standing: Standing, zone: tzinfo, tokens_max: int) -> _Shown:
    head, lines = _head(standing, zone), _lines(standing, zone)
    fitting = _fitting(map(_cost, lines), tokens_max - text_tokens(head))
    if not fitting:
        return _Shown(standing, None)
    text = "\n".join([head, *(lines[at].text for at in fitting)])
    return _Shown(standing, text_block(STAGE, Section.KNOWLEDGE, Stability.STATIC, text))


def profile_decisions(standing: Standing, *, zone: tzinfo, tokens_max: int) -> Iterator[Decision]:
    """Which facts are told, and what it takes to have the others too."""
    head, lines = _head(standing, zone), _lines(standing, zone)
    costs, head_tokens = [_cost(line) for line in lines], text_tokens(head)  # a text is counted once
    shown = frozenset(_fitting(costs, tokens_max - head_tokens))
    enough = tokens_max + sum(costs) + head_tokens
    for at, line in enumerate(lines):
        if at in shown:
            yield decision(STAGE, Verdict.KEPT, line, "known before the session began")
        else:
            fitting = least(_fits(costs[: at + 1], head_tokens), above=tokens_max, enough=enough)
            reason = "over the tokens of the profile"
            yield decision(STAGE, Verdict.DROPPED, line, reason, returns=fitting - tokens_max)


def _fits(costs: Sequence[int], head_tokens: int) -> Callable[[int], bool]:
    """Whether the last of the lines is kept under a budget; those after it have no say in that."""
    return lambda tokens_max: len(costs) - 1 in _fitting(costs, tokens_max - head_tokens)


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


def _fitting(costs: Iterable[int], left: int) -> list[int]:
    """Which of the lines, by their place, are kept within so many tokens."""
    fitting = []
    for at, cost in enumerate(costs):
        if cost <= left:
            fitting.append(at)
            left -= cost
    return fitting


def _cost(line: Line) -> int:
    return text_tokens("\n" + line.text) + SEAM_TOKENS
