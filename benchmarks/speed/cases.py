"""The cases that every target is measured by: each is one kind of request over sessions of one length."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from benchmarks.speed.targets import Target

APPENDED_BEFORE = 10  # messages that the sessions of an append hold at first
VARIANTS = 20  # of a session's request, so that requests are not all the same
REQUESTS_MAX = 10_000
AT_ONCE = 34  # sessions: about as many as connections, so that a message is stored before its context is requested


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """``sessions`` of ``messages`` each, and ``asked``, which builds their requests. ``down``: no observer."""

    name: str
    sessions: int
    messages: int
    asked: Callable[[Target, str, int], bytes]
    down: bool = False

    @property
    def appends(self) -> bool:
        return self.name.startswith("append")

    @property
    def keys(self) -> list[str]:
        """The keys of the sessions, shared by all cases that only read sessions of this length."""
        kind = self.name.replace(" ", "-").replace(",", "") if self.appends else f"long-{self.messages}"
        return [f"{kind}-{number}" for number in range(self.sessions)]

    def requests(self, target: Target) -> list[bytes]:
        """Two requests for each of a few sessions, then for the next few: a short load mixes appends and contexts."""
        variants, keys = max(1, min(VARIANTS, REQUESTS_MAX // self.sessions)), self.keys
        return [
            self.asked(target, key, number)
            for pair, first in product(range(0, variants, 2), range(0, self.sessions, AT_ONCE))
            for number, key in product(range(pair, min(pair + 2, variants)), keys[first : first + AT_ONCE])
        ]


def _append(messages: int) -> Callable[[Target, str, int], bytes]:
    def asked(target: Target, session: str, number: int) -> bytes:
        return target.append(session, number * messages, messages)

    return asked


def _turn(target: Target, session: str, number: int) -> bytes:
    """An append, then a context, in turn, so that the session has always grown since its last context."""
    return target.context(session) if number % 2 else target.append(session, number // 2, 1)


def _context(target: Target, session: str, _number: int) -> bytes:
    return target.context(session)


def _memory(target: Target, session: str, _number: int) -> bytes:
    return target.memory(session)


LENGTHS = {50: 100, 1_000: 20, 20_000: 4, 1_000_000: 1}  # of the read sessions, and how many there are
DOWN_LENGTHS = (1_000, 1_000_000)

LENGTH_MAX_QUICK = 20_000  # messages of a session: more take long to fill

# Reads come first, because the memory's work that appends cause would go on during the cases after them.
CASES = (
    *(
        Case(name=f"{name} of {length:,}", sessions=sessions, messages=length, asked=asked)
        for (name, asked), (length, sessions) in product((("context", _context), ("memory", _memory)), LENGTHS.items())
    ),
    Case(name="append 1, 10,000 sessions", sessions=10_000, messages=APPENDED_BEFORE, asked=_append(1)),
    Case(name="append 1, 100 sessions", sessions=100, messages=APPENDED_BEFORE, asked=_append(1)),
    Case(name="append 1, then context of 50", sessions=100, messages=50, asked=_turn),
    Case(name="append 1, then context of 1,000", sessions=100, messages=1_000, asked=_turn),  # with notes
    Case(name="append 20, 100 sessions", sessions=100, messages=APPENDED_BEFORE, asked=_append(20)),
    *(
        Case(name=f"context of {length:,}, observer down", sessions=1, messages=length, asked=_context, down=True)
        for length in DOWN_LENGTHS
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """The service with a number of processes and some settings."""

    name: str
    workers: int = 1
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The service in several ways, each on a database of its own, measured in turn; ratios are to the first.

    Ways that hardly differ get ``times`` as many rounds.
    """

    name: str
    title: str
    cases: Sequence[str]
    ways: Sequence[Way]
    connections: int
    times: int = 1


# Nothing is indexed; or, in INDEXED, whatever fills a batch is, as under lasting load.
UNINDEXED = {
    "DAYBOOK_RECALL__INDEX_QUIET_SECONDS": "86400",
    "DAYBOOK_RECALL__INDEX_WAITING_MAX": "1000000",
    "DAYBOOK_RECALL__INDEX_LOOK_SECONDS": "600",
}
INDEXED = UNINDEXED | {"DAYBOOK_RECALL__INDEX_WAITING_MAX": "100", "DAYBOOK_RECALL__INDEX_LOOK_SECONDS": "0.1"}

COMPARISONS = (
    Comparison(
        name="processes",
        title="one process and several",
        cases=("append 1, 100 sessions", "context of 50"),
        ways=[Way(name=f"{number} process{'es' * (number > 1)}", workers=number) for number in (1, 2, 4)],
        connections=32,
    ),
    Comparison(
        name="index",
        title="the search index at rest and at work",
        cases=("append 1, 100 sessions",),
        ways=[Way(name="at rest", settings=UNINDEXED), Way(name="at work", settings=INDEXED)],
        connections=8,
        times=3,
    ),
)
