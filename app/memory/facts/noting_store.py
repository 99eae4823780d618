"""The SQL of how far a session is read for facts."""

from typing import Any
from uuid import UUID

from app.kit.db import Tx
from app.memory.ranges import Ranges, ranges_of
from app.memory.records import Loaded
from app.sessions.sharing_store import waiting

# What was read may have to be read again, as a message was replaced or a session deleted meanwhile. The row is locked.
READ = "/* facts_read */ SELECT facts_seq FROM sessions WHERE id = $1"

# The messages that only the summary tells: they left for it before they were observed.
UNTOLD = """/* untold */
SELECT m.covers FROM sessions s JOIN messages m ON m.session_id = s.id AND m.seq = s.summary_seq WHERE s.id = $1
"""

NOTED = f"""/* facts_noted */
WITH read AS (UPDATE sessions SET facts_seq = $2, waiting = {waiting(facts_seq="$2::bigint")} WHERE id = $1)
UPDATE memories SET usage = $4, attempts = 0, last_error = NULL WHERE id = $3
"""  # noqa: S608 - our own statement


async def untold(tx: Tx, session: UUID) -> Ranges:
    """The messages that the session's summary tells and no note does."""
    return ranges_of(await tx.fetchval(UNTOLD, session) or ())


async def read_up_to(tx: Tx, session: UUID) -> int | None:
    """The last message that was read; None if the session is gone."""
    seq: int | None = await tx.fetchval(READ, session)
    return seq


async def record(tx: Tx, loaded: Loaded, *, read_up_to: int, usage: dict[str, Any]) -> None:
    await tx.execute(NOTED, loaded.session_id, read_up_to, loaded.memory_id, usage)
