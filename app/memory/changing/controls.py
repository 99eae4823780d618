"""The operator's controls on the log: edit a note, delete notes (api.md, Memory).

Each is one transaction and one new version, and takes a new epoch: a step whose sources changed while it was thinking
records nothing (architecture.md 1.2). A deleted note keeps its row, so its messages still count as observed, and no
later reflection uses it as a source. A buffered chunk is in no version yet, but has an id: if it is edited it stays
buffered; if it is deleted it never becomes live, and the cursor passes it with the next one that does.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from app.kit.db import Database, Tx
from app.kit.errors import FieldError, Invalid, TooLarge
from app.kit.offload import offloaded
from app.kit.tokens import text_tokens
from app.memory import locking_store, note_store
from app.memory.errors import NotLive
from app.memory.gates import clip_citations
from app.memory.log import render
from app.memory.model import Item, Observation, Reflection, Status
from app.memory.note_store import DELETED, EDITED, ERASED, OBSERVATIONS, REFLECTIONS, N, NewText, Notes
from app.memory.parsing import OBSERVATIONS as LOG
from app.memory.parsing import block, parse
from app.memory.ranges import Ranges
from app.memory.records import FORGOTTEN, Locked
from app.memory.reflection_store import SOURCES_CHANGED
from app.memory.service import MemoryService
from app.memory.shared_citations import BEYOND, Numbering
from app.memory.store import MemoryStore
from app.redaction.model import OFF, Redaction
from app.sessions.store import session_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """How many notes a deletion retired, and the version of the log after it."""

    version: int
    retired: int


class Controls:
    def __init__(
        self, *, database: Database, store: MemoryStore, memory: MemoryService, redaction: Redaction = OFF
    ) -> None:
        self._database = database
        self._store = store
        self._memory = memory
        self._redaction = redaction

    async def edit(self, tenant: str, key: str, notes: Notes[N], note_id: int, text: str) -> N:
        """Replace a note by one with the lines of ``text``. Answers the new note, which has a new id.

        Raises SessionNotFound, ObservationNotFound or ReflectionNotFound, NotLive, Invalid, TooLarge.
        """
        redact = self._redaction.of(tenant)
        if redact is not None:
            text = await asyncio.to_thread(redact, text)
        items = await offloaded(partial(read_items, text), size=len(text))
        async with self._database.tx(of=session_id(tenant, key)) as tx:
            locked = await locking_store.lock(tx, session_id(tenant, key), key)
            old = await self._note(tx, notes, locked, note_id)
            _refuse_what_is_not_live(notes, old)
            new = await offloaded(partial(_new_text, tenant, locked, old, items, text), size=len(text))
            self._refuse_growth(locked, old, new)
            edited = await note_store.edit_note(tx, notes, locked, old, new)
            await self._store.record_control(tx, locked, EDITED)
        self._memory.wake(locked.memory_id)
        return edited

    async def delete(self, tenant: str, key: str, notes: Notes[N], note_id: int | None = None) -> Deleted:
        """Retire a note, or all live ones in one version. Not an error if there is none (api.md, Memory).

        The current task goes with the note that told it. Raises SessionNotFound, and NotLive for a note that another
        one has condensed or replaced.
        """
        async with self._database.tx(of=session_id(tenant, key)) as tx:
            locked = await locking_store.lock(tx, session_id(tenant, key), key)
            old = await self._deletable(tx, notes, locked, note_id)
            if not old:
                return Deleted(version=locked.version, retired=0)
            await note_store.delete_notes(tx, notes, locked, old)
            told = FORGOTTEN if await self._told_last(tx, locked, old) else None
            await self._store.record_control(tx, locked, DELETED, told=told)
        self._memory.wake(locked.memory_id)
        return Deleted(version=locked.version + 1, retired=len(old))

    async def _note(self, tx: Tx, notes: Notes[N], locked: Locked, note_id: int) -> N:
        note = await note_store.note(tx, notes, locked.memory_id, note_id)
        if note is None:
            raise notes.unknown(f"the session has no {notes.name} {note_id}")
        return note

    async def _deletable(self, tx: Tx, notes: Notes[N], locked: Locked, note_id: int | None) -> list[N]:
        if note_id is None:
            return await note_store.live_notes(tx, notes, locked.memory_id)
        note = await note_store.note(tx, notes, locked.memory_id, note_id)
        if note is None or note.retired_by == DELETED:
            return []
        _refuse_what_is_not_live(notes, note)
        return [note]

    async def _told_last(self, tx: Tx, locked: Locked, old: Sequence[Observation | Reflection]) -> bool:
        """Whether a deleted live note comes after all notes that are left."""
        left: list[Observation | Reflection] = [
            *await note_store.live_notes(tx, OBSERVATIONS, locked.memory_id),
            *await note_store.live_notes(tx, REFLECTIONS, locked.memory_id),
        ]
        end = max((note.place[1] for note in left), default=0)
        return any(note.status is Status.ACTIVE and note.place[1] > end for note in old)

    def _refuse_growth(self, locked: Locked, old: N, new: NewText) -> None:
        """Raises TooLarge for a note larger than a log that is due to be condensed, unless the old one was as large."""
        limit = self._memory.rules(locked.config).observation_tokens
        if new.tokens > max(limit, old.tokens):
            detail = (
                f"the text has {new.tokens} tokens, and a note may have {limit} (observation_tokens of the session's"
                f" config, DAYBOOK_MEMORY__OBSERVATION_TOKENS) or as many as it had, {old.tokens}"
            )
            raise TooLarge.at("/text", detail)


def read_items(text: str) -> tuple[Item, ...]:
    """The lines of an edit, in the form of the log. Raises Invalid if there are none, or one is repeated many times."""
    parsed = parse(block(LOG, text))
    if parsed.repetitive or not parsed.items:
        found = "repeats itself" if parsed.repetitive else "has no line of a note, which starts with '* '"
        raise Invalid(f"the text {found}", errors=[FieldError("/text", found)])
    return parsed.items


def new_text(items: tuple[Item, ...], text: str, *, covers: Ranges) -> NewText:
    """The lines as a note of the messages ``covers``. A ``#4211`` outside of these is a name, not a citation."""
    return _as_note(clip_citations(items, within=covers, said=text))


