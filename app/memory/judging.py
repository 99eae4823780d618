"""A draft against its source: parsed, told whose word each line rests on, judged (memory-rules.md section 4). Pure."""

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from app.memory.gates import Verdict, judge_facts, judge_observation, judge_reflection
from app.memory.model import Draft, ExtractorInput, Item
from app.memory.parsing import parse
from app.memory.spans import Span
from app.memory.trust import item_voices, message_voices, vetted


def judged_observation(
    draft: Draft, span: Span, *, task: str | None, timezone: ZoneInfo, output_tokens: int
) -> Verdict:
    """``task`` is the one that was known before, ``output_tokens`` what the observer was to write at most."""
    parsed = vetted(parse(draft.text), message_voices(span.messages), task=task)
    return judge_observation(
        parsed,
        source=span.messages,
        source_tokens=span.tokens,
        output_tokens=output_tokens,
        cut_off=draft.cut_off,
        timezone=timezone,
    )


def judged_reflection(draft: Draft, items: Sequence[Item], *, tokens: int, limit_tokens: int | None) -> Verdict:
    """``items`` are what is condensed, of so many ``tokens``, and into how many at most."""
    return judge_reflection(
        vetted(parse(draft.text), item_voices(items)),
        items=items,
        source_tokens=tokens,
        limit_tokens=limit_tokens,
        cut_off=draft.cut_off,
    )


def judged_facts(draft: Draft, source: ExtractorInput) -> Verdict:
    voices = (*item_voices(source.items), *message_voices(source.messages))
    return judge_facts(
        vetted(parse(draft.text), voices),
        items=source.items,
        messages=source.messages,
        cut_off=draft.cut_off,
        timezone=source.timezone,
    )
