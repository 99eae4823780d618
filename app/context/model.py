"""Value types of a context: the snapshot and the request, the layout, its rendering and cache, the decisions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from app.facts.standing import Standing
from app.memory.model import Observation, Reflection
from app.memory.rules import Rules
from app.sessions.model import Message, Part, Role


class Format(StrEnum):
    NEUTRAL = "neutral"
    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    OPENAI_RESPONSES = "openai-responses"
    GEMINI = "gemini"
    TEXT = "text"


class Section(StrEnum):
    """The parts of a context in their order (memory-rules.md section 6); the answer counts the tokens of each."""

    SYSTEM = "system"
    KNOWLEDGE = "knowledge"
    GUIDE = "guide"
    REFLECTIONS = "reflections"
    OBSERVATIONS = "observations"
    MESSAGES = "messages"
    VOLATILE = "volatile"


class Stability(StrEnum):
    STATIC = "static"
    EPOCH = "epoch"
    APPEND = "append"
    TAIL = "tail"
    VOLATILE = "volatile"


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """A message of another session that shares the memory, which no note covers yet."""

    conversation: str
    message: Message


def count_before(seq: int, ranges: Iterable[tuple[int, int]]) -> int:
    """How many messages of the ranges come before ``seq``."""
    return sum(max(0, min(last, seq - 1) - first + 1) for first, last in ranges)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One session at one moment, read by one statement.

    ``tail`` holds messages oldest first, from ``tail_from_seq`` or, if that is over the message budget, from about
    ``fitting.tail_cut`` tokens after it; always the newest message and its group. ``observed_seq`` is the cursor.
    ``anchor_date`` is what relative dates are computed against. ``version`` 0 with no messages is a session never seen.
    """

    key: str
    version: int
    last_seq: int
    observed_seq: int
    tail_from_seq: int
    anchor_date: date
    newest_created_at: datetime | None
    rules: Rules
    reflections: tuple[Reflection, ...]
    observations: tuple[Observation, ...]
    tail: tuple[Message, ...]
    summary: Message | None = None  # the head of the tail, in place of messages that are no longer shown
    summaries: tuple[int, ...] = ()  # their seqs from tail_from_seq on, which are no messages of the tail
    activated_seq: int = 0  # the newest message at the last activation
    tail_skipped_tokens: int = 0  # tokens from tail_from_seq to the first of ``tail``: 0 unless the tail was cut
    unobserved_omitted: int = 0  # unobserved messages before the first of ``tail``, those of ``rebuilding`` too
    rebuilding: tuple[tuple[int, int], ...] = ()  # ranges up to the cursor whose notes are to be made again
    current_task: str | None = None
    suggested_response: str | None = None
    causes: dict[int, str] = field(default_factory=dict)  # of the memory's last versions
    standing: Standing | None = None  # what was known of the resource when the session began
    lagging: bool = False  # the memory is behind: failing, stalled or over the block threshold
    paused: bool = False  # it waits, as a cap on its cost is reached
    values: dict[str, Any] = field(default_factory=dict)  # stored values and artifacts' texts that the templates use
    elsewhere: tuple[Elsewhere, ...] = ()  # oldest first
    mark: str | None = None  # changes with anything of the session; None if that is not known

    def is_told(self, seq: int) -> bool:
        """Whether a note covers the message, or none has to."""
        return seq <= self.observed_seq and not any(first <= seq <= last for first, last in self.rebuilding)

    @property
    def is_shared(self) -> bool:
        """Whether the log is shared with other sessions."""
        return any(note.conversation for note in self.observations) or any(note.shared for note in self.reflections)


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    title: str
    text: str
    placement: Literal["prefix", "tail"] = "prefix"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """A message outside the tail that the caller's query found: its seq, and the text to show."""

    seq: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextLimits:
    """What a caller may add to a context: ``temp:`` values, entries of knowledge, incoming messages.

    A template, unfilled or filled, has at most ``template_characters_max``; all filled ones together have
    ``system_characters_max``, as each of a thousand may use the same large value. The profile has at most
    ``profile_tokens``, messages that a ``query`` recalls ``recall_tokens``, and those of other sessions that share the
    memory ``elsewhere_tokens``. A part with more than ``part_bytes_inline_max`` may be shown as a preview.
    """

    temp_values_max: int = 100
    knowledge_max: int = 100
    incoming_max: int = 100
    template_characters_max: int = 1024 * 1024
    system_characters_max: int = 8 * 1024 * 1024
    profile_tokens: int = 600
    recall_tokens: int = 1_500
    elsewhere_tokens: int = 2_000
    part_bytes_inline_max: int = 10_000


