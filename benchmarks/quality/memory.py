"""A session of the running service: a talk told to it, and the contexts that it compiles afterwards."""

from dataclasses import dataclass
from typing import Any

import httpx2

from benchmarks.cache.replay import MESSAGES_MAX, WAIT_MS
from benchmarks.quality.baselines import within
from benchmarks.quality.talks import Question, Talk

HITS_MAX = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A context without recall: its tokens, the texts of its log, and the messages of its tail."""

    tokens: int
    log: tuple[str, ...]
    tail: frozenset[int]


class Memory:
    """The memory of one talk. ``name`` is its session's."""

    def __init__(self, http: httpx2.Client, name: str, talk: Talk) -> None:
        self._http = http
        self._path = f"/sessions/{name}"
        self._talk = talk
        self._now = talk.messages[-1]["created_at"]

    def tell(self, config: dict[str, Any]) -> None:
        self._ask("PUT", "", json={"config": config})
        for begin in range(0, len(self._talk.messages), MESSAGES_MAX):
            batch = self._talk.messages[begin : begin + MESSAGES_MAX]
            self._ask("POST", "/messages", json={"messages": batch}, wait_ms=WAIT_MS)

    def compiled(self) -> Compiled:
        answer = self._ask("GET", "/context", format="neutral", now=self._now)
        payload = answer["payload"]
        shown = {part.get("text") for message in payload["messages"] for part in message["content"]}
        said = enumerate(self._talk.messages, start=1)
        return Compiled(
            tokens=answer["tokens"]["total"],
            log=tuple(part["text"] for part in payload["system"]),
            tail=frozenset(seq for seq, message in said if message["content"] in shown),
        )

    def recalled(self, question: Question, *, budget: int, besides: frozenset[int]) -> frozenset[int]:
        """The best hits that fit into ``budget`` tokens, best first, without what the context shows already."""
        body = {"query": question.text, "limit": HITS_MAX, "kinds": ["messages"], "now": self._now}
        found = [hit["from_seq"] for hit in self._ask("POST", "/recall", json=body)["hits"]]
        return within(self._talk, [seq for seq in found if seq not in besides], budget)

    def compression(self) -> float:
        """Tokens of what was observed to those of the log that tells of it."""
        ratio: float = self._ask("GET", "/memory")["compression"]["ratio"]
        return ratio

    def _ask(self, method: str, path: str, *, json: Any = None, **params: Any) -> Any:
        answer = self._http.request(method, self._path + path, json=json, params=params)
        answer.raise_for_status()
        return answer.json()
