"""The caller's own system prompt (memory-rules.md section 6, part 1)."""

from dataclasses import replace

from app.context.blocks import text_block
from app.context.draft import Draft, noting
from app.context.explain import decision
from app.context.model import Ask, Section, Snapshot, Stability, Verdict


def template(draft: Draft, snapshot: Snapshot, ask: Ask) -> Draft:
    """One block for each text that says something."""
    texts = ask.system
    blocks = tuple(
        text_block(f"system:{index}", Section.SYSTEM, Stability.STATIC, text)
        for index, text in enumerate(texts)
        if text.strip()
    )
    decisions = (decision("template", Verdict.KEPT, block, "the caller's own prompt") for block in blocks)
    return noting(replace(draft, system=blocks), ask, decisions)
