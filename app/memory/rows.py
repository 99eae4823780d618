"""Converts database rows to the memory's values."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any
from uuid import UUID

from app.kit.db import Row
from app.kit.weighted_cache import weighted_cache
from app.memory.log import items_from_json
from app.memory.model import Item, Observation, Reflection, Status
from app.memory.ranges import ranges_of
from app.memory.records import Conversation, Gap, Loaded, Standing
from app.memory.steps import UNFINISHED, LiveReflection, Request, Sizes

IDS_KEPT = 4_096  # a context reads one for each of its notes
LINE_CHARACTERS = 512  # a longer line counts as several
LINES_KEPT = 16_384  # the lines of some dozen logs: reading them takes a quarter of a context's time

# For a row ``o`` of observations: the key of its session, if the memory is shared.
CONVERSATION = """CASE WHEN o.session_id <> o.memory_id
  THEN (SELECT key FROM sessions WHERE id = o.session_id) END AS conversation"""

# The columns of a row ``r`` of reflections that are shown: all but ``covers``, which in a shared memory names every
# session that was ever condensed into it, and is only needed to condense it again.
REFLECTION = """r.id, r.level, r.generation, r.status, r.text, r.items, r.tokens, r.source_tokens, r.from_seq, r.to_seq,
  r.sources, r.born_version, r.retired_version, r.retired_by, r.created_at"""

# Which rows of both tables are the log, now and at a ``version``.
LIVE_NOW = "status = 'active'"
LIVE_THEN = """born_version <= {version}
  AND (retired_version IS NULL OR retired_version > {version}) AND erased_at IS NULL"""


def observation_of(row: Row) -> Observation:
    return Observation(
        id=row["id"],
        ordinal=row["ordinal"],
        status=Status(row["status"]),
        text=row["text"],
        items=_read_items("observation", row["id"], row["text"], row["items"]),
        tokens=row["tokens"],
        message_tokens=row["message_tokens"],
        session_id=_id_of(row["session_id"]),
        from_seq=row["from_seq"],
        to_seq=row["to_seq"],
        covers=ranges_of(row["covers"]),
        current_task=row["current_task"],
        suggested_response=row["suggested_response"],
        born_version=row["born_version"],
        retired_version=row["retired_version"],
        retired_by=row["retired_by"],
        created_at=row["created_at"],
        conversation=row.get("conversation"),
    )


def reflection_of(row: Row) -> Reflection:
    return Reflection(
        id=row["id"],
        level=row["level"],
        generation=row["generation"],
        status=Status(row["status"]),
        text=row["text"],
        items=_read_items("reflection", row["id"], row["text"], row["items"]),
        tokens=row["tokens"],
        source_tokens=row["source_tokens"],
        covers={_id_of(session): ranges_of(pairs) for session, pairs in (row.get("covers") or {}).items()},
        from_seq=row["from_seq"],
        to_seq=row["to_seq"],
        sources=tuple(row["sources"].get("observations", [])) + tuple(row["sources"].get("reflections", [])),
        born_version=row["born_version"],
        retired_version=row["retired_version"],
        retired_by=row["retired_by"],
        created_at=row["created_at"],
        shared=bool(row.get("shared")),
    )


def _progress(row: Row) -> dict[str, Any]:
    """The fields of ``Progress``."""
    return {
        "session_id": row["session_id"],
        "session_key": row["session_key"],
        "last_seq": row["next_seq"] - 1,
        "observed_seq": row["observed_seq"],
        "buffered_seq": max(row["observed_seq"], row["buffered_seq"]),
        "facts_seq": row["facts_seq"],
        "ended": row["ended_at"] is not None,
    }


def standing_of(row: Row, *, gaps: Sequence[Row] = (), conversations: Sequence[Row] = ()) -> Standing:
    """``gaps``: messages to observe again; ``conversations``: the sessions of a shared memory."""
    return Standing(
        **_progress(row),
        memory_id=row["id"],
        tenant=row["tenant"],
        now=row["now"],
        config=row["config"],
        pending_tokens=row["pending_tokens"],
        requested=Request(row["requested"]) if row["requested"] else None,
        requested_at=row["requested_at"],
        attempts=row["attempts"],
        last_error=row["last_error"],
        reflected_at=row["reflected_at"],
        unhelped_tokens=row["unhelped_tokens"],
        unfinished=row["wake_tokens"] == UNFINISHED,
        current_task=row["current_task"],
        rebuilding=tuple(Gap(**gap) for gap in gaps),
        resource_id=row["resource_id"],
        sizes=sizes_of(row),
        conversations=tuple(Conversation(**_progress(one), waits=one["waits"]) for one in conversations),
    )


def sizes_of(row: Row) -> Sizes:
    levels, tokens = row["reflection_levels"] or (), row["reflection_sizes"] or ()
    return Sizes(
        observations=row["observations"],
        observation_tokens=row["observation_tokens"],
        buffered=tuple(row["buffered"] or ()),
        reflections=tuple(LiveReflection(level=level, tokens=size) for level, size in zip(levels, tokens, strict=True)),
        ahead=bool(row["ahead"]),
    )


def loaded_of(standing: Standing, observations: Sequence[Row], reflections: Sequence[Row]) -> Loaded:
    chunks = [observation_of(found) for found in observations]
    condensed = [reflection_of(found) for found in reflections]
    return Loaded.of(
        standing,
        observations=tuple(chunk for chunk in chunks if chunk.status is Status.ACTIVE),
        buffered=tuple(chunk for chunk in chunks if chunk.status is Status.BUFFERED),
        reflections=tuple(note for note in condensed if note.status is Status.ACTIVE),
    )


def _id_of(value: UUID | str) -> UUID:
    """An id, also of a row that came as JSON."""
    return _read_id(value) if isinstance(value, str) else value


def _as_stored(kind: str, note_id: int, text: str, _items: Sequence[Mapping[str, Any]], /) -> tuple[str, int, str]:
    """The cache key, without the items: an edit makes a new note, and an erasure empties the text."""
    return kind, note_id, text


def _lines(items: tuple[Item, ...]) -> int:
    """The weight of a cache entry: it counts even without lines, and a long line counts as several."""
    return 1 + sum(1 + len(item.whole_text) // LINE_CHARACTERS for item in items)


@weighted_cache(LINES_KEPT, weight=_lines, key=_as_stored)
def _read_items(_kind: str, _note_id: int, _text: str, items: Sequence[Mapping[str, Any]], /) -> tuple[Item, ...]:
    return items_from_json(items)


@lru_cache(maxsize=IDS_KEPT)
def _read_id(text: str) -> UUID:
    return UUID(text)
