"""A branch outlives its parent: it is that one's parent's then, so that an erasure further up still finds it."""

from app.kit.db import Tx
from app.sessions.model import Gone

BRANCHED = """/* branched */
SELECT key, branched_from, branched_at_seq, created_at FROM sessions
WHERE id = ANY($1::uuid[]) AND branched_from IS NOT NULL
"""

# What is older than a session of the parent's key is the branch of one before it.
ADOPT = """/* adopt_branches */
UPDATE sessions s SET branched_from = gone.branched_from, branched_at_seq = least(s.branched_at_seq, gone.at_seq)
FROM unnest($2::text[], $3::text[], $4::bigint[], $5::timestamptz[]) AS gone (key, branched_from, at_seq, created_at)
WHERE s.tenant = $1 AND s.branched_from = gone.key AND s.created_at >= gone.created_at
"""


async def adopt(tx: Tx, gone: Gone) -> None:
    """Give the branches of sessions that are being deleted to the sessions that these were branches of."""
    rows = await tx.fetch(BRANCHED, gone.sessions)
    if rows:
        await tx.execute(ADOPT, gone.tenant, *zip(*(row.values() for row in rows), strict=True))
