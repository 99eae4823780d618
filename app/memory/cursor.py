"""Where the cursor and the tail stand after an activation (memory-rules.md section 6; the clocks of section 3)."""

from datetime import date, datetime

from app.kit.db import Tx
from app.memory.records import Fenced, Loaded
from app.memory.rules import Rules
from app.memory.spans import group_start
from app.memory.store import MemoryStore

LOOK_BACK = 200  # messages searched for the start of the group the tail begins with


async def advance(store: MemoryStore, tx: Tx, loaded: Loaded, rules: Rules, fenced: Fenced, *, to_seq: int) -> None:
    """Move the cursor to ``to_seq``, the tail's start after it, and the anchor to today."""
    await store.advance_cursor(
        tx,
        loaded.session_id,
        observed_seq=to_seq,
        tail_from_seq=await _tail_from(store, tx, loaded, rules, fenced, to_seq=to_seq),
        anchor_date=anchor_date(rules, fenced.now, fenced.newest_created_at),
    )


async def _tail_from(store: MemoryStore, tx: Tx, loaded: Loaded, rules: Rules, fenced: Fenced, *, to_seq: int) -> int:
    """min(first unobserved, last - keep_last + 1), moved earlier to the start of a group; never past the newest."""
    wanted = min(to_seq + 1, fenced.last_seq - max(rules.keep_last, 1) + 1)
    if wanted > to_seq:
        return wanted
    around = await store.around(tx, loaded.session_id, wanted, LOOK_BACK)
    return group_start(around, max(wanted, 1))


def anchor_date(rules: Rules, now: datetime, newest: datetime) -> date:
    """The later of the server's time and the newest message's, in the session's time zone."""
    return max(now, newest).astimezone(rules.zone).date()
