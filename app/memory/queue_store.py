"""The SQL of the queue, which is the table ``memories`` itself (architecture.md 1.2): what is due, leases, requests.

A claim takes a lease: ``due_at`` moves into the future and the memory gets a new epoch. Every write carries that epoch
and has no effect once another worker has claimed the memory (fencing).
"""

from datetime import datetime
from typing import Any
from uuid import UUID

from app.kit.db import Database, Tx
from app.memory.metrics import MemoryMetrics
from app.memory.records import Lease
from app.memory.steps import UNFINISHED, Request, Wait

CLAIM = """/* claim */
UPDATE memories m SET lease_epoch = nextval('lease_epochs'), lease_owner = $2, lease_step = NULL,
  due_at = now() + make_interval(secs => $3)
FROM (SELECT id, due_at FROM memories WHERE id = $1 AND due_at <= now() FOR UPDATE) AS due
WHERE m.id = due.id RETURNING m.id, m.lease_epoch, extract(epoch FROM now() - due.due_at)::float8 AS waited_seconds
"""

# The oldest due memory of each tenant, then the second of each, so that busy tenants take turns with others. The index
# leads from tenant to tenant, however many memories one of them has due.
DUE = """/* due */
WITH RECURSIVE tenants AS (
  (SELECT tenant FROM memories WHERE due_at <= now() ORDER BY tenant LIMIT 1)
  UNION ALL
  SELECT following.tenant FROM tenants t CROSS JOIN LATERAL (
    SELECT tenant FROM memories WHERE due_at <= now() AND tenant > t.tenant ORDER BY tenant LIMIT 1
  ) AS following
)
SELECT due.id FROM tenants t CROSS JOIN LATERAL (
  SELECT id, due_at, row_number() OVER (ORDER BY due_at) AS turn FROM memories
  WHERE tenant = t.tenant AND due_at <= now() ORDER BY due_at LIMIT $2
) AS due
ORDER BY due.turn, due.due_at LIMIT $1
"""

# Only while the lease is held: a renewal that arrives after its end would put off what the end has set.
RENEW = """/* renew */
UPDATE memories SET due_at = now() + make_interval(secs => $3), lease_step = coalesce($4, lease_step)
WHERE id = $1 AND lease_epoch = $2 AND lease_owner IS NOT NULL RETURNING id
"""

# A requested step, and the rest of a span, stay to be done if a cap on cost forbids them now. That the log could not be
# condensed is no failure to retry, and is told until something is recorded. So is what failed before a pause: with a
# small cap no day would have tries enough to show less (narrowing).
SETTLE = """/* settle */
UPDATE memories SET
  due_at = CASE WHEN pending_tokens >= $3 OR (requested IS NOT NULL AND requested_at IS DISTINCT FROM $5)
                THEN now() ELSE $4 END,
  requested = CASE WHEN requested_at IS DISTINCT FROM $5 OR ($6 AND requested IN ('observe', 'reflect'))
                   THEN requested END,
  paused = $6, wake_tokens = CASE WHEN $6 AND wake_tokens = $7 THEN $7 ELSE $3 END,
  lease_owner = NULL, lease_step = NULL, attempts = 0,
  last_error = CASE WHEN $6 OR last_error->>'kind' = 'unhelped' THEN last_error END
WHERE id = $1 AND lease_epoch = $2
RETURNING coalesce(due_at <= now(), false) AS due
"""

# Memories that a cap on cost put off under former settings.
RESUME = "/* resume */ UPDATE memories SET due_at = now() WHERE due_at > now() AND paused AND lease_owner IS NULL"

GIVE_BACK = """/* give_back */
UPDATE memories SET due_at = now(), lease_owner = NULL, lease_step = NULL
WHERE id = $1 AND lease_epoch = $2 AND lease_owner IS NOT NULL
"""

FAIL = """/* fail */
UPDATE memories SET attempts = $3, last_error = coalesce($4, last_error), due_at = $5, lease_owner = NULL,
  lease_step = NULL, paused = false
WHERE id = $1 AND lease_epoch = $2 RETURNING id
"""

