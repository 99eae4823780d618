"""The load of the soak test: agents that append a turn and get the next context, in a process of its own.

Each caller has one conversation at a time, and begins another when that is ``TURNS`` long, so that sessions are as long
late in the run as early. With a rate, turns come at fixed times whatever is answered (an open loop), and a latency
counts from when the turn was due, including retries.
"""

import asyncio
import gc
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import uvloop

from benchmarks.soak.exchange import Exchange, Wrong
from benchmarks.speed.targets import request
from tests.journeys.talk import plain_talk

TURNS = 120  # of one conversation
MESSAGES = 2  # of one turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """``prefix``: of the session names. ``rate``: turns per second of all callers; None: a closed loop."""

    port: int
    prefix: str
    callers: int
    seconds: float
    rate: float | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """``at``: when it was due, by the monotonic clock; ``milliseconds``: from then until the context arrived."""

    at: float
    milliseconds: float


@dataclass(slots=True, kw_only=True)
class Heard:
    """``told``: the number of messages acknowledged as stored, by session. ``wrong``: answers that are wrong."""

    began: float
    turns: list[Turn] = field(default_factory=list)
    told: dict[str, int] = field(default_factory=dict)
    retries: int = 0
    wrong: list[str] = field(default_factory=list)


def run(plan: Plan) -> Heard:
    """Run the whole load."""
    gc.disable()  # a collection would delay all callers, which would be measured as the service's latency
    return uvloop.run(_run(plan))


def message_ids(messages: int) -> list[str]:
    """The ids of a session's messages, in order."""
    return [f"m-{number}" for number in range(1, messages + 1)]


async def _run(plan: Plan) -> Heard:
    heard = Heard(began=time.monotonic())
    await asyncio.gather(*(Caller(plan, number, heard).talk() for number in range(plan.callers)))
    return heard


class Caller:
    def __init__(self, plan: Plan, number: int, heard: Heard) -> None:
        self._plan = plan
        self._number = number
        self._heard = heard
        self._exchange = Exchange(plan.port, random.Random(f"{plan.prefix}{number}"))  # noqa: S311 - a wait, no secret
        self._talk = plain_talk(TURNS * MESSAGES)
        self._skipped = number * TURNS // plan.callers  # turns of the first conversation, so that not all end at once

    async def talk(self) -> None:
        try:
            await self._talk_until(self._heard.began + self._plan.seconds)
        except Wrong as error:
            self._heard.wrong.append(f"{self._plan.prefix}{self._number}: {error}")
        finally:
            self._heard.retries += self._exchange.retries
            self._exchange.close()

    async def _talk_until(self, end: float) -> None:
        for turn in count():
            due = self._due(turn)
            if due >= end:
                return
            await asyncio.sleep(due - time.monotonic())
            conversation, place = divmod(self._skipped + turn, TURNS)
            first = 0 if conversation else self._skipped
            await self._turn(f"{self._plan.prefix}{self._number}-{conversation}", place, place - first)
            self._heard.turns.append(Turn(due, (time.monotonic() - due) * 1000))

    def _due(self, turn: int) -> float:
        if self._plan.rate is None:
            return time.monotonic()
        return self._heard.began + (turn * self._plan.callers + self._number) / self._plan.rate

    async def _turn(self, session: str, place: int, stored_turns: int) -> None:
        """Append a turn and get the context. Nobody else writes into the session, so every seq is known beforehand."""
        seqs = range(stored_turns * MESSAGES + 1, (stored_turns + 1) * MESSAGES + 1)
        said = self._talk[place * MESSAGES : (place + 1) * MESSAGES]
        stored = await self._exchange.ask(append(session, said, seqs))
        if [one["seq"] for one in stored["messages"]] != [*seqs]:
            raise Wrong(f"{session}: {stored['messages']} for {seqs}")
        self._heard.told[session] = seqs[-1]
        context = await self._exchange.ask(request("GET", f"/sessions/{session}/context"))
        if context["as_of_seq"] != seqs[-1]:
            raise Wrong(f"{session}: a context of {context['as_of_seq']} after {seqs[-1]}")


def append(session: str, said: Sequence[dict[str, Any]], seqs: Sequence[int]) -> bytes:
    messages = [message | {"id": f"m-{seq}"} for message, seq in zip(said, seqs, strict=True)]
    return request("POST", f"/sessions/{session}/messages", {"messages": messages})
