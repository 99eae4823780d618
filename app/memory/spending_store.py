"""The SQL of what the memory's model calls cost by day: one row per memory and day, one per tenant and day.

A memory makes one call at a time, so its row holds what that call has reserved, under the epoch of its lease. The
reservation counts while that lease is held: that of a killed worker ends with its lease, without cleanup. Locks come in
the order session, tenant, memory.
"""

from datetime import datetime
from uuid import UUID

from app.kit.db import Database, Row, Tx
from app.memory.records import Lease
from app.memory.spending import Account, Accounts, Amount

TODAY = "(now() AT TIME ZONE 'UTC')::date"

ACCOUNTS = f"""/* accounts */
SELECT now() AS now, s.tokens, s.cost_usd, s.unpriced_tokens,
  (SELECT max(day) FROM spending WHERE memory_id = $1 AND tokens > 0) AS last_paid,
  t.tokens AS tenant_tokens, t.cost_usd AS tenant_usd, t.unpriced_tokens AS tenant_unpriced_tokens, calls.*
FROM (VALUES ($1::uuid, $2::text, {TODAY})) AS asked (memory_id, tenant, day)
LEFT JOIN spending s USING (memory_id, day)
LEFT JOIN tenant_spending t ON t.tenant = asked.tenant AND t.day = asked.day
CROSS JOIN LATERAL (
  SELECT sum(r.reserved_tokens)::bigint AS tenant_reserved_tokens, sum(r.reserved_usd) AS tenant_reserved_usd,
    sum(r.reserved_tokens) FILTER (WHERE r.memory_id = asked.memory_id)::bigint AS reserved_tokens,
    sum(r.reserved_usd) FILTER (WHERE r.memory_id = asked.memory_id) AS reserved_usd
  FROM spending r JOIN memories m ON m.id = r.memory_id AND m.lease_epoch = r.reserved_epoch
  WHERE r.tenant = asked.tenant AND r.day = asked.day AND r.reserved_epoch IS NOT NULL
    AND m.lease_owner IS NOT NULL AND m.due_at > now()
) AS calls
"""  # noqa: S608 - our own expression

# Locks the session against its deletion, which takes the rows of its memory: else a call could reserve after that, and
# a later memory with the same key would find its row. Before the tenant, whose other calls need not wait for that.
HOLD_SESSION = "/* hold_session_to_reserve */ SELECT FROM sessions WHERE id = $1 FOR KEY SHARE"

LOCK_DAY = f"""/* lock_day */
INSERT INTO tenant_spending (tenant, day) VALUES ($1, {TODAY})
ON CONFLICT (tenant, day) DO UPDATE SET tenant = excluded.tenant
"""  # noqa: S608 - our own expression

RESERVE = f"""/* reserve */
INSERT INTO spending (memory_id, day, tenant, reserved_epoch, reserved_tokens, reserved_usd)
SELECT id, {TODAY}, $2::text, lease_epoch, $4::bigint, $5::float8 FROM memories WHERE id = $1 AND lease_epoch = $3
ON CONFLICT (memory_id, day) DO UPDATE SET reserved_epoch = excluded.reserved_epoch,
  reserved_tokens = excluded.reserved_tokens, reserved_usd = excluded.reserved_usd
"""  # noqa: S608 - our own expression

# Earlier days are deleted: ``runs`` has the cost of each call. If the memory was deleted meanwhile, its row with what
# the call had reserved is gone, and only its tenant is charged: a later memory with its key is another one, whose
# session was made after the call had reserved.
CHARGE = f"""/* charge */
WITH past AS (DELETE FROM spending WHERE memory_id = $1 AND day < {TODAY}),
past_of_tenant AS (DELETE FROM tenant_spending WHERE tenant = $2 AND day < {TODAY}),
day AS (
  INSERT INTO tenant_spending AS t (tenant, day, tokens, cost_usd, unpriced_tokens) VALUES ($2, {TODAY}, $4, $5, $6)
  ON CONFLICT (tenant, day) DO UPDATE SET tokens = t.tokens + excluded.tokens,
    cost_usd = t.cost_usd + excluded.cost_usd, unpriced_tokens = t.unpriced_tokens + excluded.unpriced_tokens
  RETURNING t.day
)
INSERT INTO spending AS s (memory_id, day, tenant, tokens, cost_usd, unpriced_tokens)
SELECT r.memory_id, day.day, $2, $4, $5, $6 FROM day, spending r WHERE r.memory_id = $1
  AND NOT EXISTS (SELECT FROM sessions WHERE id = $1 AND created_at > $7)
ORDER BY r.day DESC LIMIT 1 FOR UPDATE OF r
ON CONFLICT (memory_id, day) DO UPDATE SET tokens = s.tokens + excluded.tokens,
  cost_usd = s.cost_usd + excluded.cost_usd, unpriced_tokens = s.unpriced_tokens + excluded.unpriced_tokens,
  reserved_epoch = nullif(s.reserved_epoch, $3)
"""  # noqa: S608 - our own expression


class SpendingStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def accounts(self, memory_id: UUID | None, tenant: str) -> Accounts:
        """Today's accounts of the memory (empty for None) and of its tenant."""
        return _accounts_of(await self._database.fetchrow(ACCOUNTS, memory_id, tenant))

    async def lock(self, tx: Tx, memory_id: UUID, tenant: str, *, session_id: UUID) -> Accounts:
        """Today's accounts; no other call of the tenant can reserve until the end of ``tx``.

        ``session_id``: the session of the memory that the call is about.
        """
        await tx.execute(HOLD_SESSION, session_id)
        await tx.execute(LOCK_DAY, tenant)
        return _accounts_of(await tx.fetchrow(ACCOUNTS, memory_id, tenant))

    async def reserve(self, tx: Tx, lease: Lease, tenant: str, estimate: Amount) -> None:
        """Reserve what a call may cost; nothing if the lease was taken over."""
        await tx.execute(RESERVE, lease.memory_id, tenant, lease.epoch, estimate.tokens, estimate.cost_usd)

    async def charge(
        self, lease: Lease, tenant: str, spent: Amount, *, unpriced_tokens: int, reserved_at: datetime
    ) -> None:
        """Replace what a call had reserved by what it cost."""
        await self._database.execute(
            CHARGE, lease.memory_id, tenant, lease.epoch, spent.tokens, spent.cost_usd, unpriced_tokens, reserved_at
        )


def _accounts_of(row: Row) -> Accounts:
    return Accounts(
        now=row["now"],
        last_paid=row["last_paid"],
        session=Account(
            spent=_amount(row["tokens"], row["cost_usd"]),
            reserved=_amount(row["reserved_tokens"], row["reserved_usd"]),
            unpriced_tokens=row["unpriced_tokens"] or 0,
        ),
        tenant=Account(
            spent=_amount(row["tenant_tokens"], row["tenant_usd"]),
            reserved=_amount(row["tenant_reserved_tokens"], row["tenant_reserved_usd"]),
            unpriced_tokens=row["tenant_unpriced_tokens"] or 0,
        ),
    )


def _amount(tokens: int | None, cost_usd: float | None) -> Amount:
    return Amount(tokens=tokens or 0, cost_usd=cost_usd or 0.0)
