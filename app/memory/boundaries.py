"""Finds topic boundaries, at which a span is best cut (memory-rules.md 3.5).

Told: a ``boundary`` message, or a phrase of the user's. Seen: a topic shift, where neighbouring windows of messages
have fewer words in common than elsewhere (Hearst, TextTiling, 1997; words weighted by how few messages hold them). A
user's message opens a topic, so nothing is cut between a question and its answer. A boundary is named by the seq before
it.

Measured on conversations made of real sessions: the share of the chunks observed ahead that end where a session does,
with this rule and without. By the policy, message by message, LongMemEval in steps of 6,000 tokens 60% and 8%, LoCoMo
in steps of 2,000 23% and 4%; as first measured, in steps of 600 MemoryBank in English 29% and 14%, in Chinese and
XPersona 12% and 7%, XPersona in Korean 21% and 3%, in Japanese 11% and none: small talk between strangers has few words
in common anywhere. Of 10,481 messages the phrases matched three, all of them rightly.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import log, sqrt
from statistics import mean, pstdev
from typing import Final, TypeAlias

from app.kit.words import terms
from app.memory.rules import Rules
from app.memory.spans import Span, ended_at, safe_span
from app.memory.steps import Buffer, Observe
from app.sessions.model import Kind, Message, Role, text_of
from app.sessions.phrases import closes, opens

WINDOW: Final = 4  # messages on either side of a place
WINDOW_MIN: Final = 2  # and after one near the end of the log
PLACES_MIN: Final = 8  # fewer have no meaningful mean
DROP_MIN: Final = 0.05  # a shift is at least so far below that mean
MESSAGES_MAX: Final = 400  # the oldest that are compared
TERMS_MAX: Final = 200  # words of each message

Bag: TypeAlias = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundaries:
    """The seqs after which a topic ends: as somebody ``told``, or as ``seen`` in the words."""

    told: frozenset[int]
    seen: frozenset[int]


def span_of(step: Observe | Buffer, messages: Sequence[Message], rules: Rules) -> Span | None:
    """The safe span of the pending ``messages`` that this step observes, cut at a boundary if it has one.

    A told boundary takes precedence over a seen one. A forced or whole span is not cut. None: there is no safe span, or
    a Buffer step still waits for a boundary.
    """
    least = step.least_tokens if isinstance(step, Buffer) else 0
    forced = isinstance(step, Observe) and step.force_closed
    limit = rules.observer_input_tokens
    span = safe_span(
        messages, want_tokens=step.want_tokens, limit_tokens=limit, least_tokens=least, force_closed=forced
    )
    if span is None or forced or (isinstance(step, Observe) and step.whole):
        return span
    found = boundaries(messages)
    for ends in (found.told, found.seen):
        cut = ended_at(span, messages, ends, least_tokens=least or span.tokens // 2)
        if cut is not None:
            return cut
    return None if isinstance(step, Buffer) and step.at_boundary else span


def boundaries(messages: Sequence[Message]) -> Boundaries:
    """The boundaries among messages, which are in the order of the log. None is before the first."""
    spoken = [one for one in messages if one.observe and one.role in {Role.USER, Role.ASSISTANT} and text_of(one.parts)]
    told = (seq for seq in _told(messages, spoken) if seq >= messages[0].seq)
    return Boundaries(told=frozenset(told), seen=frozenset(_shifts(spoken[:MESSAGES_MAX])))


def _told(messages: Sequence[Message], spoken: Sequence[Message]) -> list[int]:
    """After a ``boundary`` message, before a user's message that opens a topic, before the next if it closes one."""
    told = [message.seq for message in messages if message.kind is Kind.BOUNDARY]
    asked = [message for message in spoken if message.role is Role.USER]
    for at, message in enumerate(asked):
        text = text_of(message.parts)
        if opens(text):
            told.append(message.seq - 1)
        elif closes(text):
            told.append(asked[at + 1].seq - 1 if at + 1 < len(asked) else messages[-1].seq)
    return told


def _shifts(spoken: Sequence[Message]) -> list[int]:
    """The local minima of cohesion that are below its mean by one standard deviation, and at least DROP_MIN."""
    cohesion = _cohesion(spoken)
    if len(cohesion) < PLACES_MIN:
        return []
    limit = mean(cohesion.values()) - max(pstdev(cohesion.values()), DROP_MIN)
    return [spoken[at].seq - 1 for at, score in cohesion.items() if score < limit and score <= _least(cohesion, at)]


def _least(cohesion: Mapping[int, float], at: int) -> float:
    return min(cohesion.get(near, 1.0) for near in range(at - WINDOW, at + WINDOW + 1))


def _cohesion(spoken: Sequence[Message]) -> dict[int, float]:
    """By index of each user's message: the cosine of the words before it and from it on, 0 to 1."""
    bags = [Counter(islice(terms(text_of(message.parts)), TERMS_MAX)) for message in spoken]
    held = Counter(term for bag in bags for term in bag)
    weighted = [{term: count * log(1 + len(bags) / held[term]) for term, count in bag.items()} for bag in bags]
    scores: dict[int, float] = {}
    for at in range(WINDOW, len(spoken) - WINDOW_MIN + 1):
        before, after = _sum(weighted[at - WINDOW : at]), _sum(weighted[at : at + WINDOW])
        if spoken[at].role is Role.USER and before and after:
            scores[at] = _cosine(before, after)
    return scores


def _sum(bags: Sequence[Bag]) -> Bag:
    total: dict[str, float] = {}
    for bag in bags:
        for term, weight in bag.items():
            total[term] = total.get(term, 0.0) + weight
    return total


def _cosine(one: Bag, other: Bag) -> float:
    common = sum(weight * other[term] for term, weight in one.items() if term in other)
    return common / (_length(one) * _length(other))


def _length(bag: Bag) -> float:
    return sqrt(sum(weight * weight for weight in bag.values()))
