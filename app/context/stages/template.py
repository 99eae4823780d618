"""The caller's own system prompt, filled with values (memory-rules.md section 6, part 1, and section 7)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.context.blocks import text_block
from app.context.draft import Draft, noting
from app.context.explain import decision
from app.context.model import Ask, ContextLimits, Section, Snapshot, Stability, Verdict
from app.kit.errors import FieldError, Invalid, TooLarge
from app.kit.invalid import too_many_errors
from app.state.reading import TEXT_SETTING
from app.state.templates import RenderedTooLarge, render


def template(draft: Draft, snapshot: Snapshot, ask: Ask) -> Draft:
    """One block for each text that is not blank. Raises Invalid for names without a value, and TooLarge."""
    texts = _filled(ask.system, {**snapshot.values, **ask.state}, ask.limits)
    blocks = tuple(
        text_block(f"system:{index}", Section.SYSTEM, Stability.STATIC, text)
        for index, text in enumerate(texts)
        if text.strip()
    )
    decisions = (decision("template", Verdict.KEPT, block, "the caller's own prompt") for block in blocks)
    return noting(replace(draft, system=blocks), ask, decisions)


def all_too_large(limits: ContextLimits) -> str:
    most = limits.system_characters_max
    return f"all texts with values inserted may have at most {most} characters (DAYBOOK_CONTEXT__SYSTEM_CHARACTERS_MAX)"


def no_value(name: str) -> str:
    return f"'{name}' has no value: write {{{name}?}} if it is optional, {{{{{name}}}}} if it is literal text"


def _filled(templates: Sequence[str], values: Mapping[str, Any], limits: ContextLimits) -> list[str]:
    texts: list[str] = []
    missing: list[FieldError] = []
    room, most = limits.system_characters_max, limits.template_characters_max
    for index, template in enumerate(templates):
        pointer = f"/system/{index}"
        try:
            rendered = render(template, values, chars_max=min(most, room))
        except RenderedTooLarge as error:
            told = f"{error} ({TEXT_SETTING})" if room >= most else all_too_large(limits)
            raise TooLarge.naming(FieldError(pointer, told)) from error
        texts.append(rendered.text)
        room -= len(rendered.text)
        missing += (FieldError(pointer, no_value(name)) for name in rendered.missing)
    if too_many := too_many_errors(len(missing)):
        raise Invalid.at("/system", too_many)
    if missing:
        raise Invalid.naming(*missing)
    return texts
