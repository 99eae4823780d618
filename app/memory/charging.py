"""Checks each model call of the memory against its payers' caps: reserves before it, books after it (decision 0016).

Without a cap nothing is counted, and no statement is made.
"""

import asyncio
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from app.kit.db import Database
from app.llm.port import Check, ModelError, Usage
from app.memory.model import Draft, Role, Source
from app.memory.records import Attempt, Standing
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

    async def paid(self, attempt: Attempt, role: Role[Source], source: Source, before_sending: Check) -> Draft | None:
        """One call; None if a cap forbids it.

        Raises what the call or ``before_sending`` does. A call that is not made because of that, or is cancelled, or
        whose process dies, leaves its reservation behind, which ends with the lease.
        """
        expected = amount(await role.estimate(source)) if self.caps.are_set else Amount()
        if not expected.tokens:
            return await role.draft(source, before_sending)
        rung, reserved_at = await self._reserve(attempt, expected)
        if rung is Rung.PAUSED:
            return None
        try:
            draft = await role.draft(replace(source, small_model=rung is not Rung.FULL), before_sending)
        except ModelError as error:
            await self._charge(attempt, error.usage, reserved_at)
            raise
        await self._charge(attempt, draft.call.usage, reserved_at)
        return draft

    async def _reserve(self, attempt: Attempt, expected: Amount) -> tuple[Rung, datetime]:
        memory = attempt.loaded
        async with self._database.tx() as tx:
            accounts = await self._store.lock(tx, memory.memory_id, memory.tenant, session_id=memory.session_id)
            allowed = allowance(self.caps, accounts)
            if allowed.rung is not Rung.PAUSED:
                await self._store.reserve(tx, attempt.lease, memory.tenant, expected)
        return allowed.rung, accounts.now

    async def _charge(self, attempt: Attempt, usage: Usage, reserved_at: datetime) -> None:
        """Book what was spent, also if the step is cancelled meanwhile, because its lease is lost."""
        spent = amount(usage)
        unpriced = spent.tokens if usage.cost_usd is None else 0
        booking = self._store.charge(
            attempt.lease, attempt.loaded.tenant, spent, unpriced_tokens=unpriced, reserved_at=reserved_at
        )
        booked = asyncio.create_task(booking)
        try:
            await asyncio.shield(booked)
        finally:
            await booked
