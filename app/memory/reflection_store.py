"""The SQL of reflections: live at once, or buffered to replace their sources later.

The caller holds the fence or the lock (locking_store.py).
"""

from typing import Any
from uuid import UUID

from app.kit.db import Row, Tx
from app.memory.log import items_to_json, render
from app.memory.model import Status
from app.memory.note_store import RETIRE_OBSERVATIONS, RETIRE_REFLECTIONS
from app.memory.outcomes import Outcome
from app.memory.records import Fenced, Loaded, NewReflection

SOURCES_CHANGED = "sources_changed"  # by which a reflection made ahead was
KEPT_AS_IT_IS = "the reflector wrote nothing small enough: the log stays as it is until it has another size"

ADD_REFLECTION = """/* add_reflection */
INSERT INTO reflections (memory_id, level, generation, text, items, tokens, source_tokens, from_seq, to_seq,
                         covers, sources, status, born_version)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) RETURNING *
"""

ACTIVATE_REFLECTION = """/* activate_reflection */
UPDATE reflections SET status = 'active', born_version = $2, generation = $3
WHERE memory_id = $1 AND status = 'buffered' RETURNING *
"""

DISCARD_AHEAD = """/* discard_ahead */
UPDATE reflections r SET status = 'retired', retired_by = $2
WHERE memory_id = $1 AND status = 'buffered' AND (
  EXISTS (SELECT FROM observations o WHERE o.memory_id = $1 AND o.status = 'retired'
            AND o.id IN (SELECT id::bigint FROM jsonb_array_elements_text(r.sources->'observations') AS s (id)))
  OR EXISTS (SELECT FROM reflections o WHERE o.memory_id = $1 AND o.status = 'retired'
               AND o.id IN (SELECT id::bigint FROM jsonb_array_elements_text(r.sources->'reflections') AS s (id))))
RETURNING id
"""

REFLECTED = """/* reflected */
UPDATE memories SET observation_tokens = observation_tokens - $2, reflection_tokens = reflection_tokens + $3,
  log_version = $4, generation = $5, reflected_at = now(), unhelped_tokens = NULL, attempts = 0, last_error = NULL,
  usage = $6
WHERE id = $1
"""

# No new version: the log is as it was.
MADE_AHEAD = "/* made_ahead */ UPDATE memories SET attempts = 0, last_error = NULL, usage = $2 WHERE id = $1"

UNHELPED = """/* unhelped */
UPDATE memories SET unhelped_tokens = $2, reflected_at = now(), usage = $3, attempts = 0, last_error = $4 WHERE id = $1
"""


async def record_reflection(
    tx: Tx, loaded: Loaded, fenced: Fenced, new: NewReflection, *, usage: dict[str, Any]
) -> None:
    """Make the next version: one reflection replaces its sources."""
    version = fenced.version + 1
    added = await _add_reflection(tx, loaded, fenced, new, Status.ACTIVE, born_version=version)
    await _replace_sources(tx, loaded, fenced, added, usage=usage)
    await discard_ahead(tx, loaded.memory_id)


async def buffer_reflection(
    tx: Tx, loaded: Loaded, fenced: Fenced, new: NewReflection, *, usage: dict[str, Any]
) -> None:
    """Record a buffered reflection: it makes no version, and its sources stay live."""
    await _add_reflection(tx, loaded, fenced, new, Status.BUFFERED, born_version=None)
    await tx.execute(MADE_AHEAD, loaded.memory_id, usage)


async def activate_reflection(tx: Tx, loaded: Loaded, fenced: Fenced) -> None:
    """Make the next version: the buffered reflection replaces its sources."""
    row = await tx.fetchrow(ACTIVATE_REFLECTION, loaded.memory_id, fenced.version + 1, fenced.generation + 1)
    await _replace_sources(tx, loaded, fenced, row, usage=fenced.usage)


async def discard_ahead(tx: Tx, memory_id: UUID) -> bool:
    """Retire the buffered reflection if one of its sources is retired. Answers whether it was."""
    return await tx.fetchval(DISCARD_AHEAD, memory_id, SOURCES_CHANGED) is not None


async def record_unhelped(
    tx: Tx, loaded: Loaded, fenced: Fenced, *, step: str, log_tokens: int, usage: dict[str, Any]
) -> None:
    """Record that a reflection did not shrink the log of this size, as an error until the next step is recorded."""
    error = {"at": fenced.now.isoformat(), "step": step, "kind": Outcome.UNHELPED, "message": KEPT_AS_IT_IS}
    await tx.execute(UNHELPED, loaded.memory_id, log_tokens, usage, error)


async def _add_reflection(
    tx: Tx, loaded: Loaded, fenced: Fenced, new: NewReflection, status: Status, *, born_version: int | None
) -> Row:
    return await tx.fetchrow(
        ADD_REFLECTION,
        loaded.memory_id,
        new.level,
        fenced.generation + 1,
        render(new.items),
        items_to_json(new.items),
        new.tokens,
        new.source_tokens,
        new.from_seq,
        new.to_seq,
        {str(session): ranges for session, ranges in new.covers.items()},
        {"observations": new.observations, "reflections": new.reflections},
        status,
        born_version,
    )


async def _replace_sources(tx: Tx, loaded: Loaded, fenced: Fenced, reflection: Row, *, usage: dict[str, Any]) -> None:
    """Retire the sources of a live reflection, and update the sizes of the log."""
    memory_id, version, by = loaded.memory_id, fenced.version + 1, f"reflection:{reflection['id']}"
    sources = reflection["sources"]
    observed = await tx.fetch(RETIRE_OBSERVATIONS, memory_id, sources["observations"], version, by)
    reflected = await tx.fetch(RETIRE_REFLECTIONS, memory_id, sources["reflections"], version, by)
    shrunk = sum(row["tokens"] for row in observed)
    grown = reflection["tokens"] - sum(row["tokens"] for row in reflected)
    await tx.execute(REFLECTED, memory_id, shrunk, grown, version, fenced.generation + 1, usage)
