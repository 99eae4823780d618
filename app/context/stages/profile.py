"""What was known of the resource before its session began: it stays as it was then (docs/facts.md)."""

from dataclasses import replace

from app.context.draft import Draft, noting
from app.context.model import Ask, Snapshot
from app.context.profile import profile_block, profile_decisions


def profile(draft: Draft, snapshot: Snapshot, ask: Ask) -> Draft:
    """A block of its own; none where nothing was known, or the memory is switched off."""
    standing = snapshot.standing
    if standing is None or not snapshot.rules.enabled:
        return draft
    zone, tokens_max = snapshot.rules.zone, snapshot.profile_tokens
    block = profile_block(standing, zone=zone, tokens_max=tokens_max)
    decisions = profile_decisions(standing, zone=zone, tokens_max=tokens_max)
    return noting(replace(draft, profile=() if block is None else (block,)), ask, decisions)
