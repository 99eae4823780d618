"""The input of ``policy.next_step``, and the steps that it answers (memory-rules.md section 3)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import ClassVar, TypeAlias

from app.memory.rules import Rules

NEVER = 2**62  # a number of pending tokens that no append reaches
UNFINISHED = -1  # in the place of such a number, while the rest of a span is still to be observed


class Request(StrEnum):
    """A requested step, which is done whatever the thresholds say."""

    OBSERVE = "observe"
    REFLECT = "reflect"
    ACTIVATE = "activate"  # the provider's cache is cold: the session was idle, or the agent's model changed
    LOOK = "look"  # the config, a message or a cap has changed: decide anew


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveReflection:
    level: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """The sizes of a memory's notes: live observations and reflections, and what is buffered.

    ``observation_tokens`` is O of the rules. ``buffered``: message tokens of each buffered observation, oldest first.
    ``ahead``: there is a buffered reflection.
    """

    observations: int = 0
    observation_tokens: int = 0
    buffered: tuple[int, ...] = ()
    reflections: tuple[LiveReflection, ...] = ()
    ahead: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class State(Sizes):
    """A memory's counters. ``pending_tokens`` is P of the rules, buffered ones included; ``unbuffered_tokens`` is B.

    ``nothing_safe``: the pending messages hold no closed group. ``no_boundary``: no topic ends among them.
    ``unfinished``: of a span too long for one call only a part is observed. ``unhelped_tokens``: the size of the log
    that a reflection last failed to shrink. ``rebuilding``: erased notes are to be made again. ``to_note``: the session
    has ended, and facts are to be extracted from it. ``failed``: the last step failed. ``may_observe``,
    ``may_reflect``: False if a cap on cost forbids it.
    """

    rules: Rules
    now: datetime
    pending_tokens: int
    requested: Request | None = None
    reflected_at: datetime | None = None
    unhelped_tokens: int | None = None
    rebuilding: bool = False
    to_note: bool = False
    failed: bool = False
    nothing_safe: bool = False
    no_boundary: bool = False
    unfinished: bool = False
    may_observe: bool = True
    may_reflect: bool = True

    @property
    def unbuffered_tokens(self) -> int:
        return self.pending_tokens - sum(self.buffered)

    @property
    def reflection_tokens(self) -> int:
        return sum(reflection.tokens for reflection in self.reflections)

    @property
    def log_tokens(self) -> int:
        return self.observation_tokens + self.reflection_tokens

    @property
    def condensable_tokens(self) -> int:
        """The tokens to compare with ``observation_tokens``: O, in ``rewrite`` the whole live log."""
        return self.log_tokens if self.rules.strategy == "rewrite" else self.observation_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Observe:
    """Observe the oldest safe span of up to ``want_tokens``, at least one whole group.

    ``force_closed``: calls still without a result count as closed. ``whole``: not to be cut at a topic boundary.
    """

    name: ClassVar[str] = "observe"
    want_tokens: int
    force_closed: bool
    whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffer:
    """Observe the oldest unbuffered safe span of ``least_tokens`` to about ``want_tokens`` in advance.

    ``at_boundary``: only one that ends at a topic boundary.
    """

    name: ClassVar[str] = "buffer"
    want_tokens: int
    least_tokens: int
    at_boundary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Activate:
    """Make the oldest ``count`` buffered chunks live, in one new version. Calls no model."""

    name: ClassVar[str] = "activate"
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuild:
    """Observe again the oldest messages whose notes were erased."""

    name: ClassVar[str] = "rebuild"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflect:
    """Condense the oldest observations, all but the newest ``keep_tokens``; the whole log when ``whole``.

    ``ahead``: in advance; the result is buffered until it is activated.
    """

    name: ClassVar[str] = "reflect"
    keep_tokens: int
    whole: bool = False
    ahead: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivateReflection:
    """Replace its sources by the buffered reflection, in one new version. Calls no model."""

    name: ClassVar[str] = "activate_reflection"


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidate:
    """Condense the oldest reflections of ``levels``, at most ``most`` (None: all), into one of ``into_level``."""

    name: ClassVar[str] = "consolidate"
    levels: tuple[int, ...]
    into_level: int
    most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Nothing to do until ``until`` (None: never), or until an append brings P to ``at_tokens``.

    ``paused``: there is something to do, but a cap on cost forbids it.
    """

    until: datetime | None = None
    at_tokens: int = NEVER
    paused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteFacts:
    """The session has ended: extract facts from the messages that were not read for facts yet."""

    name: ClassVar[str] = "note_facts"


Step: TypeAlias = NoteFacts | Rebuild | Activate | Observe | Buffer | ActivateReflection | Reflect | Consolidate
