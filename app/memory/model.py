"""What is remembered, as values: the lines of the log, and what an observer or reflector is given and gives back."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import chain
from typing import Protocol, TypeAlias, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

from app.llm.port import Usage
from app.memory.rules import OBSERVER_OUTPUT_TOKENS, TOOLS, ToolTokens
from app.sessions.model import Message, Trust

UTC = ZoneInfo("UTC")
CITED_MAX = 100  # messages told of one line
Ranges: TypeAlias = tuple[tuple[int, int], ...]  # seqs, inclusive, ascending and disjoint


class Priority(StrEnum):
    """The mark at the head of a line (memory-rules.md section 4)."""

    HIGH = "🔴"  # what the user asserts or asks, decisions
    MEDIUM = "🟡"  # project and tool facts
    LOW = "🟢"  # minor or uncertain
    DONE = "✅"


class Tag(StrEnum):
    DECISION = "decision"
    PREFERENCE = "preference"
    FACT = "fact"
    ISSUE = "issue"
    NEXT_STEP = "next_step"
    OUTCOME = "outcome"


WISHES = frozenset({Tag.DECISION, Tag.PREFERENCE, Tag.NEXT_STEP})  # of the user, or the operator


class Origin(StrEnum):
    """Where a line comes from that rests on nobody's word: text of a tool, or of a stranger. Written ``(tool)``."""

    TOOL = "tool"
    EXTERNAL = "external"


@dataclass(frozen=True, slots=True)
class Cite:
    """Messages a line rests on: seqs ``first``..``last``, inclusive. Written ``#12`` or ``#15-18``.

    In a memory that several conversations share it names its own: ``#chat-7:12``.
    """

    first: int
    last: int
    conversation: str | None = None


def touches(seqs: Ranges, cites: Iterable[Cite]) -> bool:
    """Whether one of the citations is of one of the messages."""
    return any(first <= cite.last and cite.first <= last for cite in cites for first, last in seqs)


