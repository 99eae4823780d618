"""Moves the cursor, the tail's start and the anchor date after messages were observed (memory-rules.md section 6)."""

import asyncio
from uuid import UUID

from app.kit.db import Tx
from app.memory.changing import summary_store
from app.memory.changing.summary import new_summary
from app.memory.cursor_store import advance_cursor, around
from app.memory.records import Fenced
from app.memory.rules import Rules
from app.memory.spans import group_start


async def advance(tx: Tx, session_id: UUID, rules: Rules, fenced: Fenced, *, to_seq: int) -> None:
    """Move the cursor to ``to_seq``, the tail's start as section 6 has it, and the anchor date to today.

    With ``compact_on_observe`` a summary replaces at once what left the tail (section 3.9).
    """
    tail_from_seq = await advance_cursor(
        tx,
        session_id,
        observed_seq=to_seq,
        tail_from_seq=await _tail_from(tx, session_id, rules, fenced, to_seq=to_seq),
        timezone=rules.timezone,
    )
    if rules.compact_on_observe:
        await _point_to_notes(tx, session_id, up_to_seq=tail_from_seq - 1)


async def start_of_group(tx: Tx, session_id: UUID, seq: int, *, force_closed: bool = False) -> int:
    """The first seq of the group of message ``seq`` (``force_closed`` as in ``group_start``)."""
    beside = await around(tx, session_id, seq)
    # In a thread: thousands of calls take a while.
    return await asyncio.to_thread(group_start, beside, seq, force_closed=force_closed)


async def _tail_from(tx: Tx, session_id: UUID, rules: Rules, fenced: Fenced, *, to_seq: int) -> int:
    """min(first unobserved, last - keep_last + 1), moved back to the start of its group; never past the newest message.

    After a span that ended in a group forced closed, the tail begins with the calls whose results came late.
    """
    keep_last = 1 if rules.compact_on_observe else max(rules.keep_last, 1)
    wanted = min(to_seq + 1, fenced.newest_seq - keep_last + 1)
    return await start_of_group(tx, session_id, max(wanted, 1), force_closed=wanted > to_seq)


async def _point_to_notes(tx: Tx, session_id: UUID, *, up_to_seq: int) -> None:
    former = await summary_store.summary(tx, session_id)
    if up_to_seq > (former.up_to_seq if former else 0):
        untold, parts = (former.untold, former.message.parts) if former else ((), ())
        await summary_store.add_summary(
            tx, session_id, new_summary(None, up_to_seq=up_to_seq, untold=untold, former=parts)
        )
