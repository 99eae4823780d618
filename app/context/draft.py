"""``Draft``: what the stages of a context pass on, and ``Stage``: the signature of each."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from app.context.model import Ask, Block, Decision, Layout, Omitted, Rendered, Snapshot, Turn
from app.sessions.model import Message


class Line(NamedTuple):
    """One entry of the volatile part."""

    id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """The messages shown, stored ones and then incoming ones, after the ``summary``; ``dropped`` are left out.

    ``cut`` are the seqs of the messages that were shortened: the newest group's, if it alone is over the budget.
    """

    summary: Message | None = None
    stored: tuple[Message, ...] = ()
    incoming: tuple[Message, ...] = ()
    dropped: tuple[Message, ...] = ()
    cut: frozenset[int] = frozenset()

    @property
    def messages(self) -> tuple[Message, ...]:
        return (*self.stored, *self.incoming)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A context in the making. Each stage fills in its own part; ``budget`` removes what does not fit of the others.

    Reflections are highest level first, observations oldest first. ``decisions`` are collected only for ``explain``.
    """

    system: tuple[Block, ...] = ()
    knowledge: tuple[Block, ...] = ()
    profile: tuple[Block, ...] = ()
    guide: tuple[Block, ...] = ()
    reflections: tuple[Block, ...] = ()
    observations: tuple[Block, ...] = ()
    continuation: tuple[Turn, ...] = ()
    tail: Tail = field(default_factory=Tail)
    volatile: tuple[Line, ...] = ()
    omitted: Omitted = field(default_factory=Omitted)
    layout: Layout = field(default_factory=Layout)
    rendered: Rendered = field(default_factory=Rendered)
    decisions: tuple[Decision, ...] = ()

    @property
    def has_log(self) -> bool:
        return bool(self.reflections or self.observations)


Stage: TypeAlias = Callable[[Draft, Snapshot, Ask], Draft]


def noting(draft: Draft, ask: Ask, decisions: Iterable[Decision]) -> Draft:
    """The draft with a stage's decisions; without ``explain`` the iterator ``decisions`` is never read."""
    return replace(draft, decisions=(*draft.decisions, *decisions)) if ask.explain else draft
