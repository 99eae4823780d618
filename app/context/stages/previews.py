"""Large parts that the agent has worked with already, as previews with their handles (memory-rules.md section 6)."""

from dataclasses import replace

from app.context.draft import Draft, noting
from app.context.explain import decision
from app.context.model import Ask, Snapshot, Verdict
from app.context.previews import previewed_seqs, with_previews
from app.sessions.model import Message

PREVIEWS = "previews"


def previews(draft: Draft, snapshot: Snapshot, ask: Ask) -> Draft:
    """Of the messages that fit, by their full size: so what is shown of one never moves where the tail starts."""
    if not snapshot.rules.enabled:
        return draft
    stored = draft.tail.stored
    seqs = previewed_seqs(
        stored,
        activated_seq=snapshot.activated_seq,
        observed_seq=snapshot.observed_seq,
        keep_results=snapshot.rules.keep_last_tool_results,
    )

    def shown(message: Message) -> Message:
        if message.seq not in seqs:
            return message
        return with_previews(message, key=snapshot.key, bytes_max=snapshot.part_bytes_inline_max)

    after = tuple(map(shown, stored))
    decisions = (
        decision(PREVIEWS, Verdict.CUT, message, "a large part of it is shown as a preview, by its handle")
        for before, message in zip(stored, after, strict=True)
        if before is not message
    )
    return noting(replace(draft, tail=replace(draft.tail, stored=after)), ask, decisions)
