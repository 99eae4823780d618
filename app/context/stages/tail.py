"""The conversation itself, as it was said (memory-rules.md section 6, part 6)."""

from dataclasses import replace

from app.context.draft import Draft, Tail
from app.context.model import Ask, Snapshot


def tail(draft: Draft, snapshot: Snapshot, ask: Ask) -> Draft:
    """The stored messages that were read, and the caller's own behind them."""
    return replace(draft, tail=Tail(stored=snapshot.tail, incoming=ask.incoming))