def seqs_of(cites: Iterable[Cite]) -> Ranges:
    """The messages cited, in the order of the citations."""
    return tuple((cite.first, cite.last) for cite in cites)


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """A sub-bullet: more about the line it hangs under."""

    text: str
    cites: tuple[Cite, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One top-level line of the log.

    ``day`` is the text of the ``Date:`` header it stands under, ``Aug 1, 2026`` where a date could be read from it, ""
    where there was none. ``time`` is ``HH:MM`` or None. ``text`` holds neither mark, time, tag nor citations.
    ``priority`` None is a line that carried no mark. ``origin`` None is a line that rests on the user or the operator.
    """

    text: str
    day: str = ""
    time: str | None = None
    priority: Priority | None = None
    tag: Tag | None = None
    uncertain: bool = False
    origin: Origin | None = None
    cites: tuple[Cite, ...] = ()
    details: tuple[Detail, ...] = ()

    @property
    def trust(self) -> Trust:
        """Whose word it is. The user's and the assistant's are not told apart: a line knows no roles."""
        return Trust.USER if self.origin is None else Trust(self.origin)

    @property
    def whole_text(self) -> str:
        """Its own, then that of each detail, a line each."""
        return "\n".join((self.text, *(detail.text for detail in self.details)))

    @property
    def all_cites(self) -> tuple[Cite, ...]:
        """Its own, then those of its details."""
        return (*self.cites, *(cite for detail in self.details for cite in detail.cites))

    @property
    def cited(self) -> tuple[int, ...]:
        """The messages that these are, each once, so many at most."""
        seqs = (range(cite.first, min(cite.last + 1, cite.first + CITED_MAX)) for cite in self.all_cites)
        return tuple(dict.fromkeys(chain.from_iterable(seqs)))[:CITED_MAX]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """What could be read from a model's reply. ``complete`` says whether a whole observations block was found.

    A task or response of None was not told, of "" is none any more.
    """

    items: tuple[Item, ...]
    current_task: str | None = None
    suggested_response: str | None = None
    complete: bool = True
    repetitive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One model call of the memory, for the ``runs`` table. ``provider`` extractive makes no call: usage is zero."""

    provider: str
    model: str
    prompt_version: str
    usage: Usage
    latency_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What an observer or reflector wrote, unread and unjudged. ``cut_off``: it ended at the output limit."""

    text: str
    call: Call
    cut_off: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserverInput:
    """What an observer sees (memory-rules.md section 4): ``messages`` is the span, skipped ones left out.

    ``earlier`` are the lines already in the log, oldest first, cut to their budget. ``rejected`` is why the last try
    at the same span was refused, None at the first. ``input_tokens`` caps the messages' view (None: no cap); it bites
    only where one group of messages is larger than that. ``tools`` is how much it shows of calls and results.
    ``output_tokens`` is what may be written of them.
    ``small_model`` asks the smaller model, where there is one.
    """

    messages: tuple[Message, ...]
    earlier: tuple[Item, ...] = ()
    current_task: str | None = None
    timezone: ZoneInfo = UTC
    instruction: str | None = None
    rejected: str | None = None
    input_tokens: int | None = None
    tools: ToolTokens = TOOLS
    output_tokens: int = OBSERVER_OUTPUT_TOKENS
    small_model: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectorInput:
    """What a reflector condenses: ``items`` oldest first, of ``source_tokens`` tokens, to about ``target_tokens``.

    ``compression`` is 1-4 (about 8/10, 6/10, 4/10, 2/10 of the detail, memory-rules.md section 5). ``small_model``
    asks the smaller model, where there is one.
    """

    items: tuple[Item, ...]
    source_tokens: int
    target_tokens: int
    compression: int = 1
    now: datetime
    timezone: ZoneInfo = UTC
    instruction: str | None = None
    rejected: str | None = None
    small_model: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractorInput:
    """What facts are taken from: lines of the log, or messages that nobody has observed. Never both.

    ``rejected`` is why the last try was refused; the others are as in ``ObserverInput``.
    """

    items: tuple[Item, ...] = ()
    messages: tuple[Message, ...] = ()
    timezone: ZoneInfo = UTC
    instruction: str | None = None
    rejected: str | None = None
    input_tokens: int | None = None
    tools: ToolTokens = TOOLS
    small_model: bool = False


Source = TypeVar("Source", ObserverInput, ReflectorInput, ExtractorInput)
Source_contra = TypeVar("Source_contra", ObserverInput, ReflectorInput, ExtractorInput, contravariant=True)


class Status(StrEnum):
    BUFFERED = "buffered"
    ACTIVE = "active"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One chunk of the log: the lines observed from ``from_seq``..``to_seq``; ``covers`` leaves out what was skipped.

    ``session_id`` is whose messages they are. ``ordinal`` is its place in the log.
    ``text`` is ``items`` as the model sees them, ``tokens`` its size, ``message_tokens`` the size of what it covers.
    Live at version v: ``born_version <= v`` and not ``retired_version <= v``.
    """

    id: int
    ordinal: int
    status: Status
    text: str
    items: tuple[Item, ...]
    tokens: int
    message_tokens: int
    session_id: UUID
    from_seq: int
    to_seq: int
    covers: Ranges
    current_task: str | None = None
    suggested_response: str | None = None
    born_version: int | None
    retired_version: int | None = None
    retired_by: str | None = None
    created_at: datetime
    conversation: str | None = None  # the key of its session, where the log is not that session's alone

    @property
    def place(self) -> tuple[int, int]:
        """Where in the log it begins and ends."""
        return self.ordinal, self.ordinal + self.to_seq - self.from_seq

    @property
    def covered(self) -> Mapping[UUID, Ranges]:
        return {self.session_id: self.covers}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """One condensed note of ``level`` >= 1, made of ``sources`` (observation ids at level 1, else reflection ids).

    ``from_seq`` and ``to_seq`` are its place in the log: seqs where that is one session's, else the ordinals of the
    observations it condenses. ``covers`` are the messages behind it, by their session, where they were read.
    ``shared``: the log is not one session's alone, as far as that was read.
    """

    id: int
    level: int
    generation: int
    status: Status
    text: str
    items: tuple[Item, ...]
    tokens: int
    source_tokens: int
    covers: Mapping[UUID, Ranges]
    from_seq: int
    to_seq: int
    sources: tuple[int, ...]
    born_version: int | None
    retired_version: int | None = None
    retired_by: str | None = None
    created_at: datetime
    shared: bool = False

    @property
    def conversations(self) -> tuple[str, ...]:
        """The keys of the sessions that its lines cite by name, sorted."""
        cites = (cite for item in self.items for cite in item.all_cites)
        return tuple(sorted({cite.conversation for cite in cites if cite.conversation is not None}))

    @property
    def place(self) -> tuple[int, int]:
        """Where in the log it begins and ends."""
        return self.from_seq, self.to_seq

    @property
    def covered(self) -> Mapping[UUID, Ranges]:
        return self.covers


class Role(Protocol[Source_contra]):
    """Writes lines of a log from messages, or from a log. ``name`` is the provider shown in diagnostics."""

    @property
    def name(self) -> str: ...

    async def draft(self, source: Source_contra) -> Draft: ...

    async def estimate(self, source: Source_contra) -> Usage:
        """What a draft uses at most; nothing where no model is called."""


Observer: TypeAlias = Role[ObserverInput]
Extractor: TypeAlias = Role[ExtractorInput]


class Reflector(Role[ReflectorInput], Protocol):
    @property
    def target_tokens_max(self) -> int | None:
        """How long a log it can write; None as long as nothing is known of a limit."""
