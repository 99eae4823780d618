"""Builds the rows of the search index from messages. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import blake2b
from itertools import accumulate
from typing import Final, TypeAlias
from uuid import UUID

from app.memory.model import Origin
from app.memory.texts import all_text, texts_of, value_text
from app.recall.tokens import CHARACTERS_READ, terms
from app.sessions.files import file_content, without_bytes
from app.sessions.model import Kind, Message, Part, PartType, Role

PAUSE: Final = timedelta(hours=1)  # a longer one ends a segment
# Limits of one message: a tsvector holds a mebibyte of terms.
TERMS_MAX: Final = 10_000
TERMS_BYTES_MAX: Final = 1_000_000
UNSEARCHED: Final = frozenset({Kind.BOUNDARY, Kind.SUMMARY})  # they add nothing to what other messages say

Counts: TypeAlias = dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Last:
    """The newest indexed message of a session; seq 0: none yet."""

    seq: int = 0
    segment: int = 0
    length: int = 0  # of all messages up to it
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The index row of a message. ``terms``: how often each occurs."""

    seq: int
    segment: int
    length: int
    length_before: int
    role: Role
    speaker: str | None
    created_at: datetime
    content_hash: bytes
    terms: Counts = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """The newest indexed message of each session, and the ``tail`` of newer ones not indexed yet, oldest first."""

    last: Mapping[UUID, Last]
    tail: Mapping[UUID, Sequence[Message]]


def session_term(session: UUID) -> str:
    """The term by which all messages of a session are found. It has a space, which no word has."""
    return f" s{session.hex}"


def resource_term(tenant: str, resource_id: str) -> str:
    """The term by which the messages of all sessions of a resource are found."""
    return f" r{blake2b(f'{tenant}/{resource_id}'.encode(), digest_size=16).hexdigest()}"


def entries(messages: Iterable[Message], last: Last) -> Iterator[Entry]:
    """The index rows of the messages, which follow ``last``, in their order."""
    segment, length, before = last.segment, last.length, last.created_at
    for message in messages:
        if before is None or message.created_at - before > PAUSE:
            segment += 1
        before = message.created_at
        counts = message_terms(message)
        size = sum(counts.values())
        yield Entry(
            seq=message.seq,
            segment=segment,
            length=size,
            length_before=length,
            role=message.role,
            speaker=message.name,
            created_at=message.created_at,
            content_hash=message.content_hash,
            terms=counts | dict.fromkeys(terms(message.name or "").keys() - counts.keys(), 1),
        )
        length += size


def message_terms(message: Message) -> Counts:
    """The most frequent terms of a message, as many as an index row can hold."""
    found = terms(message_text(message)[:CHARACTERS_READ]).most_common(TERMS_MAX)
    ends = accumulate(len(term.encode()) for term, _ in found)
    return {term: count for (term, count), end in zip(found, ends, strict=True) if end <= TERMS_BYTES_MAX}


def message_text(message: Message) -> str:
    """The text of a message that is indexed: its texts, calls and results, not the model's reasoning."""
    return "" if message.kind in UNSEARCHED else all_text(message.parts)


def shown_text(message: Message) -> str:
    """The text of a message that a hit shows: a call by its name and arguments, a result as it came.

    What a file says is marked as a stranger's text, unless all of the message is foreign.
    """
    if message.kind in UNSEARCHED:
        return ""
    mark = "" if message.is_foreign else f"({Origin.EXTERNAL}) "
    return "\n".join(text for part in message.parts for text in _shown(part, mark))


def _shown(part: Part, mark: str) -> Iterator[str]:
    match part.get("type"):
        case PartType.TOOL_CALL:
            yield f"{part.get('name', '')} {value_text(part.get('arguments'))}"
        case PartType.TOOL_RESULT:
            yield value_text(part.get("output"))
        case PartType.FILE if (content := file_content(part)) is not None:
            told = without_bytes(part)
            names = (told[key] for key in ("name", "url") if isinstance(told.get(key), str))
            yield f"{mark}[{' '.join(('file', *names))}]\n{value_text(content)}"
        case _:
            yield from texts_of(part)
