"""Measures the ranks of a question's evidence among the hits of recall, over HTTP.

A conversation of LoCoMo is one session; the chats of a LongMemEval haystack are the sessions of one resource.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from uuid import uuid4

import httpx2

from benchmarks.quality.talks import Question, Source, Split, Talk, sittings
from benchmarks.service import ask, batches, wait_until

HITS_MAX = 100  # of one answer
TOPS = (5, 10, 20)
WRITTEN = "daybook_vectors_written_total"
LOOK_SECONDS = 0.5
STALLED_SECONDS = 120.0  # without a new vector: a batch takes seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """The rank of each evidence message among the hits, and of each evidence chat among the hits' chats.

    Ranks count from 1; None: not found.
    """

    category: str
    is_adversarial: bool
    messages: tuple[int | None, ...]
    chats: tuple[int | None, ...]


class Library:
    """A talk that is posted to the service, without a memory, and searched."""

    def __init__(self, http: httpx2.Client, talk: Talk) -> None:
        self._ask = partial(ask, http)
        self._talk = talk
        self._name = uuid4().hex
        self._first_seqs: dict[str, int] = {}  # of each session, in the talk

    def tell(self) -> None:
        for session, seqs in self._sessions():
            self._first_seqs[session] = seqs[0]
            for batch in batches([self._talk.messages[seq - 1] for seq in seqs]):
                body = {"messages": batch, "resource_id": self._name}
                self._ask("POST", f"/sessions/{session}/messages", json=body)

    def found(self, question: Question) -> list[int]:
        """The seqs of the hits in the talk, best first."""
        of_one = self._talk.source is Source.LOCOMO
        path = f"/sessions/{self._name}/recall" if of_one else f"/resources/{self._name}/recall"
        asked = {"query": question.text, "limit": HITS_MAX, "kinds": ["messages"], "now": question.now}
        hits = self._ask("POST", path, json=asked)["hits"]
        return [self._first_seqs[hit["session"]] + hit["from_seq"] - 1 for hit in hits]

    def _sessions(self) -> Iterator[tuple[str, Sequence[int]]]:
        """Each session with the seqs of the talk that are posted to it."""
        if self._talk.source is Source.LOCOMO:
            yield self._name, range(1, len(self._talk.messages) + 1)
            return
        for number, seqs in enumerate(sittings(self._talk)):
            yield f"{self._name}.{number}", seqs


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """One talk with all its questions."""

    source: Source
    split: Split
    ranks: tuple[Ranks, ...]


class Vectorized:
    """Waits until the service has made vectors of all messages that any lane has posted."""

    def __init__(
        self, http: httpx2.Client, *, look_seconds: float = LOOK_SECONDS, stalled_seconds: float = STALLED_SECONDS
    ) -> None:
        self._http = http
        self._look_seconds = look_seconds
        self._stalled_seconds = stalled_seconds
        self._told = 0
        self._lock = Lock()

    def wait(self, messages: int) -> None:
        with self._lock:
            self._told += messages
            wanted = self._told
        while (written := self._written()) < wanted:
            self._wait_for_more_than(written)

    def _wait_for_more_than(self, written: float) -> None:
        """Raises TimeoutError if no new vector comes."""
        wait_until(lambda: self._written() > written, seconds=self._stalled_seconds, look_seconds=self._look_seconds)

    def _written(self) -> float:
        lines = self._http.get("/metrics").text.splitlines()
        return next(float(line.rpartition(" ")[2]) for line in lines if line.startswith(WRITTEN))


def searched(http: httpx2.Client, talk: Talk, vectorized: Vectorized | None = None) -> Searched:
    """Post and search a talk. ``vectorized``: waits for the vectors of the service."""
    library = Library(http, talk)
    library.tell()
    if vectorized is not None:
        vectorized.wait(len(talk.messages))
    found = tuple(ranks(talk, question, library.found(question)) for question in talk.questions)
    return Searched(source=talk.source, split=talk.split, ranks=found)


def ranks(talk: Talk, question: Question, found: Sequence[int]) -> Ranks:
    """The ranks of a question's evidence. ``found``: seqs, best first."""
    chats = list(dict.fromkeys(talk.chats[seq - 1] for seq in found))
    return Ranks(
        category=question.category,
        is_adversarial=question.is_adversarial,
        messages=tuple(found.index(seq) + 1 if seq in found else None for seq in question.evidence),
        chats=tuple(chats.index(chat) + 1 if chat in chats else None for chat in sorted(question.chats)),
    )


def share(places: Sequence[int | None], top: int) -> float:
    """The share of the ranks that are among the first ``top``."""
    return sum(place is not None and place <= top for place in places) / len(places)
