"""Values of the memory: log lines, notes, and the inputs and outputs of observer, reflector and extractor."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import chain
from typing import Protocol, Self, TypeAlias, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

from app.llm.port import Check, Usage
from app.memory.ranges import Ranges
from app.memory.rules import OBSERVER_OUTPUT_TOKENS, TOOLS, ToolTokens
from app.sessions.model import Message, Trust

UTC = ZoneInfo("UTC")
CITED_MAX = 100  # messages listed for one line


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
    """The untrusted source of a line: the text of a tool, or of a stranger. Written ``(tool)``."""

    TOOL = "tool"
    EXTERNAL = "external"


@dataclass(frozen=True, slots=True)
class Cite:
    """Messages a line rests on: seqs ``first``..``last``, inclusive. Written ``#12`` or ``#15-18``.

    In a shared memory a citation names its conversation: ``#chat-7:12``.
    """

    first: int
    last: int
    conversation: str | None = None


def touches(seqs: Ranges, cites: Iterable[Cite]) -> bool:
    """Whether one of the citations overlaps the messages ``seqs``."""
    return any(first <= cite.last and cite.first <= last for cite in cites for first, last in seqs)


def seqs_of(cites: Iterable[Cite]) -> Ranges:
    """The ranges of seqs cited, in the order of the citations."""
    return tuple((cite.first, cite.last) for cite in cites)


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """A sub-bullet: more about the line it hangs under."""

    text: str
    cites: tuple[Cite, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One top-level line of the log.

    ``day`` is the text of the ``Date:`` header above it, ``Aug 1, 2026`` if it could be read as a date, "" if there is
    none. ``time`` is ``HH:MM`` or None. ``text`` holds neither mark, time, tag nor citations. ``priority`` None: the
    line has no mark. ``origin`` None: the line rests on the user or the operator.
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
        """The trust of its source. A line records no role, so the assistant's words count as the user's."""
        return Trust.USER if self.origin is None else Trust(self.origin)

    @property
    def whole_text(self) -> str:
        """Its text, then that of each detail, one per line."""
        return "\n".join((self.text, *(detail.text for detail in self.details)))

    @property
    def all_cites(self) -> tuple[Cite, ...]:
        """Its citations, then those of its details."""
        return (*self.cites, *(cite for detail in self.details for cite in detail.cites))

    @property
    def cited(self) -> tuple[int, ...]:
        """The seqs of the cited messages, without duplicates, at most CITED_MAX."""
        seqs = (range(cite.first, min(cite.last + 1, cite.first + CITED_MAX)) for cite in self.all_cites)
        return tuple(dict.fromkeys(chain.from_iterable(seqs)))[:CITED_MAX]

    def revised(self, revise: Callable[[str, tuple[Cite, ...]], tuple[str, tuple[Cite, ...]]]) -> Self:
        """The line with the text and citations that ``revise`` makes of its own, and the same of each detail."""
        text, cites = revise(self.text, self.cites)
        revised = (revise(detail.text, detail.cites) for detail in self.details)
        details = tuple(Detail(text=told, cites=cited) for told, cited in revised)
        return replace(self, text=text, cites=cites, details=details)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A parsed reply of a model. ``complete``: it has a whole observations block.

    A task or response is None if the reply does not mention it, "" if it says that there is none.
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
    """A reply of an observer, reflector or extractor, not yet parsed. ``cut_off``: it ended at the output limit."""

    text: str
    call: Call
    cut_off: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserverInput:
    """An observer's input (memory-rules.md section 4): ``messages`` is the span, skipped ones left out.

    ``earlier`` are the lines already in the log, oldest first, cut to their budget. ``rejected``: why the last attempt
    at the same span was refused, None at the first. ``input_tokens`` caps the messages' view (None: no cap), which
    matters only if one group of messages is larger. ``tools``: how much of calls and results is shown.
    ``output_tokens``: the output limit. ``small_model``: use the smaller model, if there is one.
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
    """A reflector's input: ``items``, oldest first, of ``source_tokens`` tokens, to condense to some ``target_tokens``.

    ``compression`` is 1-4 (about 8/10, 6/10, 4/10, 2/10 of the detail, memory-rules.md section 5). ``small_model``: use
    the smaller model, if there is one.
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
    """An extractor's input: lines of the log, or messages that were not observed; never both.

    ``rejected``: why the last attempt was refused; the others are as in ``ObserverInput``.
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
    """One chunk of the log: the lines observed from ``from_seq``..``to_seq``; ``covers`` leaves out skipped messages.

    ``session_id``: the session of the messages. ``ordinal``: its place in the log. ``text`` is ``items`` as the model
    sees them, ``tokens`` its size, ``message_tokens`` the size of the messages it covers. Live at version v:
    ``born_version <= v`` and not ``retired_version <= v``.
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
    conversation: str | None = None  # the key of its session, if several share the log

    @property
    def place(self) -> tuple[int, int]:
        """Its first and last position in the log."""
        return self.ordinal, self.ordinal + self.to_seq - self.from_seq

    @property
    def covered(self) -> Mapping[UUID, Ranges]:
        return {self.session_id: self.covers}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """One condensed note of ``level`` >= 1, made of ``sources`` (observation ids at level 1, else reflection ids).

    ``from_seq`` and ``to_seq`` are its place in the log: seqs if the log is one session's, else the ordinals of the
    observations it condenses. ``covers``: the messages behind it by session, if they were read. ``shared``: several
    sessions share the log, as far as that was read.
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
        """Its first and last position in the log."""
        return self.from_seq, self.to_seq

    @property
    def covered(self) -> Mapping[UUID, Ranges]:
        return self.covers


class Role(Protocol[Source_contra]):
    """Writes lines of a log from messages, or from a log. ``name`` is the provider shown in diagnostics."""

    @property
    def name(self) -> str: ...

    async def draft(self, source: Source_contra, before_sending: Check, /) -> Draft:
        """``before_sending`` as in ``ModelRequest``; a role that calls no model does not await it."""

    async def estimate(self, source: Source_contra) -> Usage:
        """An upper estimate of a draft's usage; zero if no model is called."""


Observer: TypeAlias = Role[ObserverInput]
Extractor: TypeAlias = Role[ExtractorInput]


class Reflector(Role[ReflectorInput], Protocol):
    @property
    def target_tokens_max(self) -> int | None:
        """The longest log it can write, in tokens; None if no limit is known."""
