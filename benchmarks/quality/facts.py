"""Measures how much of later questions the facts of a resource answer: all facts, and those in its profile, over HTTP.

Each chat of a talk is a session of one resource, which is ended before the next one begins.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any
from uuid import uuid4

import httpx2

from app.context.wording import known_line
from app.kit.paging import PAGE_MAX
from app.kit.tokens import text_tokens
from app.kit.words import overlap, terms
from app.sessions.model import Role
from benchmarks.quality.baselines import uniform, within
from benchmarks.quality.coverage import Held, Shown, held, shown, told
from benchmarks.quality.grounding import is_said
from benchmarks.quality.talks import Source, Split, Talk, sittings
from benchmarks.service import WAIT_MS, ask, batches

SAME_SHARE = 0.6  # overlap of the content words of two facts that say the same; lower than the memory's own bound


class Way(StrEnum):
    FACTS = "facts"
    FACTS_SAMPLE = "sample as long as the facts"
    PROFILE = "profile"
    PROFILE_SAMPLE = "sample as long as the profile"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A fact current at the end of its talk, with the ``seqs`` of its messages and its line in a profile."""

    text: str
    line: str
    seqs: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """One talk: for each fact whether it is grounded, and whether another says the same; for each way what it holds."""

    source: Source
    split: Split
    grounded: tuple[bool, ...]
    doubled: tuple[bool, ...]
    tokens: Mapping[Way, int]
    held: Mapping[Way, tuple[Held, ...]]


class Resource:
    """A talk as the sessions of one resource."""

    def __init__(self, http: httpx2.Client, talk: Talk) -> None:
        self._ask = partial(ask, http)
        self._talk = talk
        self._name = uuid4().hex
        self._first_seqs: dict[str, int] = {}  # of each session, in the talk

    def tell(self) -> None:
        """Post every chat and end it, whereupon facts are noted of it."""
        for number, seqs in enumerate(sittings(self._talk)):
            session = f"{self._name}.{number}"
            self._first_seqs[session] = seqs[0]
            for batch in batches([self._talk.messages[seq - 1] for seq in seqs]):
                body = {"messages": batch, "resource_id": self._name}
                self._ask("POST", f"/sessions/{session}/messages", json=body, wait_ms=WAIT_MS)
            self._ask("POST", f"/sessions/{session}/end")
            self._ask("GET", f"/sessions/{session}/context", wait_ms=WAIT_MS)

    def facts(self) -> list[Fact]:
        return [self._fact(item) for item in self._items()]

    def profile(self) -> str:
        """The profile in the context of a new, empty session; may be empty."""
        session = f"/sessions/{self._name}.new"
        self._ask("PUT", session, json={"resource_id": self._name})
        payload = self._ask("GET", f"{session}/context", format="neutral")["payload"]
        return "\n".join(part["text"] for part in payload["system"])

    def _items(self) -> Iterator[dict[str, Any]]:
        cursor: dict[str, str] = {}
        while True:
            page = self._ask("GET", f"/resources/{self._name}/facts", limit=PAGE_MAX, **cursor)
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            cursor = {"cursor": page["next_cursor"]}

    def _fact(self, item: dict[str, Any]) -> Fact:
        cited = ((self._first_seqs[source["session"]], source["cites"]) for source in item["sources"])
        return Fact(
            text=item["text"],
            line=known_line(
                category=item["category"],
                text=item["text"],
                since=datetime.fromisoformat(item["valid_from"]),
                until=None if item["valid_to"] is None else datetime.fromisoformat(item["valid_to"]),
            ),
            seqs=tuple(sorted(first + seq - 1 for first, seqs in cited for seq in seqs)),
        )


def known(http: httpx2.Client, talk: Talk) -> Known:
    resource = Resource(http, talk)
    resource.tell()
    facts, profile = resource.facts(), resource.profile()
    told_first = [fact for fact in facts if fact.line in profile]
    tokens = {Way.FACTS: sum(text_tokens(fact.line) for fact in facts), Way.PROFILE: text_tokens(profile)}
    tokens |= {Way.FACTS_SAMPLE: tokens[Way.FACTS], Way.PROFILE_SAMPLE: tokens[Way.PROFILE]}
    contexts = {
        Way.FACTS: _shown(facts),
        Way.FACTS_SAMPLE: _sample(talk, tokens[Way.FACTS]),
        Way.PROFILE: _shown(told_first),
        Way.PROFILE_SAMPLE: _sample(talk, tokens[Way.PROFILE]),
    }
    return Known(
        source=talk.source,
        split=talk.split,
        grounded=tuple(is_said(talk, fact.text, fact.seqs) for fact in facts),
        doubled=tuple(doubled([fact.text for fact in facts])),
        tokens=tokens,
        held={
            way: tuple(held(talk, question, context) for question in talk.questions)
            for way, context in contexts.items()
        },
    )


def doubled(texts: Sequence[str]) -> list[bool]:
    """For each text whether another says the same, by its content words."""
    words = [frozenset(terms(text)) for text in texts]
    return [
        any(overlap(one, other) >= SAME_SHARE for place, other in enumerate(words) if place != at)
        for at, one in enumerate(words)
    ]


def _shown(facts: Sequence[Fact]) -> Shown:
    return told([(fact.text, fact.seqs) for fact in facts])


def _sample(talk: Talk, budget: int) -> Shown:
    """As many tokens of messages, spread evenly, of the speakers whose facts are noted: without an agent's answers."""
    own = [seq for seq in uniform(talk)("") if _is_own(talk.messages[seq - 1])]
    return shown(within(talk, own, budget))


def _is_own(message: Mapping[str, Any]) -> bool:
    return message["role"] == Role.USER or "name" in message
