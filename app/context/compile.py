"""From a snapshot of a session to what the agent's next call should see. Pure: the same values, the same bytes."""

from typing import assert_never

from app.context.budget import effective
from app.context.cache import cache
from app.context.explain import decisions, segments
from app.context.layout import laid_out
from app.context.log import Log, fitting_log
from app.context.model import (
    Ask,
    Block,
    Compiled,
    Format,
    Layout,
    Omitted,
    Rendered,
    Section,
    Snapshot,
    Turn,
)
from app.context.rendering import anthropic, neutral, openai, text
from app.context.tail import Tail, fitting_tail
from app.context.wording import LAGGING, left_out


def compile_context(snapshot: Snapshot, ask: Ask) -> Compiled:
    """Sections -> budget -> layout -> rendering (architecture.md section 4)."""
    log = fitting_log(snapshot, ask)
    tail = fitting_tail(
        snapshot.tail,
        ask.incoming,
        skipped_tokens=snapshot.tail_skipped_tokens,
        budget=effective(ask.message_budget, snapshot.rules.message_budget),
    )
    omitted = _omitted(snapshot, log, tail)
    layout = laid_out(snapshot, ask, log=log, tail=tail, unobserved_omitted=omitted.unobserved_messages)
    rendered = _rendered(layout, ask.format, key=snapshot.key)
    tokens = _tokens(layout)
    moving = tokens[Section.VOLATILE] + sum(turn.tokens for turn in layout.incoming)
    return Compiled(
        payload=rendered.payload,
        tokens=tokens,
        cache=cache(snapshot, tail, units=rendered.units, stable_tokens=tokens["total"] - moving),
        omitted=omitted,
        units=rendered.units,
        notices=_notices(snapshot, omitted),
        segments=segments(layout) if ask.explain else None,
        decisions=decisions(log, tail) if ask.explain else None,
    )


def _rendered(layout: Layout, shape: Format, *, key: str) -> Rendered:
    match shape:
        case Format.NEUTRAL:
            return neutral.render(layout)
        case Format.ANTHROPIC:
            return anthropic.render(layout)
        case Format.OPENAI:
            return openai.render(layout, key=key)
        case Format.TEXT:
            return text.render(layout)
        case _:
            assert_never(shape)


def _tokens(layout: Layout) -> dict[str, int]:
    """Tokens per section and their sum. What only a provider's shape adds, such as a missing result, counts nothing."""
    counts = dict.fromkeys(map(str, Section), 0)
    volatile = [layout.volatile] if layout.volatile else []
    pieces: list[Block | Turn] = [*layout.system, *layout.stable, *layout.incoming, *volatile]
    for piece in pieces:
        counts[piece.section] += piece.tokens
    return {"total": sum(counts.values()), **counts}


def _omitted(snapshot: Snapshot, log: Log, tail: Tail) -> Omitted:
    """Counted from ``tail_from_seq`` on: what the log stands for was not left out."""
    first = tail.stored[0].seq if tail.stored else snapshot.last_seq + 1
    unobserved = sum(message.seq > snapshot.observed_seq for message in tail.dropped)
    return Omitted(
        messages=max(first - snapshot.tail_from_seq, 0),
        unobserved_messages=snapshot.unobserved_omitted + unobserved,
        observations=len(log.dropped_observations),
        reflections=len(log.dropped_reflections),
    )


def _notices(snapshot: Snapshot, omitted: Omitted) -> tuple[str, ...]:
    lagging = [LAGGING] if snapshot.lagging else []
    left = [left_out(omitted.unobserved_messages)] if omitted.unobserved_messages else []
    return tuple(lagging + left)
