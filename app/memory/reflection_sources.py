"""What a reflection condenses: which notes, into how many tokens, and the reflection to record. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Self
from uuid import UUID

from app.memory.gates import Verdict, tokens_of
from app.memory.model import Item, Observation, Reflection, ReflectorInput
from app.memory.narrowing import Narrowing
from app.memory.policy import oldest_to_condense
from app.memory.ranges import Ranges, merged
from app.memory.records import Loaded, NewReflection
from app.memory.rules import RESTORED_SHARE, SHRINK_FROM_TOKENS, Rules
from app.memory.shared_citations import NO_NAMES, Numbering
from app.memory.steps import Consolidate, Reflect


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What is to be condensed, oldest first, and the level of the result. ``kind``: the name of the step.

    ``limit_tokens`` bounds the result; None: it only has to be smaller than its sources. ``shown_tokens``: the size of
    the lines as the ``numbering`` of a shared log shows them to a model, None if it is the log's. ``of_all``: never
    condensed in part, for a rewrite of a part would condense the oldest notes each time.
    """

    kind: str
    observations: tuple[Observation, ...]
    reflections: tuple[Reflection, ...]
    into_level: int
    limit_tokens: int | None = None
    numbering: Numbering = NO_NAMES
    shown_tokens: int | None = None
    of_all: bool = False

    @property
    def chunks(self) -> list[Observation | Reflection]:
        return sorted((*self.reflections, *self.observations), key=lambda chunk: chunk.place)

    @property
    def items(self) -> tuple[Item, ...]:
        return tuple(item for chunk in self.chunks for item in chunk.items)

    @property
    def tokens(self) -> int:
        return sum(chunk.tokens for chunk in self.chunks)

    def part(self, narrowing: Narrowing) -> Self:
        """The oldest, as many as ``narrowing`` shows."""
        if self.of_all:
            return self
        part = self._only(narrowing.oldest(self.chunks))
        return replace(part, limit_tokens=_largest(part.reflections))

    def within(self, target_tokens: int | None, *, reflect_to: float) -> Self:
        """The oldest, at least one, whose result has at most ``target_tokens``."""
        if self.kind != Reflect.name or self.of_all or target_tokens is None:
            return self
        ends = accumulate(chunk.tokens for chunk in self.chunks)
        count = max(1, sum(end * reflect_to <= target_tokens for end in ends))
        return self._only(self.chunks[:count])

    def _only(self, chunks: Sequence[Observation | Reflection]) -> Self:
        ids = {id(chunk) for chunk in chunks}
        return replace(
            self,
            observations=tuple(one for one in self.observations if id(one) in ids),
            reflections=tuple(one for one in self.reflections if id(one) in ids),
        )

    def numbered(self) -> Self:
        """The same with plain numbers as citations, as a model is shown them."""
        numbering = Numbering.of(self.items)
        if not numbering.before:
            return self
        shown = replace(
            self,
            observations=tuple(replace(one, items=numbering.numbered(one.items)) for one in self.observations),
            reflections=tuple(replace(one, items=numbering.numbered(one.items)) for one in self.reflections),
            numbering=numbering,
        )
        return replace(shown, shown_tokens=tokens_of(shown.items))


def reflect_sources(loaded: Loaded, step: Reflect) -> Sources:
    """All observations but the newest ``keep_tokens`` of them; for a rewrite the reflections too."""
    count = oldest_to_condense([chunk.tokens for chunk in loaded.observations], step.keep_tokens)
    reflections = loaded.reflections if step.whole else ()
    return Sources(
        kind=step.name,
        observations=loaded.observations[:count],
        reflections=reflections,
        into_level=1,
        of_all=step.whole,
    )


def consolidate_sources(loaded: Loaded, step: Consolidate) -> Sources:
    """The step's oldest reflections of its levels. The result of several may be as large as the largest of them."""
    found = (reflection for reflection in loaded.reflections if reflection.level in step.levels)
    reflections = tuple(sorted(found, key=lambda reflection: reflection.place)[: step.most])
    return Sources(
        kind=step.name,
        observations=(),
        reflections=reflections,
        into_level=step.into_level,
        limit_tokens=_largest(reflections),
    )


def _largest(reflections: Sequence[Reflection]) -> int | None:
    """The limit of a result: the largest of several sources; None for one alone, which only has to get smaller."""
    return max(found.tokens for found in reflections) if len(reflections) > 1 else None


def reflector_input(loaded: Loaded, rules: Rules, sources: Sources) -> ReflectorInput:
    """The target is scaled to the size of the lines as they are shown."""
    shown = sources.tokens if sources.shown_tokens is None else sources.shown_tokens
    return ReflectorInput(
        items=sources.items,
        source_tokens=shown,
        target_tokens=round(target_tokens(rules, sources) * shown / max(1, sources.tokens)),
        now=loaded.now,
        timezone=rules.zone,
        instruction=rules.instruction,
    )


def target_tokens(rules: Rules, sources: Sources) -> int:
    target = round(sources.tokens * rules.reflect_to)
    return target if sources.limit_tokens is None else min(target, sources.limit_tokens)


def restored_most(loaded: Loaded, rules: Rules, sources: Sources) -> int:
    """The most tokens of a result with the protected lines restored: well below its sources.

    A rewrite's, with what stays beside it, is below the threshold too: else one follows another, a tenth smaller each.
    """
    size = sources.tokens
    if sources.of_all:
        beside = sum(chunk.tokens for chunk in loaded.chunks) - size
        size = min(size, rules.observation_tokens - beside)
    most = size - 1 if size <= SHRINK_FROM_TOKENS else round(RESTORED_SHARE * size)
    return sources.limit_tokens or most


def new_reflection(sources: Sources, best: Verdict) -> NewReflection:
    chunks = sources.chunks
    return NewReflection(
        level=sources.into_level,
        items=best.items,
        tokens=best.tokens,
        source_tokens=sum(_message_tokens(chunk) for chunk in chunks),
        covers=_covers(chunks),
        from_seq=min(chunk.place[0] for chunk in chunks),
        to_seq=max(chunk.place[1] for chunk in chunks),
        observations=tuple(chunk.id for chunk in sources.observations),
        reflections=tuple(chunk.id for chunk in sources.reflections),
    )


def _covers(chunks: Sequence[Observation | Reflection]) -> dict[UUID, Ranges]:
    """The messages behind the chunks, by their session."""
    found: dict[UUID, list[tuple[int, int]]] = {}
    for session, ranges in (covered for chunk in chunks for covered in chunk.covered.items()):
        found.setdefault(session, []).extend(ranges)
    return {session: merged(ranges) for session, ranges in found.items()}


def _message_tokens(chunk: Observation | Reflection) -> int:
    """Tokens of the messages behind a chunk."""
    return chunk.message_tokens if isinstance(chunk, Observation) else chunk.source_tokens
