"""The ``cache`` of an answer: epoch, hash and size of the prefix, and how much of it the last call shares."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from hashlib import sha256

from app.context.draft import Draft
from app.context.model import Ask, Block, Cache, Prefix, Section, Snapshot, Turn
from app.kit.json import canonical_each

ORDER = tuple(Section)
NOTES = frozenset({Section.REFLECTIONS, Section.OBSERVATIONS})


class BreakReason(StrEnum):
    """Why the next context does not begin with the whole of the last one."""

    ACTIVATION = "activation"  # what was observed became part of the notes
    REFLECTION = "reflection"
    CONSOLIDATION = "consolidation"
    EDIT = "edit"  # of a note, or of a message
    DELETION = "deletion"
    COMPACTION = "compaction"
    MEMORY = "memory"  # any other change of the notes
    ANCHOR = "anchor"  # the date that relative dates count from moved
    BUDGET = "budget"  # the limits of the notes changed
    BUDGET_STEP = "budget_step"  # the tail begins later, or its newest group was cut to fit
    STATE = "state"  # a value in the system prompt
    SYSTEM = "system"
    KNOWLEDGE = "knowledge"
    PROFILE = "profile"  # a fact of the resource was deleted, corrected, or erased with what it rested on


# By the cause of a version of the memory.
OF_CAUSE: Mapping[str, BreakReason] = {
    "activated": BreakReason.ACTIVATION,
    "observed": BreakReason.ACTIVATION,
    "reflected": BreakReason.REFLECTION,
    "consolidated": BreakReason.CONSOLIDATION,
    "edited": BreakReason.EDIT,
    "deleted": BreakReason.DELETION,
    "compacted": BreakReason.COMPACTION,
}


def prefix(draft: Draft, snapshot: Snapshot, ask: Ask) -> Prefix:
    pieces: list[Block | Turn] = [*draft.layout.system, *draft.layout.stable]
    return Prefix(
        version=snapshot.version,
        anchor_date=snapshot.anchor_date,
        epoch=epoch(draft, snapshot),
        asked=hash(ask.system),
        knowledge=hash(tuple(block.text for block in draft.knowledge)),
        digests=array("q", _digests(pieces)),
        tokens=array("q", [piece.tokens for piece in pieces]),
        sections=tuple(piece.section for piece in pieces),
    )


def _digests(pieces: Sequence[Block | Turn]) -> Iterator[int]:
    said = (piece.text if isinstance(piece, Block) else (piece.role, piece.name, piece.parts) for piece in pieces)
    return map(hash, canonical_each(said))


def cache(draft: Draft, found: Prefix) -> Cache:
    """``prefix_sha256`` is over the units of ``Rendered``, each ended by a line break, up to the end of the tail."""
    text = b"\n".join((*draft.rendered.units, b""))
    return Cache(epoch=found.epoch, prefix_sha256=sha256(text).hexdigest(), stable_tokens=sum(found.tokens))


def epoch(draft: Draft, snapshot: Snapshot) -> str:
    """``version:anchor date:first seq of the tail``; within it each context extends the one before.

    If one group alone is over the budget, its messages are cut evenly, and each that joins it changes all the cuts: the
    last seq then makes each such context an epoch of its own.
    """
    tail = draft.tail
    none_left = snapshot.last_seq + 1 if tail.dropped else snapshot.tail_from_seq  # incoming ones took their place
    first = tail.stored[0].seq if tail.stored else none_left
    ending = f":{snapshot.last_seq}" if tail.cut else ""
    return f"{snapshot.version}:{snapshot.anchor_date.isoformat()}:{first}{ending}"


def shared_pieces(before: Prefix, after: Prefix) -> int:
    """The number of pieces that both begin with."""
    if before is after:
        return len(before)
    pairs = enumerate(zip(before.digests, after.digests, strict=False))
    return next((index for index, (one, other) in pairs if one != other), min(len(before), len(after)))


def break_reason(before: Prefix, after: Prefix, causes: Mapping[int, str]) -> BreakReason | None:
    """Why ``after`` does not begin with the whole of ``before``; None if it does.

    ``causes`` are those of the memory's last versions.
    """
    shared = shared_pieces(before, after)
    if shared == len(before):
        return None
    where = min((each.sections[shared] for each in (before, after) if shared < len(each)), key=ORDER.index)
    if where is Section.SYSTEM:
        return BreakReason.STATE if before.asked == after.asked else BreakReason.SYSTEM
    if where is Section.KNOWLEDGE:
        return BreakReason.PROFILE if before.knowledge == after.knowledge else BreakReason.KNOWLEDGE
    if before.version != after.version:
        return _of_version(before.version, causes, within_notes=before.sections[shared] in NOTES)
    return _within_version(before, after, where)


def _within_version(before: Prefix, after: Prefix, where: Section) -> BreakReason:
    if before.anchor_date != after.anchor_date:
        return BreakReason.ANCHOR
    if where is not Section.MESSAGES:
        return BreakReason.BUDGET
    return BreakReason.EDIT if before.epoch == after.epoch else BreakReason.BUDGET_STEP


def _of_version(before: int, causes: Mapping[int, str], *, within_notes: bool) -> BreakReason:
    """The reason of the first version since ``before`` that breaks the prefix at this place.

    An activation adds notes behind the others. Within these it breaks the prefix only by moving the anchor date or by
    pushing old ones out of the budget, so there any other reason comes first.
    """
    since = [OF_CAUSE.get(causes[version], BreakReason.MEMORY) for version in sorted(causes) if version > before]
    others = [reason for reason in since if reason is not BreakReason.ACTIVATION]
    return next(iter((others or since) if within_notes else since), BreakReason.MEMORY)


def compared(found: Cache, before: Prefix, after: Prefix, causes: Mapping[int, str]) -> Cache:
    """The cache ``found`` of ``after``, with what it shares with the call before it."""
    shared = sum(after.tokens[: shared_pieces(before, after)])
    return replace(found, shared_with_previous_tokens=shared, break_reason=break_reason(before, after, causes))
