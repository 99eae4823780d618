"""The guide to the notes, and the continuation note behind them (memory-rules.md section 6, parts 2 and 5)."""

from dataclasses import replace
from functools import cache

from app.context.blocks import text_block
from app.context.draft import Draft, noting
from app.context.explain import decision
from app.context.model import Ask, Block, Section, Snapshot, Stability, Turn, Verdict
from app.context.wording import CONTINUATION, GUIDE, SHARED_GUIDE
from app.kit.tokens import text_tokens
from app.sessions.model import Role, text_part


def continuation(draft: Draft, snapshot: Snapshot, ask: Ask) -> Draft:
    """Add the guide before the notes and the note behind them, if there are notes."""
    if not draft.has_log:
        return draft
    leading = guide(shared=snapshot.is_shared)
    decisions = (decision("continuation", Verdict.KEPT, piece, "there are notes") for piece in (leading, note()))
    return noting(replace(draft, guide=(leading,), continuation=(note(),)), ask, decisions)


@cache
def guide(*, shared: bool) -> Block:
    return text_block("guide", Section.GUIDE, Stability.STATIC, SHARED_GUIDE if shared else GUIDE)


@cache
def note() -> Turn:
    return Turn(
        id="continuation",
        role=Role.USER,
        parts=(text_part(CONTINUATION),),
        tokens=text_tokens(CONTINUATION),
        section=Section.GUIDE,
        stability=Stability.STATIC,
    )
