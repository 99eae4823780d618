"""Shows less to a model after it failed at what it was shown: at last one group of messages, or one note. Pure.

A provider's content filter may refuse a text, the model's context may be too small, the call may take too long. Without
this, one such message would block all later ones for ever (docs/decisions/0060).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final, assert_never
from zoneinfo import ZoneInfo

from app.kit.days import day_label
from app.llm.port import BAD_REPLY, TIMEOUT, TOO_LARGE, TOO_LONG
from app.memory.gates import Rejection, Verdict, tokens_of
from app.memory.model import (
    Cite,
    ExtractorInput,
    Item,
    Observation,
    ObserverInput,
    Priority,
    Reflection,
    ReflectorInput,
    Source,
)
from app.memory.records import Standing
from app.memory.rules import OBSERVER_INPUT_TOKENS
from app.memory.spans import Span
from app.memory.steps import NEVER, Buffer, Consolidate, NoteFacts, Observe, Rebuild, Reflect
from app.sessions.model import Message, Role, text_part

REFUSED: Final = "refused"
SLOW: Final = "slow"  # counted beside a time-out of one part alone, while the model answered to another
FAILED: Final = "failed"  # the place of the counts in the error that is kept
# Failures that the shown text caused for sure, and those that an outage of the provider may also cause.
_SURE: Final = frozenset({REFUSED, TOO_LONG, TOO_LARGE})
_DOUBTFUL: Final = frozenset({BAD_REPLY, TIMEOUT, *Rejection})
_PATIENCE: Final = ((_SURE, 1), (_DOUBTFUL, 4))  # so many failures before less is shown
DIVISOR: Final = 4
PARTS_MAX: Final = 4  # how often it is divided: one group alone then
INPUT_TOKENS_MIN: Final = 500
EARLIER_TOKENS: Final = 8_000  # of which a part is shown where there is no limit
WORDS: Final = "What was said here is not in these notes: the model that writes them refused to read it."
KNOWN_GOOD: Final = "Hello."


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """``steps`` that show the same text, and the failures at a single part after which no model is asked."""

    steps: frozenset[str]
    gives_up: frozenset[str] = _SURE | _DOUBTFUL  # where nothing is lost by it


# What no note tells is not remembered; and Gemini says nothing at all to some texts.
OBSERVED: Final = Showing(
    steps=frozenset({Observe.name, Buffer.name, Rebuild.name}), gives_up=frozenset({REFUSED, BAD_REPLY})
)
CONDENSED: Final = Showing(steps=frozenset({Reflect.name, Consolidate.name}))
EXTRACTED: Final = Showing(steps=frozenset({NoteFacts.name}))
SHOWINGS: Final = (OBSERVED, CONDENSED, EXTRACTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """``divisor`` of what is shown; ``alone``: one part, without earlier lines. ``cut``: that of its messages too."""

    showing: Showing
    divisor: int = 1
    alone: bool = False
    cut: int = 1

    @classmethod
    def of(cls, standing: Standing, showing: Showing) -> "Narrowing":
        """By the session's failures in a row that the shown text caused, or may have."""
        failed = _failed(standing, showing)
        beyond = (sum(failed.get(kind, 0) for kind in kinds) - patience for kinds, patience in _PATIENCE)
        times = min(max(0, *beyond), PARTS_MAX)
        cuts = min(max(0, failed.get(TOO_LONG, 0) - 1) + failed.get(SLOW, 0), PARTS_MAX)
        return cls(showing=showing, divisor=DIVISOR**times, alone=times == PARTS_MAX, cut=DIVISOR**cuts)

    def step(self, step: Observe | Buffer, *, limit_tokens: int | None) -> Observe | Buffer:
        """The step, wanting only a share of its tokens, but at least one group."""
        if self.divisor == 1:
            return step
        most = step.want_tokens if limit_tokens is None else min(step.want_tokens, limit_tokens)
        if isinstance(step, Buffer):
            return Buffer(want_tokens=self._tokens(most), least_tokens=0)
        return replace(step, want_tokens=self._tokens(most))

    def gives_up(self, kind: str) -> bool:
        """Whether a part that failed like this when shown alone is done without the model."""
        return self.alone and kind in self.showing.gives_up

    def asks(self, kind: str) -> bool:
        """Whether the model is probed with another text: only if it answers that, a slow message is cut or given up."""
        return self.gives_up(kind) or (self.alone and kind == TIMEOUT)

    def input_tokens(self, limit: int | None) -> int | None:
        """The limit of the messages' view, divided; the default limit if there is none."""
        return limit if self.cut == 1 else max(INPUT_TOKENS_MIN, (limit or OBSERVER_INPUT_TOKENS) // self.cut)

    def oldest(self, chunks: Sequence[Observation | Reflection]) -> Sequence[Observation | Reflection]:
        """The oldest share of the notes, at least one."""
        ends = accumulate(chunk.tokens for chunk in chunks)
        most = self._tokens(sum(chunk.tokens for chunk in chunks))
        return chunks[: max(1, sum(end <= most for end in ends))]

    def earlier_tokens(self, budget: int | None) -> int | None:
        if self.divisor == 1:
            return budget
        return 0 if self.alone else (EARLIER_TOKENS if budget is None else budget) // self.divisor

    def want_tokens(self, messages: Sequence[Message]) -> int:
        """The share of the messages, in tokens."""
        return NEVER if self.divisor == 1 else self._tokens(sum(message.tokens for message in messages))

    def _tokens(self, tokens: int) -> int:
        return 1 if self.alone else tokens // self.divisor


def counted(standing: Standing, step: str, *kinds: str) -> Mapping[str, int]:
    """The counts of failures in a row by kind, for steps that show the same, with these ``kinds`` added.

    They are stored with the last error. Failures of the provider itself neither count nor end a row.
    """
    showing = next((one for one in SHOWINGS if step in one.steps), None)
    before = {} if showing is None else _failed(standing, showing)
    narrowing = (str(kind) for kind in kinds if kind in _SURE | _DOUBTFUL | {SLOW})  # no enum is a key of JSON
    return {**before, **{kind: before.get(kind, 0) + 1 for kind in narrowing}}


def _failed(standing: Standing, showing: Showing) -> Mapping[str, int]:
    """The stored counts; empty after a request for another try (``QueueStore.request``)."""
    error, session = standing.last_error or {}, standing.session_key
    of_this = error.get("step") in showing.steps and error.get("session", session) == session
    found: Mapping[str, int] = error.get(FAILED, {}) if of_this else {}
    return found


def known_good(source: Source) -> Source:
    """The same question about a text that no model refuses: tells whether the shown text is the cause."""
    match source:
        case ObserverInput():
            messages = _greeting(source.messages)
            return replace(source, messages=messages, earlier=(), current_task=None, rejected=None)
        case ExtractorInput():
            return replace(source, messages=_greeting(source.messages), items=_greeted(source.items), rejected=None)
        case ReflectorInput():
            return replace(source, items=_greeted(source.items), rejected=None)
    assert_never(source)


def _greeting(messages: Sequence[Message]) -> tuple[Message, ...]:
    parts = (text_part(KNOWN_GOOD),)
    return tuple(replace(message, role=Role.USER, name=None, parts=parts) for message in messages[:1])


def _greeted(items: Sequence[Item]) -> tuple[Item, ...]:
    return tuple(Item(text=f"User said: {KNOWN_GOOD}", day=item.day, cites=item.cites[:1]) for item in items[:1])


def passed_over(span: Span, zone: ZoneInfo) -> Verdict:
    """A line in the place of what a model refuses to read. It quotes nothing, because models are shown it too."""
    first, last = span.messages[0], span.messages[-1]
    said = first.created_at.astimezone(zone)
    item = Item(
        text=WORDS,
        day=day_label(said.date()),
        time=f"{said:%H:%M}",
        priority=Priority.LOW,
        cites=(Cite(first.seq, last.seq),),
    )
    return Verdict(items=(item,), rejected=None, grounded_share=1.0, tokens=tokens_of([item]))
