"""The caller's own system prompt, with its values (memory-rules.md section 6, part 1, and section 7)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.context.blocks import text_block
from app.context.draft import Draft, noting
from app.context.explain import decision
from app.context.model import Ask, Section, Snapshot, Stability, Verdict
from app.kit.errors import FieldError, Invalid, TooLarge
from app.state.templates import TEXT_CHARS_MAX, Rendered, RenderedTooLarge, render


def template(draft: Draft, snapshot: Snapshot, ask: Ask) -> Draft:
    """One block for each text that says something. Raises Invalid for names without a value, and TooLarge."""
    texts = _filled(ask.system, {**snapshot.values, **ask.state})
    blocks = tuple(
        text_block(f"system:{index}", Section.SYSTEM, Stability.STATIC, text)
        for index, text in enumerate(texts)
        if text.strip()
    )
    decisions = (decision("template", Verdict.KEPT, block, "the caller's own prompt") for block in blocks)
    return noting(replace(draft, system=blocks), ask, decisions)


def _filled(templates: Sequence[str], values: Mapping[str, Any]) -> list[str]:
    rendered = [_rendered(index, text, values) for index, text in enumerate(templates)]
    missing = [
        FieldError(f"/system/{index}", f"'{name}' has no value")
        for index, result in enumerate(rendered)
        for name in result.missing
    ]
    if missing:
        raise Invalid("; ".join(f"{field.pointer}: {field.detail}" for field in missing[:3]), errors=missing)
    return [result.text for result in rendered]


def _rendered(index: int, text: str, values: Mapping[str, Any]) -> Rendered:
    try:
        return render(text, values, chars_max=TEXT_CHARS_MAX)
    except RenderedTooLarge as error:
        raise TooLarge(f"/system/{index}: {error}", errors=[FieldError(f"/system/{index}", str(error))]) from error
