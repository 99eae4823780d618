"""The SQL of one note at a time, of either kind: read, edit, retire (decision 0009). The caller locks the memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

from app.kit.db import Row, Tx
from app.kit.errors import DomainError
from app.memory.errors import ObservationNotFound, ReflectionNotFound
from app.memory.log import items_to_json
from app.memory.model import Item, Observation, Reflection, Status
from app.memory.records import Locked
from app.memory.rows import CONVERSATION, observation_of, reflection_of

N = TypeVar("N", Observation, Reflection)

# What retired a note, if not a reflection; also causes of versions.
EDITED, DELETED, ERASED = "edited", "deleted", "erased"

OBSERVATION = "/* observation */ SELECT * FROM observations WHERE memory_id = $1 AND id = $2"

REFLECTION = "/* reflection */ SELECT * FROM reflections WHERE memory_id = $1 AND id = $2"

# The memory is hidden from the planner, which would plan each call anew (context/store.py).
LIVE_OBSERVATIONS = """/* live_observations */
SELECT * FROM observations WHERE memory_id = (SELECT $1::uuid) AND status <> 'retired' ORDER BY ordinal
"""

LIVE_REFLECTIONS = """/* live_reflections */
SELECT * FROM reflections WHERE memory_id = (SELECT $1::uuid) AND status <> 'retired' ORDER BY level DESC, from_seq
"""

RETIRE_OBSERVATIONS = """/* retire_observations */
UPDATE observations SET status = 'retired', retired_version = $3, retired_by = $4
WHERE memory_id = $1 AND id = ANY($2::bigint[]) AND status <> 'retired' RETURNING tokens
"""

RETIRE_REFLECTIONS = """/* retire_reflections */
UPDATE reflections SET status = 'retired', retired_version = $3, retired_by = $4
WHERE memory_id = $1 AND id = ANY($2::bigint[]) AND status <> 'retired' RETURNING tokens
"""

EDIT_OBSERVATION = f"""/* edit_observation */
WITH old AS (
  UPDATE observations SET status = 'retired', retired_version = $3, retired_by = $4
  WHERE memory_id = $1 AND id = $2 AND status <> 'retired' RETURNING *
)
INSERT INTO observations AS o (memory_id, ordinal, text, items, tokens, message_tokens, session_id, from_seq, to_seq,
                               covers, current_task, suggested_response, status, born_version)
SELECT memory_id, ordinal, $5, $6::jsonb, $7::int, message_tokens, session_id, from_seq, to_seq, covers, current_task,
       suggested_response, $8, CASE WHEN born_version IS NOT NULL THEN $3::bigint END
FROM old RETURNING *, {CONVERSATION}
"""  # noqa: S608 - our own expression

EDIT_REFLECTION = """/* edit_reflection */
WITH old AS (
  UPDATE reflections SET status = 'retired', retired_version = $3, retired_by = $4
  WHERE memory_id = $1 AND id = $2 AND status <> 'retired' RETURNING *
)
INSERT INTO reflections (memory_id, level, generation, text, items, tokens, source_tokens, from_seq, to_seq, covers,
                         sources, status, born_version)
SELECT memory_id, level, generation, $5, $6::jsonb, $7::int, source_tokens, from_seq, to_seq, covers, sources, $8, $3
FROM old RETURNING *
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes(Generic[N]):
    """One of the two kinds of notes: what one is called, how its row is read, and the statements about it."""

    name: str
    unknown: type[DomainError]
    read: Callable[[Row], N]
    one: str
    live: str
    edit: str
    retire: str


OBSERVATIONS = Notes(
    name="observation",
    unknown=ObservationNotFound,
    read=observation_of,
    one=OBSERVATION,
    live=LIVE_OBSERVATIONS,
    edit=EDIT_OBSERVATION,
    retire=RETIRE_OBSERVATIONS,
)
REFLECTIONS = Notes(
    name="reflection",
    unknown=ReflectionNotFound,
    read=reflection_of,
    one=REFLECTION,
    live=LIVE_REFLECTIONS,
    edit=EDIT_REFLECTION,
    retire=RETIRE_REFLECTIONS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewText:
    """The content of an edited note."""

    text: str
    items: tuple[Item, ...]
    tokens: int


async def note(tx: Tx, notes: Notes[N], memory_id: UUID, note_id: int) -> N | None:
    row = await tx.fetchrow(notes.one, memory_id, note_id)
    return None if row is None else notes.read(row)


async def live_notes(tx: Tx, notes: Notes[N], memory_id: UUID) -> list[N]:
    found = [notes.read(row) for row in await tx.fetch(notes.live, memory_id)]
    return [note for note in found if note.status is Status.ACTIVE]


async def edit_note(tx: Tx, notes: Notes[N], locked: Locked, old: N, new: NewText) -> N:
    """Replace ``old`` by a copy with the new text and the same status. Answers the copy."""
    columns = (new.text, items_to_json(new.items), new.tokens, old.status)
    version = locked.version + 1
    return notes.read(await tx.fetchrow(notes.edit, locked.memory_id, old.id, version, EDITED, *columns))


async def delete_notes(tx: Tx, notes: Notes[N], locked: Locked, old: Sequence[N]) -> None:
    ids = [note.id for note in old]
    await tx.execute(notes.retire, locked.memory_id, ids, locked.version + 1, DELETED)
