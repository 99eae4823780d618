"""The condensed notes, highest level first (memory-rules.md section 6, part 3)."""

from dataclasses import replace

from app.context.blocks import age, reflection_block
from app.context.draft import Draft
from app.context.model import Ask, Snapshot


def reflections(draft: Draft, snapshot: Snapshot, ask: Ask) -> Draft:
    """A block each, dated from the anchor date; none where the memory is switched off."""
    if not snapshot.rules.enabled:
        return draft
    ordered = sorted(snapshot.reflections, key=lambda entry: (-entry.level, age(entry)))
    blocks = tuple(reflection_block(entry, anchor=snapshot.anchor_date) for entry in ordered)
    return replace(draft, reflections=blocks)
