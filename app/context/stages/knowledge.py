"""The caller's knowledge, before the conversation (memory-rules.md section 6, part 1)."""

from dataclasses import replace

from app.context.blocks import text_block
from app.context.draft import Draft, noting
from app.context.explain import decision
from app.context.model import Ask, Section, Snapshot, Stability, Verdict
from app.context.wording import titled


def knowledge(draft: Draft, snapshot: Snapshot, ask: Ask) -> Draft:
    """One block for each piece placed in the prefix; those placed at the tail are volatile."""
    blocks = tuple(
        text_block(f"knowledge:{index}", Section.KNOWLEDGE, Stability.STATIC, titled(item.title, item.text))
        for index, item in enumerate(ask.knowledge)
        if item.placement == "prefix"
    )
    decisions = (decision("knowledge", Verdict.KEPT, block, "placed in the prefix") for block in blocks)
    return noting(replace(draft, knowledge=blocks), ask, decisions)
