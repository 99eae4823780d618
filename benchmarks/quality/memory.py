"""A session of the running service: posts a talk to it, and reads the contexts that it compiles."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx2

from benchmarks.quality.talks import Question, Talk
from benchmarks.service import WAIT_MS, ask, batches

# Recalled messages, as app/context/wording.py writes them.
RECALLED = re.compile(
    r"^#(\d+), \d\d:\d\d, (.*?)(?=^#\d+, \d\d:\d\d, |^Recalled from |^</context>)", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A context: its tokens, the texts of its log, the seqs of its tail, and the recalled texts by seq."""

    tokens: int
    log: tuple[str, ...]
    tail: frozenset[int]
    recalled: Mapping[int, str]


class Memory:
    """The memory of one talk, in a session of its own."""

    def __init__(self, http: httpx2.Client, talk: Talk) -> None:
        self._http = http
        self._path = f"/sessions/{uuid4().hex}"
        self._talk = talk
        self._now = talk.messages[-1]["created_at"]

    def tell(self, config: dict[str, Any]) -> None:
        self._ask("PUT", "", json={"config": config})
        for batch in batches(self._talk.messages):
            self._ask("POST", "/messages", json={"messages": batch}, wait_ms=WAIT_MS)

    def compiled(self, question: Question | None = None) -> Compiled:
        answer = self._context("neutral", question)
        payload = answer["payload"]
        shown = [part.get("text", "") for message in payload["messages"] for part in message["content"]]
        said = enumerate(self._talk.messages, start=1)
        return Compiled(
            tokens=answer["tokens"]["total"],
            log=tuple(part["text"] for part in payload["system"]),
            tail=frozenset(seq for seq, message in said if message["content"] in shown),
            recalled={int(seq): text for part in shown for seq, text in RECALLED.findall(part)},
        )

    def text(self, question: Question, *, recall: bool) -> str:
        """The context as one text."""
        text: str = self._context("text", question, recall=recall)["payload"]["text"]
        return text

    def _context(self, shape: str, question: Question | None, *, recall: bool = True) -> Any:
        """Request the context as an agent that was just asked the question, which is shown and not stored."""
        if question is None:
            return self._ask("GET", "/context", format=shape, now=self._now)
        body = {"incoming": [{"role": "user", "content": question.text}], "now": question.now}
        query = {"query": question.text} if recall else {}
        return self._ask("POST", "/context", json=body, format=shape, **query)

    def compression(self) -> float:
        """The ratio of observed tokens to those of the log."""
        ratio: float = self._ask("GET", "/memory")["compression"]["ratio"]
        return ratio

    def _ask(self, method: str, path: str, *, json: Any = None, **params: Any) -> Any:
        return ask(self._http, method, self._path + path, json=json, **params)