LIMITS = ContextLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """The caller's request. A budget of None is the session's own; 0 is no limit.

    ``system`` are templates. ``state`` are values of this request only, by their names with ``temp:``. ``limits`` are
    the service's.
    """

    format: Format
    now: datetime
    system: tuple[str, ...] = ()
    knowledge: tuple[Knowledge, ...] = ()
    state: dict[str, Any] = field(default_factory=dict)
    channel: str | None = None
    recalled: tuple[Recalled, ...] = ()
    incoming: tuple[Message, ...] = ()
    memory_budget: int | None = None
    message_budget: int | None = None
    max_reflections: int | None = None
    max_observations: int | None = None
    breakpoints: bool = True
    explain: bool = False
    limits: ContextLimits = LIMITS


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A text and its place: a block of the system prompt, or the volatile part. ``breakpoint``: a cached part ends."""

    id: str
    section: Section
    stability: Stability
    text: str
    tokens: int
    breakpoint: bool = False


class Turn(NamedTuple):
    """One message as every rendering sees it: the continuation note, a message of the tail, or an incoming one.

    A turn whose ``stability`` is not volatile belongs to the cached prefix. A tuple, as each context makes one for each
    of its messages: a frozen dataclass takes twice as long.
    """

    id: str
    role: Role
    parts: tuple[Part, ...]
    tokens: int
    section: Section = Section.MESSAGES
    stability: Stability = Stability.TAIL
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A context in its order, before it is rendered. ``stable`` turns come before ``incoming`` ones.

    ``breakpoints``: the stable ones are marked too where a cached part ends.
    """

    system: tuple[Block, ...] = ()
    stable: tuple[Turn, ...] = ()
    incoming: tuple[Turn, ...] = ()
    volatile: Block | None = None
    breakpoints: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """A payload to splat into the SDK's call, and the cacheable prefix of it as units.

    A unit is the canonical JSON of one block or part and of its place. Within an epoch the units of a context
    are a prefix of the units of the next one (architecture.md section 5, law 3).
    """

    payload: dict[str, Any] = field(default_factory=dict)
    units: tuple[bytes, ...] = ()


class Verdict(StrEnum):
    KEPT = "kept"
    CUT = "cut"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a stage did with an item, and why.

    ``id`` is that of a segment, of a line of the volatile part, or ``messages:FIRST-LAST`` for messages that were not
    read; ``tokens`` are the item's own. ``returns_with_tokens``: how many more tokens of budget would show it whole;
    None if it is shown whole, or if tokens alone do not bring it back.
    """

    id: str
    stage: str
    verdict: Verdict
    reason: str
    tokens: int
    returns_with_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """One piece of the context in its order (api.md, Context, ``explain``). ``sha256`` is of its text or its parts."""

    id: str
    section: Section
    role: Role
    stability: Stability
    tokens: int
    sha256: str
    breakpoint: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """``epoch`` identifies the state that the prefix depends on; ``stable_tokens`` is the size of the prefix."""

    epoch: str
    prefix_sha256: str
    stable_tokens: int
    shared_with_previous_tokens: int | None = None
    break_reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """The cacheable part of a context, kept to compare the next one with: its pieces, and what they were made of.

    A piece is a block or a turn; its digest is only valid within the process. ``asked`` is the digest of the system
    prompt as the caller gave it, ``knowledge`` that of the caller's knowledge. Equal pieces are rendered to equal
    bytes, in every format (architecture.md section 5, law 3).
    """

    version: int
    anchor_date: date
    epoch: str
    asked: int
    knowledge: int
    digests: Sequence[int]
    tokens: Sequence[int]
    sections: Sequence[Section]

    def __len__(self) -> int:
        return len(self.digests)


@dataclass(frozen=True, slots=True, kw_only=True)
class Omitted:
    """How many items the budgets left out. ``messages`` counts from ``tail_from_seq``, unobserved ones included."""

    messages: int = 0
    unobserved_messages: int = 0
    observations: int = 0
    reflections: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """The answer of api.md's Context, without what the snapshot has. ``tokens`` has a key per section and total.

    ``first_seq`` is the first stored message that is shown. ``units`` are those of the prefix (see ``Rendered``).
    ``segments`` and ``decisions`` are None unless asked for.
    """

    payload: dict[str, Any]
    tokens: dict[str, int]
    cache: Cache
    prefix: Prefix
    omitted: Omitted
    units: tuple[bytes, ...]
    first_seq: int | None = None
    notices: tuple[str, ...] = ()
    segments: tuple[Segment, ...] | None = None
    decisions: tuple[Decision, ...] | None = None
