"""What is shown to a model that failed at what it was shown: less at each try, at last one group alone. Pure.

Some of what is said a provider does not take: its content filter refuses it, the model's context is too small, the call
takes too long. All that comes after it would wait for it, for ever (docs/decisions/0060).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final
from zoneinfo import ZoneInfo

from app.kit.days import day_label
from app.kit.tokens import text_tokens
from app.llm.port import TIMEOUT, TOO_LARGE
from app.memory.gates import Rejection, Verdict
from app.memory.log import render
from app.memory.model import Cite, Item, ObserverInput, Priority
from app.memory.records import Loaded
from app.memory.spans import Span
from app.memory.steps import Buffer, Observe
from app.sessions.model import Message, Role

REFUSED, BAD_REPLY, TOO_LONG = "refused", "bad_reply", "too_long"
PASSED_OVER: Final = frozenset({REFUSED, BAD_REPLY})  # of one group alone; Gemini says nothing at all to some texts
CUT: Final = frozenset({TOO_LONG, TIMEOUT})  # for which what is shown of a message is cut too
# Failures in a row before less is shown: more for what a provider that is in trouble, or a bad day, does as well.
_PATIENCE: Final = dict.fromkeys((BAD_REPLY, TIMEOUT, *Rejection), 4) | dict.fromkeys((REFUSED, TOO_LONG, TOO_LARGE), 1)
_STEPS: Final = frozenset({"observe", "buffer", "rebuild"})
DIVISOR: Final = 4
PARTS_MAX: Final = 4  # how often it is divided: one group alone then
INPUT_TOKENS_MIN: Final = 500
EARLIER_TOKENS: Final = 8_000  # of which a part is shown where there is no limit
WORDS: Final = "What was said here is not in these notes: the model that writes them refused to read it."
KNOWN_GOOD: Final = "Hello."


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """``divisor`` of what a step would be shown. ``alone``: one group, nothing earlier. ``cuts``: its messages too."""

    divisor: int = 1
    alone: bool = False
    cuts: bool = False

    @classmethod
    def of(cls, loaded: Loaded) -> "Narrowing":
        """After the failures in a row of this session, where it was for what the model was shown."""
        error = loaded.last_error or {}
        of_this = error.get("step") in _STEPS and error.get("session", loaded.session_key) == loaded.session_key
        kind = error.get("kind")
        times = min(loaded.attempts - _PATIENCE.get(kind, loaded.attempts), PARTS_MAX)
        if times <= 0 or not of_this:
            return cls()
        return cls(divisor=DIVISOR**times, alone=times == PARTS_MAX, cuts=kind in CUT)

    def step(self, step: Observe | Buffer, *, limit_tokens: int | None) -> Observe | Buffer:
        """With a share of what it wants, and at least one group."""
        if self.divisor == 1:
            return step
        most = step.want_tokens if limit_tokens is None else min(step.want_tokens, limit_tokens)
        if isinstance(step, Buffer):
            return Buffer(want_tokens=self._tokens(most), least_tokens=0)
        return replace(step, want_tokens=self._tokens(most))

    def source(self, source: ObserverInput) -> ObserverInput:
        """With less of what is shown of a message, and of the memory's own."""
        if self.cuts and source.input_tokens is not None:
            source = replace(source, input_tokens=max(INPUT_TOKENS_MIN, source.input_tokens // self.divisor))
        return replace(source, current_task=None) if self.alone else source

    def earlier_tokens(self, budget: int | None) -> int | None:
        if self.divisor == 1:
            return budget
        return 0 if self.alone else (EARLIER_TOKENS if budget is None else budget) // self.divisor

    def want_tokens(self, messages: Sequence[Message], *, otherwise: int) -> int:
        """Of all ``messages``."""
        return otherwise if self.divisor == 1 else self._tokens(sum(message.tokens for message in messages))

    def _tokens(self, tokens: int) -> int:
        return 1 if self.alone else max(1, tokens // self.divisor)


def known_good(source: ObserverInput) -> ObserverInput:
    """The same question of a message that no model refuses: whether it is for the messages that it does."""
    first = source.messages[0]
    greeting = replace(first, role=Role.USER, name=None, parts=({"type": "text", "text": KNOWN_GOOD},))
    return replace(source, messages=(greeting,), earlier=(), current_task=None, rejected=None)


def passed_over(span: Span, zone: ZoneInfo) -> Verdict:
    """A line in the place of what a model does not read; it quotes nothing, for it is shown to models too."""
    first, last = span.messages[0], span.messages[-1]
    said = first.created_at.astimezone(zone)
    item = Item(
        text=WORDS,
        day=day_label(said.date()),
        time=f"{said:%H:%M}",
        priority=Priority.LOW,
        cites=(Cite(first.seq, last.seq),),
    )
    text = render([item])
    return Verdict(items=(item,), text=text, rejected=None, grounded_share=1.0, tokens=text_tokens(text))
