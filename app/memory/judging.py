"""A draft against its source: parsed, told whose word each line rests on, judged (memory-rules.md section 4). Pure."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from zoneinfo import ZoneInfo

from app.kit.days import day_label, days_meant, parse_day
from app.memory.gates import Verdict, judge_facts, judge_observation, judge_reflection
from app.memory.model import Draft, ExtractorInput, Item, Parsed
from app.memory.parsing import parse
from app.memory.spans import Span
from app.memory.trust import item_voices, message_voices, vetted
from app.sessions.model import Message


def judged_observation(
    draft: Draft,
    span: Span,
    *,
    task: str | None,
    timezone: ZoneInfo,
    output_tokens: int,
    earlier: Sequence[Item] = (),
) -> Verdict:
    """``task`` and the ``earlier`` lines were known before; ``output_tokens`` is what was to be written at most."""
    parsed = parse(draft.text)
    if not draft.cut_off:  # which is rejected whatever it says
        parsed = vetted(dated(parsed, span.messages, timezone), message_voices(span.messages), task=task)
    return judge_observation(
        parsed,
        source=span.messages,
        source_tokens=span.tokens,
        output_tokens=output_tokens,
        cut_off=draft.cut_off,
        timezone=timezone,
        earlier=earlier,
    )


def dated(parsed: Parsed, messages: Sequence[Message], timezone: ZoneInfo) -> Parsed:
    """With the lines under no ``Date:`` under the days on which the first messages that they cite were said.

    A header that may mean several days (``01/08/2026``, ``Aug 1``) means that of them on which something was said. One
    that names no date is none: its lines stay where they are.
    """
    said = [message.created_at.astimezone(timezone).date() for message in messages]
    all_days = frozenset(said)
    days: list[tuple[date, Item]] = []
    rest: list[Item] = []
    for item in (_on_day_meant(item, all_days) for item in parsed.items):
        cited = (at for cite in item.cites for at, one in enumerate(messages) if cite.first <= one.seq <= cite.last)
        first = None if parse_day(item.day) else next(cited, None)
        if first is None:
            rest.append(item)
            continue
        found = replace(item, day=day_label(said[first]))
        if item.day:
            rest.append(found)
        else:
            days.append((said[first], found))
    undated = [item for item in rest if not item.day]
    told = [item for _, item in sorted(days, key=lambda one: one[0])]
    return replace(parsed, items=(*undated, *told, *(item for item in rest if item.day)))


def _on_day_meant(item: Item, said: frozenset[date]) -> Item:
    if not item.day or parse_day(item.day):
        return item
    meant = days_meant(item.day, said)
    return replace(item, day=day_label(*meant)) if len(meant) == 1 else item


def judged_reflection(
    draft: Draft,
    items: Sequence[Item],
    *,
    tokens: int,
    limit_tokens: int | None,
    size: Callable[[Sequence[Item]], int],
) -> Verdict:
    """``items`` are what is condensed, of so many ``tokens``, and into how many at most; ``size`` as there."""
    parsed = parse(draft.text)
    return judge_reflection(
        parsed if draft.cut_off else vetted(parsed, item_voices(items)),
        items=items,
        source_tokens=tokens,
        limit_tokens=limit_tokens,
        cut_off=draft.cut_off,
        size=size,
    )


def judged_facts(draft: Draft, source: ExtractorInput) -> Verdict:
    parsed = parse(draft.text)
    if not draft.cut_off:
        parsed = vetted(parsed, (*item_voices(source.items), *message_voices(source.messages)))
    return judge_facts(
        parsed,
        items=source.items,
        messages=source.messages,
        cut_off=draft.cut_off,
        timezone=source.timezone,
    )
