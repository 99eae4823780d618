"""The log: reflections, then observations (memory-rules.md section 6, parts 3 and 4)."""

from dataclasses import replace

from app.context.blocks import observation_blocks, reflection_blocks
from app.context.draft import Draft
from app.context.model import Ask, Snapshot


def notes(draft: Draft, snapshot: Snapshot, ask: Ask) -> Draft:
    """One block for each note, dated relative to the anchor date; none if the memory is switched off."""
    if not snapshot.rules.enabled:
        return draft
    return replace(
        draft,
        reflections=reflection_blocks(snapshot.reflections, anchor=snapshot.anchor_date),
        observations=observation_blocks(snapshot.observations, anchor=snapshot.anchor_date),
    )
