"""The tail: the messages themselves (memory-rules.md section 6, part 6)."""

from dataclasses import replace

from app.context.draft import Draft, Tail
from app.context.model import Ask, Snapshot
from app.memory.changing.summary import with_heading


def tail(draft: Draft, snapshot: Snapshot, ask: Ask) -> Draft:
    """The stored messages that were read, the summary of those before them, and the caller's own behind them."""
    summary = None if snapshot.summary is None else with_heading(snapshot.summary)
    return replace(draft, tail=Tail(summary=summary, stored=snapshot.tail, incoming=ask.incoming))
