"""Judges a draft against its source: parses it, checks whose word it rests on, applies the gates. Pure.

Source of the rules: memory-rules.md section 4.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from typing import Final
from zoneinfo import ZoneInfo

from app.kit.days import day_label, days_meant, parse_day
from app.kit.tokens import text_tokens
from app.memory.gates import Verdict, judge_facts, judge_observation, judge_reflection
from app.memory.model import Draft, ExtractorInput, Item, ObserverInput, Parsed
from app.memory.parsing import parse
from app.memory.rules import ToolTokens
from app.memory.texts import all_text, value_text
from app.memory.trust import item_voices, message_voices, vetted
from app.memory.views import cut
from app.sessions.files import file_content
from app.sessions.model import Message, Part, PartType

JUDGED_TOKENS: Final = 10_000  # at least, of one call's arguments or of one result; the built-in observer reads half


def observation_verdict(draft: Draft, source: ObserverInput, *, tokens: int, task: str | None) -> Verdict:
    """``tokens``: the size of the span; ``task``: the current task, even if it was not shown."""
    parsed, messages = parse(draft.text), in_sight(source.messages, source.tools)
    if not draft.cut_off:  # a draft that is cut off is rejected whatever it says
        parsed = vetted(dated(parsed, messages, source.timezone), message_voices(messages), task=task)
    return judge_observation(parsed, replace(source, messages=messages), tokens=tokens, cut_off=draft.cut_off)


def in_sight(messages: Sequence[Message], tools: ToolTokens) -> tuple[Message, ...]:
    """The messages with long arguments, results and files cut to both ends, as far as a line can rest on them.

    What no observer reads cannot be told. A group of calls may hold any number of megabytes, and to judge a line by one
    of them takes seconds.
    """
    return tuple(replace(one, parts=tuple(_in_sight(part, tools) for part in one.parts)) for one in messages)


def _in_sight(part: Part, tools: ToolTokens) -> Part:
    match part.get("type"):
        case PartType.TOOL_CALL:
            key, shown = "arguments", tools.arguments
        case PartType.TOOL_RESULT:
            key, shown = "output", tools.result
        case PartType.FILE if (content := file_content(part)) is not None:
            part, key, shown = {**part, "content": content}, "content", tools.result
        case _:
            return part
    most = max(JUDGED_TOKENS, shown)
    if text_tokens(all_text([part])) <= most:
        return part
    return {**part, key: cut(value_text(part.get(key)), limit_tokens=most)}


def dated(parsed: Parsed, messages: Sequence[Message], timezone: ZoneInfo) -> Parsed:
    """The reply with each line without a ``Date:`` put under the day on which its first cited message was said.

    A header that may mean several days (``01/08/2026``, ``Aug 1``) means that one of them on which something was said.
    Lines under a header that names no date get their day too, but stay where they are.
    """
    said = [message.created_at.astimezone(timezone).date() for message in messages]
    seqs = [message.seq for message in messages]
    all_days = frozenset(said)
    days: list[tuple[date, Item]] = []
    rest: list[Item] = []
    for item in (_on_day_meant(item, all_days) for item in parsed.items):
        day = None if parse_day(item.day) else _first_cited(item, seqs, said)
        if day is None:
            rest.append(item)
            continue
        found = replace(item, day=day_label(day))
        if item.day:
            rest.append(found)
        else:
            days.append((day, found))
    undated = [item for item in rest if not item.day]
    told = [item for _, item in sorted(days, key=lambda one: one[0])]
    return replace(parsed, items=(*undated, *told, *(item for item in rest if item.day)))


def _first_cited(item: Item, seqs: Sequence[int], said: Sequence[date]) -> date | None:
    """The day of the first message that the item cites. ``seqs``, ascending, and ``said`` are those of the messages."""
    found = ((bisect_left(seqs, cite.first), cite.last) for cite in item.cites)
    return next((said[at] for at, last in found if at < len(seqs) and seqs[at] <= last), None)


def _on_day_meant(item: Item, said: frozenset[date]) -> Item:
    if not item.day or parse_day(item.day):
        return item
    meant = days_meant(item.day, said)
    return replace(item, day=day_label(*meant)) if len(meant) == 1 else item


def reflection_verdict(
    draft: Draft,
    items: Sequence[Item],
    *,
    tokens: int,
    limit_tokens: int | None,
    size: Callable[[Sequence[Item]], int],
) -> Verdict:
    """``items``: the lines that are condensed, of ``tokens``; ``limit_tokens``, ``size`` as in ``judge_reflection``."""
    parsed = parse(draft.text)
    return judge_reflection(
        parsed if draft.cut_off else vetted(parsed, item_voices(items)),
        items=items,
        source_tokens=tokens,
        limit_tokens=limit_tokens,
        cut_off=draft.cut_off,
        size=size,
    )


def facts_verdict(draft: Draft, source: ExtractorInput) -> Verdict:
    parsed, messages = parse(draft.text), in_sight(source.messages, source.tools)
    if not draft.cut_off:
        parsed = vetted(parsed, (*item_voices(source.items), *message_voices(messages)))
    return judge_facts(parsed, replace(source, messages=messages), cut_off=draft.cut_off)
