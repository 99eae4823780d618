"""An in-process observer and reflector that fail, hang or babble as planned, and otherwise work."""

import asyncio
import re
from collections import deque
from dataclasses import replace
from enum import StrEnum

from app.kit.helper_process import ProcessLost
from app.llm.port import Check, ModelError, Provider, Usage
from app.memory.extractive.observer import observations
from app.memory.extractive.roles import ExtractiveReflector
from app.memory.model import Call, Draft, ObserverInput, ReflectorInput
from tests.model_server import REPETITIVE

CALL_TOKENS = 3
CALL = Call(provider="fated", model="fated", prompt_version="1", usage=Usage(input_tokens=CALL_TOKENS), latency_ms=0)


class Fate(StrEnum):
    """The outcome of a call."""

    GOOD = "good"
    EMPTY = "empty"
    REPETITIVE = "repetitive"
    CUT_OFF = "cut_off"
    TOO_LONG = "too_long"
    RETRYABLE = "retryable"
    FINAL = "final"
    BUG = "bug"
    LOST = "lost"  # the helper process dies
    HELD = "held"  # hangs until it is released with another fate


MARK = re.compile(r"mark-\d+-")  # unique to one message; the observer copies all marks that it sees into the task
SPOILED = {Fate.EMPTY: "", Fate.REPETITIVE: REPETITIVE}


class Script:
    """The fates of the next calls, in order, then GOOD; and the calls that are held."""

    def __init__(self) -> None:
        self.planned: deque[Fate] = deque()
        self.held: deque[asyncio.Future[Fate]] = deque()
        self.holding = asyncio.Event()

    async def next(self) -> Fate:
        """The fate of a call; raises the error of a failing one."""
        fate = self.planned.popleft() if self.planned else Fate.GOOD
        if fate is Fate.HELD:
            fate = await self._hold()
        match fate:
            case Fate.RETRYABLE:
                raise ModelError("overloaded", "come back later", retryable=True)
            case Fate.FINAL:
                raise ModelError("unauthorized", "no key", retryable=False)
            case Fate.BUG:
                raise ZeroDivisionError
            case Fate.LOST:
                raise ProcessLost
            case _:
                return fate

    async def _hold(self) -> Fate:
        released: asyncio.Future[Fate] = asyncio.get_running_loop().create_future()
        self.held.append(released)
        self.holding.set()
        try:
            return await released
        finally:
            self.held.remove(released)
            if not self.held:
                self.holding.clear()

    def release(self, fate: Fate) -> None:
        """Release the oldest held call with this fate."""
        self.held[0].set_result(fate)


class FatedObserver:
    name = Provider.SCRIPTED.value

    def __init__(self, script: Script) -> None:
        self._script = script

    async def draft(self, source: ObserverInput, before_sending: Check, /) -> Draft:
        await before_sending()
        fate = await self._script.next()
        log, *_ = observations(source).partition("<current-task>")
        text = log + _seen(source)
        return _spoiled(Draft(text=text, call=CALL), fate)

    async def estimate(self, _source: ObserverInput) -> Usage:
        return CALL.usage


class FatedReflector:
    name = Provider.SCRIPTED.value
    target_tokens_max = None

    def __init__(self, script: Script) -> None:
        self._script = script
        self._reflector = ExtractiveReflector()

    async def draft(self, source: ReflectorInput, before_sending: Check, /) -> Draft:
        await before_sending()
        fate = await self._script.next()
        return _spoiled(replace(await self._reflector.draft(source), call=CALL), fate)

    async def estimate(self, _source: ReflectorInput) -> Usage:
        return CALL.usage


def _seen(source: ObserverInput) -> str:
    """A task with every mark in the messages, the earlier lines and the current task."""
    marks = sorted(set(MARK.findall(repr((source.messages, source.earlier, source.current_task)))))
    return f"<current-task>{' '.join(marks)}</current-task>" if marks else ""


def _spoiled(draft: Draft, fate: Fate) -> Draft:
    if fate is Fate.TOO_LONG:
        lines = "".join(f"* 🟡 A line of its own about the matter number {number}.\n" for number in range(600))
        return replace(draft, text=f"<observations>\n{lines}</observations>")
    return replace(draft, text=SPOILED.get(fate, draft.text), cut_off=fate is Fate.CUT_OFF)
