"""Compiles a snapshot of a session into the agent's next context. Pure: the same values, the same bytes."""

from app.context.cache import cache, prefix
from app.context.draft import Draft, Stage
from app.context.explain import segments
from app.context.model import Ask, Block, Compiled, Layout, Omitted, Section, Snapshot, Turn
from app.context.stages.breakpoints import breakpoints
from app.context.stages.budget import budget
from app.context.stages.continuation import continuation
from app.context.stages.knowledge import knowledge
from app.context.stages.notes import notes
from app.context.stages.previews import previews
from app.context.stages.profile import profile
from app.context.stages.rendering import rendering
from app.context.stages.tail import tail
from app.context.stages.template import template
from app.context.stages.volatile import volatile
from app.context.wording import LAGGING, PAUSED, left_out

# First the parts in the order of memory-rules.md section 6, then what fits the budgets, then the layout and its shape.
STAGES: tuple[Stage, ...] = (
    template,
    knowledge,
    profile,
    notes,
    continuation,
    tail,
    volatile,
    budget,
    previews,
    breakpoints,
    rendering,
)


def compile_context(snapshot: Snapshot, ask: Ask) -> Compiled:
    draft = Draft()
    for stage in STAGES:
        draft = stage(draft, snapshot, ask)
    found = prefix(draft, snapshot, ask)
    return Compiled(
        payload=draft.rendered.payload,
        tokens=_tokens(draft.layout),
        cache=cache(draft, found),
        prefix=found,
        omitted=draft.omitted,
        units=draft.rendered.units,
        first_seq=draft.tail.stored[0].seq if draft.tail.stored else None,
        notices=_notices(snapshot, draft.omitted),
        segments=segments(draft.layout) if ask.explain else None,
        decisions=draft.decisions if ask.explain else None,
    )


def _tokens(layout: Layout) -> dict[str, int]:
    """Tokens per section and in total, without what only a provider's shape adds, such as a stand-in for a result."""
    counts = dict.fromkeys(map(str, Section), 0)
    volatile = [layout.volatile] if layout.volatile else []
    pieces: list[Block | Turn] = [*layout.system, *layout.stable, *layout.incoming, *volatile]
    for piece in pieces:
        counts[piece.section] += piece.tokens
    return {"total": sum(counts.values()), **counts}


def _notices(snapshot: Snapshot, omitted: Omitted) -> tuple[str, ...]:
    lagging = [PAUSED] if snapshot.paused else [LAGGING] if snapshot.lagging else []
    unobserved = omitted.unobserved_messages if snapshot.rules.enabled else 0  # else no note will follow
    left = [left_out(unobserved)] if unobserved else []
    return tuple(lagging + left)
