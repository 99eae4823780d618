"""The caller's own system prompt, with its values (memory-rules.md section 6, part 1, and section 7)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.context.blocks import text_block
from app.context.draft import Draft, noting
from app.context.explain import decision
from app.context.model import Ask, Section, Snapshot, Stability, Verdict
from app.kit.errors import ERRORS_MAX, FieldError, Invalid, TooLarge, too_many_errors
from app.state.templates import TEXT_CHARS_MAX, RenderedTooLarge, render

TEXTS_CHARS_MAX = 8 * TEXT_CHARS_MAX  # of all texts with their values: each of a thousand may be of the same large one
ALL_TOO_LARGE = f"all texts with their values may have at most {TEXTS_CHARS_MAX} characters"


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
    texts: list[str] = []
    missing: list[FieldError] = []
    room = TEXTS_CHARS_MAX
    for index, template in enumerate(templates):
        pointer = f"/system/{index}"
        try:
            rendered = render(template, values, chars_max=min(TEXT_CHARS_MAX, room))
        except RenderedTooLarge as error:
            told = str(error) if room >= TEXT_CHARS_MAX else ALL_TOO_LARGE
            raise TooLarge(f"{pointer}: {told}", errors=[FieldError(pointer, told)]) from error
        texts.append(rendered.text)
        room -= len(rendered.text)
        missing += (FieldError(pointer, f"'{name}' has no value") for name in rendered.missing)
    if len(missing) > ERRORS_MAX:
        raise Invalid.at("/system", too_many_errors(len(missing)))
    if missing:
        raise Invalid("; ".join(f"{field.pointer}: {field.detail}" for field in missing[:3]), errors=missing)
    return texts
