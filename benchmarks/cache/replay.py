"""Replays a conversation through the running service, with one context per call of the actor."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import httpx2

from benchmarks.cache.blocks import SYSTEM, moment, payload_blocks
from benchmarks.cache.conversations import Conversation
from benchmarks.cache.pricing import FIVE_MINUTES, Request
from benchmarks.service import WAIT_MS, ask, batches

RUNS_MAX = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryCall:
    """One call of the observer or the reflector, in tokens."""

    kind: str
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A call of the actor, and the memory's calls since the one before. ``epoch`` is None for the baselines."""

    request: Request
    epoch: str | None = None
    memory: tuple[MemoryCall, ...] = ()


class Agent:
    """The user of one session."""

    def __init__(self, http: httpx2.Client, session: str) -> None:
        self._http = http
        self._path = f"/sessions/{session}"

    def replay(self, conversation: Conversation, config: dict[str, Any]) -> Iterator[Turn]:
        """The turns as they are made, without the memory's calls: see ``replayed``.

        The service's clock does not see the days between two chats, so a ``cache_ttl`` of 0 stands for such a gap.
        """
        self._ask("PUT", "", json={"config": config})
        before: datetime | None = None
        for call in conversation.calls:
            new = conversation.messages[call]
            is_cold = before is not None and moment(new[-1]) - before > FIVE_MINUTES
            before = moment(new[-1])
            if is_cold:
                self._ask("PUT", "", json={"config": {"cache_ttl": 0}})
            for batch in batches(new):
                self._ask("POST", "/messages", json={"messages": batch}, wait_ms=WAIT_MS)
            if is_cold:
                self._ask("PUT", "", json={"config": {"cache_ttl": FIVE_MINUTES.total_seconds()}})
            yield self._turn(before)

    def _turn(self, now: datetime) -> Turn:
        body = {"system": SYSTEM, "now": now.isoformat()}
        answer = self._ask("POST", "/context", json=body, format="anthropic")
        return Turn(request=Request(at=now, blocks=payload_blocks(answer["payload"])), epoch=answer["cache"]["epoch"])

    def runs(self) -> Iterator[tuple[datetime, MemoryCall]]:
        """The calls of observer and reflector with their times by the service's clock."""
        cursor: str | None = None
        while True:
            more = {"cursor": cursor} if cursor else {}
            page = self._ask("GET", "/memory/runs", limit=RUNS_MAX, **more)
            for run in page["items"]:
                call = MemoryCall(
                    kind=run["kind"], input_tokens=run["input_tokens"], output_tokens=run["output_tokens"]
                )
                yield datetime.fromisoformat(run["at"]), call
            cursor = page["next_cursor"]
            if cursor is None:
                return

    def _ask(self, method: str, path: str, *, json: Any = None, **query: Any) -> Any:
        return ask(self._http, method, self._path + path, json=json, **query)


def replayed(
    agent: Agent, conversation: Conversation, config: dict[str, Any], *, on_turn: Callable[[Turn], None]
) -> list[Turn]:
    """Every turn with the memory's calls that its messages caused, assigned by their times.

    An append waits until the memory is idle, so a call between two contexts belongs to the second.
    """
    made: list[tuple[datetime, Turn]] = []
    for turn in agent.replay(conversation, config):
        made.append((datetime.now(UTC), turn))
        on_turn(turn)
    calls = sorted(agent.runs(), key=lambda pair: pair[0])
    begins = [datetime.min.replace(tzinfo=UTC), *(at for at, _ in made)]
    return [
        replace(turn, memory=tuple(call for at, call in calls if begin < at <= end))
        for begin, (end, turn) in zip(begins, made, strict=False)
    ]
