"""The observed chunks, oldest first (memory-rules.md section 6, part 4)."""

from dataclasses import replace

from app.context.blocks import observation_blocks
from app.context.draft import Draft
from app.context.model import Ask, Snapshot


def observations(draft: Draft, snapshot: Snapshot, ask: Ask) -> Draft:
    """A block each, dated from the anchor date; none where the memory is switched off."""
    if not snapshot.rules.enabled:
        return draft
    return replace(draft, observations=observation_blocks(snapshot.observations, anchor=snapshot.anchor_date))
