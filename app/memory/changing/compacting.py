"""Compaction: a summary replaces messages of the tail, in one transaction and one new version (docs/decisions/0020).

It takes a new epoch, because the messages of a running step may no longer be pending. The messages stay stored.
Buffered observations of them become live; those not observed yet are told by the summary alone, and the cursor passes
them. They are condensed before anything is locked, because that takes time, and the result is recorded only if the
messages to condense are still the same.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias
from zoneinfo import ZoneInfo

from app.kit.db import Database, Tx
from app.kit.errors import FieldError, Invalid, Unavailable
from app.memory import locking_store
from app.memory.changing import summary_store
from app.memory.changing.summary import Summary, new_summary
from app.memory.changing.summary_store import Derived, StoredSummary
from app.memory.cursor import start_of_group
from app.memory.cursor_store import advance_cursor
from app.memory.errors import AlreadyCompacted
from app.memory.extractive.observer import observations
from app.memory.log import render
from app.memory.model import ObserverInput
from app.memory.parsing import parse
from app.memory.ranges import Ranges
from app.memory.records import Hints, Locked
from app.memory.redacting import redacted_messages
from app.memory.rules import EXTRACT_TOKENS_MAX
from app.memory.service import MemoryService
from app.memory.store import MemoryStore, make_live
from app.redaction.model import OFF, Redact, Redaction
from app.sessions.model import Kind, Message, Part
from app.sessions.store import session_id

Condensed: TypeAlias = tuple[tuple[Part, ...], str]
"""What a summary is made of: the parts of the former summary, and the lines of messages that no note tells."""

CONDENSED_BYTES_MAX = 16 * 1024 * 1024  # of messages that no note tells: reasoning counts no tokens
TRIES = 5  # in case a message is replaced while it is condensed, or one more is observed


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """The summary that the tail begins with, and the version of the log."""

    version: int
    summary: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """The messages up to ``end`` over which a compaction moves the cursor: ``chunks``, and those in none of them.

    These are ``untold`` (one range, or none), and those to be observed ``again``; ``tokens`` of both are observable.
    """

    end: int
    chunks: tuple[Derived, ...]
    again: Ranges
    untold: Ranges
    tokens: int

    @property
    def ends(self) -> list[int]:
        """The last seqs of the chunks and ranges, each of which the cursor passes as a whole."""
        return [*(chunk.to_seq for chunk in self.chunks), *(last for _, last in self.again)]

    @property
    def ahead(self) -> list[Derived]:
        return [chunk for chunk in self.chunks if chunk.buffered]


class Compacting:
    def __init__(
        self, *, database: Database, store: MemoryStore, memory: MemoryService, redaction: Redaction = OFF
    ) -> None:
        self._database = database
        self._store = store
        self._memory = memory
        self._redaction = redaction

    async def compact(self, tenant: str, key: str, *, up_to_seq: int, text: str | None) -> Compacted:
        """Replace the messages up to the end of a group by a summary: the caller's ``text``, or one made here.

        Idempotent. Raises SessionNotFound, Invalid, AlreadyCompacted, Unavailable.
        """
        redact = self._redaction.of(tenant)
        if redact is not None and text is not None:
            text = await asyncio.to_thread(redact, text)
        told: Sequence[Message] = ()
        condensed: Condensed = ((), "")
        for _ in range(TRIES):
            async with self._database.tx(of=session_id(tenant, key)) as tx:
                locked = await locking_store.lock(tx, session_id(tenant, key), key)
                end = await self._end(tx, locked, up_to_seq)
                former = await summary_store.summary(tx, locked.session_id)
                if former is not None and _stands(former, end, text):
                    return Compacted(version=locked.version, summary=former.message)
                leaving = await self._leaving(tx, locked, end)
                wanted = () if text is not None else await self._to_tell(tx, locked, leaving, former)
                if wanted == told:
                    stored = await self._record(tx, locked, leaving, _summary(leaving, former, text, condensed))
                    break
            told, condensed = wanted, await _condensed(wanted, self._memory.rules(locked.config).zone, redact)
        else:
            raise Unavailable(f"the messages of session '{key}' kept changing while they were condensed")
        self._memory.wake(locked.memory_id)
        return Compacted(version=locked.version + 1, summary=stored)

    async def _end(self, tx: Tx, locked: Locked, up_to_seq: int) -> int:
        """The end of the last whole group up to there, but for the newest group, which stays. Raises Invalid."""
        if up_to_seq > locked.last_seq:
            raise Invalid.naming(FieldError("/up_to_seq", f"the newest message is {locked.last_seq}"))
        newest = await start_of_group(tx, locked.session_id, locked.newest_seq)
        wanted = min(up_to_seq, newest - 1)
        end = await start_of_group(tx, locked.session_id, wanted + 1) - 1
        if end < 1:
            detail = "nothing to compact: the newest message stays, and a tool call stays with its results"
            raise Invalid.naming(FieldError("/up_to_seq", detail))
        return end

    async def _leaving(self, tx: Tx, locked: Locked, end: int) -> Leaving:
        first = locked.buffered_seq + 1
        again = tuple((start, last) for start, last in locked.gaps if locked.observed_seq < start <= end)
        passed = [{"from_seq": start, "to_seq": last} for start, last in (*again, (first, end))]
        return Leaving(
            end=end,
            chunks=tuple(await summary_store.derived(tx, locked, up_to_seq=end)),
            again=again,
            untold=((first, end),) if first <= end else (),
            tokens=sum([await summary_store.observable_tokens(tx, locked.session_id, **span) for span in passed]),
        )

    async def _to_tell(
        self, tx: Tx, locked: Locked, leaving: Leaving, former: StoredSummary | None
    ) -> tuple[Message, ...]:
        """What only the summary will tell: the former summary, and the messages in no note.

        Raises Invalid if these are too many to be condensed without a model.
        """
        if leaving.tokens > EXTRACT_TOKENS_MAX:
            raise _too_much(f"{leaving.tokens} tokens", EXTRACT_TOKENS_MAX)
        found: list[Message] = []
        for first, last in leaving.untold:  # one range at most
            span = {"from_seq": first, "to_seq": last, "bytes_max": CONDENSED_BYTES_MAX}
            messages = await summary_store.observable(tx, locked.session_id, **span)
            if messages is None:
                raise _too_much("messages", f"{CONDENSED_BYTES_MAX} bytes")
            found += messages
        return tuple(found) if former is None else (former.message, *found)

    async def _record(self, tx: Tx, locked: Locked, leaving: Leaving, summary: Summary) -> Message:
        rules = self._memory.rules(locked.config)
        version, ahead = locked.version + 1, leaving.ahead
        await make_live(tx, locked.memory_id, [chunk.id for chunk in ahead], version=version)
        await advance_cursor(
            tx,
            locked.session_id,
            observed_seq=max([locked.observed_seq, leaving.end, *leaving.ends]),
            tail_from_seq=leaving.end + 1,
            timezone=rules.timezone,
        )
        stored = await summary_store.add_summary(tx, locked.session_id, summary)
        await self._store.record_control(tx, locked, "compacted", told=_told(ahead), left_tokens=leaving.tokens)
        return stored


def _too_much(what: str, most: int | str) -> Invalid:
    return Invalid.naming(FieldError("/summary", f"{what} are in no note yet; over {most}, send a summary yourself"))


async def _condensed(told: Sequence[Message], zone: ZoneInfo, redact: Redact | None) -> Condensed:
    """What a former summary says, and the lines of the messages after it, without a model."""
    seen = await asyncio.to_thread(redacted_messages, told, redact)
    former = tuple(part for message in seen if message.kind is Kind.SUMMARY for part in message.parts)
    messages = [message for message in seen if message.kind is not Kind.SUMMARY]
    return former, await asyncio.to_thread(extracted, messages, zone) if messages else ""


def extracted(messages: Sequence[Message], zone: ZoneInfo) -> str:
    """The lines of a log for messages that no observer has seen."""
    source = ObserverInput(messages=tuple(messages), timezone=zone)
    return render(parse(observations(source)).items)


def _summary(leaving: Leaving, former: StoredSummary | None, text: str | None, condensed: Condensed) -> Summary:
    retold, lines = condensed
    return new_summary(
        text,
        up_to_seq=leaving.end,
        untold=(*(former.untold if former else ()), *leaving.untold),
        former=retold,
        lines=lines,
    )


def _stands(former: StoredSummary, end: int, text: str | None) -> bool:
    """Whether the existing summary is the one asked for. Raises AlreadyCompacted if it stands for more messages."""
    if end > former.up_to_seq:
        return False
    if text is None:
        return True
    if end < former.up_to_seq:
        detail = f"message {former.message.seq} is already a summary of the messages up to {former.up_to_seq}"
        raise AlreadyCompacted.at("/up_to_seq", detail)
    return [part["text"] for part in former.message.parts] == [text]


def _told(ahead: Sequence[Derived]) -> Hints | None:
    """The current task as the newest chunk that becomes live tells it."""
    if not ahead:
        return None
    return Hints(current_task=ahead[-1].current_task, suggested_response=ahead[-1].suggested_response)