REQUEST = """/* request */
UPDATE memories SET requested_at = clock_timestamp(),
  requested = CASE WHEN $2 = 'look' THEN coalesce(requested, $2) ELSE $2 END,
  attempts = CASE WHEN lease_owner IS NULL THEN 0 ELSE attempts END,
  last_error = CASE WHEN lease_owner IS NULL THEN last_error - 'failed' ELSE last_error END,
  due_at = CASE WHEN lease_owner IS NULL THEN now() ELSE due_at END
WHERE id = $1 RETURNING id
"""

REDRIVE = """/* redrive */
WITH redriven AS (
  UPDATE memories SET requested_at = clock_timestamp(), requested = coalesce(requested, 'look'), attempts = 0,
    last_error = last_error - 'failed', due_at = now()
  WHERE due_at IS NOT NULL AND attempts > 0 AND lease_owner IS NULL RETURNING id
)
SELECT count(*) FROM redriven
"""

# Not now(), which is from before the rows are looked at: what came due in between would still be to come.
IDLE = """/* idle */
SELECT due_at IS NULL OR (lease_owner IS NULL AND due_at > clock_timestamp() AND attempts = 0)
FROM memories WHERE id = $1
"""


class QueueStore:
    """Statements that need a transaction take ``tx``; the others are one statement on a connection of their own."""

    def __init__(self, database: Database, metrics: MemoryMetrics | None = None) -> None:
        self._database = database
        self._metrics = metrics or MemoryMetrics()

    async def claim(self, memory_id: UUID, *, owner: str, seconds: float) -> Lease | None:
        """Take the memory if it is due and nobody else has; None otherwise."""
        row = await self._database.fetchrow(CLAIM, memory_id, owner, seconds)
        if row is None:
            return None
        self._metrics.claimed(row["waited_seconds"])
        return Lease(memory_id=row["id"], epoch=row["lease_epoch"])

    async def due(self, limit: int, *, of_tenant: int) -> list[UUID]:
        """The due memories, tenants taking turns (round robin); at most ``of_tenant`` of each."""
        return [row["id"] for row in await self._database.fetch(DUE, limit, of_tenant)]

    async def renew(self, lease: Lease, *, seconds: float, step: str | None = None) -> bool:
        """Prolong the lease; False when it was lost."""
        found = await self._database.fetchval(RENEW, lease.memory_id, lease.epoch, seconds, step)
        return found is not None

    async def settle(self, lease: Lease, wait: Wait, seen_at: datetime | None) -> bool:
        """End the lease: wait as told, or stay due for what came since the look. Answers whether the memory is due."""
        due = await self._database.fetchval(
            SETTLE, lease.memory_id, lease.epoch, wait.at_tokens, wait.until, seen_at, wait.paused, UNFINISHED
        )
        return bool(due)

    async def resume(self) -> None:
        """Have every paused memory looked at: the caps may have been raised."""
        await self._database.execute(RESUME)

    async def redrive(self) -> int:
        """Have every memory that is stalled or backing off tried again at once; answers how many."""
        count: int = await self._database.fetchval(REDRIVE)
        return count

    async def give_back(self, lease: Lease) -> None:
        await self._database.execute(GIVE_BACK, lease.memory_id, lease.epoch)

    async def fail(self, tx: Tx, lease: Lease, *, attempts: int, error: dict[str, Any] | None, until: datetime) -> None:
        """``error`` None keeps the last one."""
        await tx.execute(FAIL, lease.memory_id, lease.epoch, attempts, error, until)

    async def request(self, memory_id: UUID, request: Request) -> bool:
        """Request a step regardless of thresholds; a waiting or stalled memory is due at once. False: there is none."""
        async with self._database.connection(of=memory_id) as connection:
            return await connection.fetchval(REQUEST, memory_id, request) is not None

    async def idle(self, memory_id: UUID) -> bool:
        """Whether there is nothing to do now, as for a memory that does not exist."""
        return await self._database.fetchval(IDLE, memory_id) is not False
