"""Renders the layout in the format that the caller asked for."""

from dataclasses import replace
from typing import assert_never

from app.context.draft import Draft
from app.context.model import Ask, Format, Layout, Rendered, Snapshot
from app.context.rendering import anthropic, gemini, neutral, openai, openai_responses, text


def rendering(draft: Draft, snapshot: Snapshot, ask: Ask) -> Draft:
    return replace(draft, rendered=_rendered(draft.layout, ask.format, key=snapshot.key))


def _rendered(layout: Layout, shape: Format, *, key: str) -> Rendered:
    match shape:
        case Format.NEUTRAL:
            return neutral.render(layout)
        case Format.ANTHROPIC:
            return anthropic.render(layout)
        case Format.OPENAI:
            return openai.render(layout, key=key)
        case Format.OPENAI_RESPONSES:
            return openai_responses.render(layout, key=key)
        case Format.GEMINI:
            return gemini.render(layout)
        case Format.TEXT:
            return text.render(layout)
        case _:
            assert_never(shape)