def _new_text(
    tenant: str, locked: Locked, old: Observation | Reflection, items: tuple[Item, ...], text: str
) -> NewText:
    """In a shared log a line may cite the note's messages by the names of the conversations that it cited before."""
    if not locked.is_shared:
        return new_text(items, text, covers=old.covered[locked.session_id])

    def last_of(name: str) -> int:
        return max((last for _, last in old.covered.get(session_id(tenant, name), ())), default=0)

    numbering = Numbering.of(old.items, after=BEYOND, last_of=last_of)
    numbered = numbering.numbered_text(text)
    clipped = clip_citations(read_items(numbered), within=((BEYOND + 1, numbering.total),), said=numbered)
    return _as_note(numbering.named_words(clipped))


def _as_note(items: tuple[Item, ...]) -> NewText:
    text = render(items)
    return NewText(text=text, items=items, tokens=text_tokens(text))


def _refuse_what_is_not_live(notes: Notes[N], note: N) -> None:
    """Raises NotLive, telling what became of the note. Of a buffered reflection the sources can be edited instead."""
    if note.status is Status.RETIRED:
        raise NotLive(f"{notes.name} {note.id} is no longer live: {_fate(note)}")
    if note.status is Status.BUFFERED and isinstance(note, Reflection):
        raise NotLive(f"{notes.name} {note.id} is not live yet: change the notes that it condenses")


def _fate(note: Observation | Reflection) -> str:
    if note.retired_by == SOURCES_CHANGED:
        return "the notes that it condenses changed before it was live"
    is_named = note.retired_by in {EDITED, DELETED, ERASED}
    became = f"it was {note.retired_by}" if is_named else f"{note.retired_by} condensed it"
    return f"{became} in version {note.retired_version}"
