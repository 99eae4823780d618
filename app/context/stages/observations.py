"""The observed chunks, oldest first (memory-rules.md section 6, part 4)."""

from dataclasses import replace

from app.context.blocks import age, observation_block
from app.context.draft import Draft
from app.context.model import Ask, Snapshot


def observations(draft: Draft, snapshot: Snapshot, ask: Ask) -> Draft:
    """A block each, dated from the anchor date; none where the memory is switched off."""
    if not snapshot.rules.enabled:
        return draft
    ordered = sorted(snapshot.observations, key=age)
    blocks = tuple(observation_block(entry, anchor=snapshot.anchor_date) for entry in ordered)
    return replace(draft, observations=blocks)
