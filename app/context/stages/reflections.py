"""The condensed notes, highest level first (memory-rules.md section 6, part 3)."""

from dataclasses import replace

from app.context.blocks import reflection_blocks
from app.context.draft import Draft
from app.context.model import Ask, Snapshot


def reflections(draft: Draft, snapshot: Snapshot, ask: Ask) -> Draft:
    """A block each, dated from the anchor date; none where the memory is switched off."""
    if not snapshot.rules.enabled:
        return draft
    return replace(draft, reflections=reflection_blocks(snapshot.reflections, anchor=snapshot.anchor_date))
