"""What may be observed together: calls with their results, and the oldest safe span (memory-rules.md section 3)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from app.memory.model import Ranges
from app.sessions.model import Kind, Message, PartType
from app.sessions.open_calls import OpenCalls

CLOSING: Final = frozenset({Kind.USER, Kind.BOUNDARY})  # what closes the calls before it


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Messages that stay together, in the order of the log; ``tokens`` of the observable ones among them.

    ``open``: a call still waits for its result. An open group reaches to the end of the log.
    """

    messages: tuple[Message, ...]
    open: bool

    @property
    def observable(self) -> tuple[Message, ...]:
        return tuple(message for message in self.messages if message.observe)

    @property
    def tokens(self) -> int:
        return sum(message.tokens for message in self.observable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Whole groups to observe at once, up to ``to_seq``, of which ``messages`` are shown, ``tokens`` big.

    ``covers`` are the seqs of the shown messages; the rest is skipped. ``limited``: more was wanted than one call may
    be shown.
    """

    to_seq: int
    messages: tuple[Message, ...]
    tokens: int
    covers: Ranges
    limited: bool


def groups(messages: Sequence[Message], *, force_closed: bool = False) -> list[Group]:
    """The log cut wherever no call is parted from a result that came in time; only the last group can be open.

    ``force_closed`` (so many messages wait that they are not waited for) takes open calls for closed without result.
    """
    pairs, waiting = _pair(messages)
    last = len(messages) - 1
    opened = [] if force_closed else [(start, last) for start in waiting]
    found = merged([*((at, at) for at in range(len(messages))), *pairs, *opened], apart=0)
    return [Group(messages=tuple(messages[start : end + 1]), open=bool(opened) and end == last) for start, end in found]


def safe_span(
    messages: Sequence[Message],
    *,
    want_tokens: int,
    limit_tokens: int | None = None,
    least_tokens: int = 0,
    force_closed: bool = False,
) -> Span | None:
    """The oldest whole closed groups of at most ``want_tokens`` and ``limit_tokens``, but at least one to be shown.

    ``messages`` are those not yet derived, oldest first. What is skipped is never waited for: it belongs to the span
    it stands in or follows. A span goes on beyond ``want_tokens`` until it holds ``least_tokens``, but never beyond the
    limit. None where the closed groups have nothing to show, or less than that and than the limit lets them.
    """
    limit = inf if limit_tokens is None else limit_tokens
    taken: list[Message] = []
    tokens, shown, full, enough = 0, False, False, False
    for group in groups(messages, force_closed=force_closed):
        grows = shown and bool(group.observable)
        full = grows and tokens + group.tokens > limit
        enough = grows and tokens + group.tokens > want_tokens and tokens >= least_tokens
        if group.open or full or enough:
            break
        taken.extend(group.messages)
        tokens += group.tokens
        shown = shown or bool(group.observable)
    return _span(taken, limited=full and not enough) if shown and (full or tokens >= least_tokens) else None


def readable(messages: Sequence[Message], *, limit_tokens: int, full: bool) -> Sequence[Message] | None:
    """Of a log that goes on behind ``messages``: what ``safe_span`` takes within the limit, and the next group.

    It ends before a call that still waits, whose result may be behind. None if that is too little, and more is to be
    read; where it is ``full`` no more can be, and so many are not kept waiting for one result.
    """
    closed = [group for group in groups(messages) if not group.open]
    shown = [group.tokens for group in closed if group.observable]
    if full and not shown:
        return messages
    if full or (len(shown) > 1 and sum(shown) > limit_tokens):
        return [message for group in closed for message in group.messages]
    return None


def ended_at(span: Span, messages: Sequence[Message], ends: Iterable[int], *, least_tokens: int) -> Span | None:
    """The span cut after the last of ``ends`` (seqs) at which it holds ``least_tokens`` and no group is parted.

    ``messages`` are those it was taken from. None where there is none.
    """
    wanted, taken, tokens = frozenset(ends), 0, 0
    fitting = None
    for group in groups(messages):
        taken += len(group.messages)
        tokens += group.tokens
        end = group.messages[-1].seq
        if end > span.to_seq:
            break
        if end in wanted and tokens >= max(1, least_tokens):
            fitting = taken
    return None if fitting is None else _span(messages[:fitting], limited=span.limited)


def group_start(messages: Sequence[Message], seq: int, *, force_closed: bool = False) -> int:
    """The seq at which the group holding ``seq`` starts; ``seq`` itself where no message has it.

    Where no call is waited for (``force_closed``), calls one after the other are taken for parallel ones, which the
    Responses API has as an item each.
    """
    start, former = seq, None
    for group in groups(messages, force_closed=force_closed):
        head = group.messages[0]
        if not (force_closed and former is head.kind is Kind.TOOL_CALL):
            start = head.seq
        if head.seq <= seq <= group.messages[-1].seq:
            return start
        former = group.messages[-1].kind
    return seq


def ranges(seqs: Iterable[int]) -> Ranges:
    """Seqs as ranges, inclusive."""
    return merged((seq, seq) for seq in seqs)


def merged(pairs: Iterable[tuple[int, int]], *, apart: int = 1) -> Ranges:
    """Ranges, inclusive, in ascending order, those joined that overlap or, ``apart`` 1, are neighbours."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(pairs):
        if joined and first <= joined[-1][1] + apart:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return tuple(joined)


def _span(taken: Sequence[Message], *, limited: bool) -> Span:
    shown = tuple(message for message in taken if message.observe)
    return Span(
        to_seq=taken[-1].seq,
        messages=shown,
        tokens=sum(message.tokens for message in shown),
        covers=ranges(message.seq for message in shown),
        limited=limited,
    )


def _pair(messages: Sequence[Message]) -> tuple[list[tuple[int, int]], Iterable[int]]:
    """Places of each call with its result, and of the calls that still wait; what the user says closes those before."""
    pairs: list[tuple[int, int]] = []
    waiting: OpenCalls[int] = OpenCalls()
    for at, message in enumerate(messages):
        if message.kind in CLOSING:
            waiting.clear()
        for part in message.parts:
            if part.get("type") == PartType.TOOL_CALL:
                waiting.called(part, at, message=at)
            elif part.get("type") == PartType.TOOL_RESULT and (call := waiting.answered(part)) is not None:
                pairs.append((call, at))
    return pairs, waiting.held()
