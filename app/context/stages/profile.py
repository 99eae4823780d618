"""The profile: what was known of the resource when the session began; later facts do not join it (docs/facts.md).

The most important facts come first, each whole; one that does not fit is passed over, and the next may fit. Every fact
is one line, whatever its text, so that none can end the block or pose as a line of ours.
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
LINE_TOKENS_MIN: Final = 10  # no line has fewer, as each names its category and a day
SEAM_TOKENS: Final = 1  # by which two joined texts may exceed their sum (kit/tokens.py)
CHARACTERS_KEPT: Final = 8_388_608  # of cached facts and blocks: a block stays the same while its session goes on
FACT_CHARACTERS: Final = 200  # the weight of a fact beside its text


def facts_max(tokens_max: int) -> int:
    """The most facts that fit into ``tokens_max``: no more are read."""
    return tokens_max // LINE_TOKENS_MIN


def profile(draft: Draft, snapshot: Snapshot, ask: Ask) -> Draft:
    """A block of its own; none if nothing was known, or the memory is switched off."""
    standing = snapshot.standing
    if standing is None or not snapshot.rules.enabled:
        return draft
    zone, tokens_max = snapshot.rules.zone, ask.limits.profile_tokens
    block = profile_block(standing, zone=zone, tokens_max=tokens_max)
    decisions = profile_decisions(standing, zone=zone, tokens_max=tokens_max)
    return noting(replace(draft, profile=() if block is None else (block,)), ask, decisions)


def profile_block(standing: Standing, *, zone: tzinfo, tokens_max: int) -> Block | None:
    """The block of the facts that fit; None if not one does."""
    return _shown(standing, zone, tokens_max).block


class _Shown(NamedTuple):
    """A cached block with the facts of its key, which are the larger of the two."""

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
    """Which facts are shown, and the tokens with which each of the others would be."""
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
    """Whether the last of the lines is kept under a budget; later lines do not matter to it."""
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
    """The indexes of the lines that are kept within ``left`` tokens."""
    fitting = []
    for at, cost in enumerate(costs):
        if cost <= left:
            fitting.append(at)
            left -= cost
    return fitting


def _cost(line: Line) -> int:
    return text_tokens("\n" + line.text) + SEAM_TOKENS
