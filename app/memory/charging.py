"""Checks each model call of the memory against its payers' caps: reserves before it, books after it (decision 0016).

Without a cap nothing is counted, and no statement is made.
"""

from dataclasses import replace
from uuid import UUID

from app.kit.db import Database
from app.llm.port import ModelError, Usage
from app.memory.model import Draft, Role, Source
from app.memory.records import Lease, Standing
from app.memory.spending import Accounts, Allowance, Amount, Caps, Rung, allowance, amount
from app.memory.spending_store import SpendingStore


class Charging:
    def __init__(self, *, database: Database, store: SpendingStore, caps: Caps) -> None:
        self._database = database
        self._store = store
        self.caps = caps

    async def allowance(self, standing: Standing) -> Allowance:
        """What this memory may do now."""
        accounts = await self.accounts(standing.memory_id, standing.tenant)
        return Allowance() if accounts is None else allowance(self.caps, accounts)

    async def accounts(self, memory_id: UUID | None, tenant: str) -> Accounts | None:
        """What was spent today by a memory and its tenant, or by the tenant alone; None if no cap is set."""
        return await self._store.accounts(memory_id, tenant) if self.caps.are_set else None

    async def paid(
        self,
        lease: Lease,
        standing: Standing,
        role: Role[Source],
        source: Source,
    ) -> Draft | None:
        """One call; None if it was not made, because a cap forbids it or the lease was taken over.

        Raises what the call does. A call that is cancelled, or whose process dies, leaves its reservation behind,
        which ends with the lease.
        """
        expected = amount(await role.estimate(source)) if self.caps.are_set else Amount()
        if not expected.tokens:
            return await role.draft(source)
        rung = await self._reserve(lease, standing, expected)
        if rung is Rung.PAUSED:
            return None
        try:
            draft = await role.draft(replace(source, small_model=rung is not Rung.FULL))
        except ModelError as error:
            await self._charge(lease, standing, error.usage)
            raise
        await self._charge(lease, standing, draft.call.usage)
        return draft

    async def _reserve(self, lease: Lease, standing: Standing, expected: Amount) -> Rung:
        async with self._database.tx() as tx:
            allowed = allowance(self.caps, await self._store.lock(tx, standing.memory_id, standing.tenant))
            if allowed.rung is Rung.PAUSED or not await self._store.reserve(tx, lease, standing.tenant, expected):
                return Rung.PAUSED
        return allowed.rung

    async def _charge(self, lease: Lease, standing: Standing, usage: Usage) -> None:
        spent = amount(usage)
        unpriced = spent.tokens if usage.cost_usd is None else 0
        await self._store.charge(lease, standing.tenant, spent, unpriced_tokens=unpriced)
