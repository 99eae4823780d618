"""Groups and safe spans: which messages may be observed together (memory-rules.md section 3)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from app.memory.ranges import Ranges, merged, ranges
from app.sessions.model import Kind, Message, PartType
from app.sessions.open_calls import OpenCalls

CLOSING: Final = frozenset({Kind.USER, Kind.BOUNDARY})  # what closes the calls before it


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Consecutive messages that are never split; ``tokens`` counts the observable ones.

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
    """Whole groups to observe in one call, up to ``to_seq``; ``messages`` are the observable ones, of ``tokens``.

    ``covers`` are their seqs; the others are skipped. ``limited``: more was wanted than one call may be shown.
    """

    to_seq: int
    messages: tuple[Message, ...]
    tokens: int
    covers: Ranges
    limited: bool


def groups(messages: Sequence[Message], *, force_closed: bool = False) -> list[Group]:
    """The messages in groups: no call is parted from a result that came in time. Only the last group can be open.

    ``force_closed``: calls without a result count as closed (P >= block_after).
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

    ``messages`` are the pending ones, oldest first. Messages that are not observable count nothing and belong to the
    span that they stand in or follow. A span grows beyond ``want_tokens`` until it has ``least_tokens``, but never
    beyond the limit. None if the closed groups have no observable message, or fewer tokens than ``least_tokens`` though
    the limit lets them have more.
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
    """The closed groups of ``messages``, which the log continues: all that ``safe_span`` needs within the limit.

    None if they are too few, and more messages have to be read. If it is ``full``, no more can be: then they are
    enough, and if none is closed all messages are, so that they do not wait for one result.
    """
    closed = [group for group in groups(messages) if not group.open]
    shown = [group.tokens for group in closed if group.observable]
    if full and not shown:
        return messages
    if full or (len(shown) > 1 and sum(shown) > limit_tokens):
        return [message for group in closed for message in group.messages]
    return None


def ended_at(span: Span, messages: Sequence[Message], ends: Iterable[int], *, least_tokens: int) -> Span | None:
    """The span cut after the last of ``ends`` (seqs) that ends a group and keeps ``least_tokens``, or None.

    ``messages`` are those it was taken from.
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
    """The seq at which the group of message ``seq`` starts; ``seq`` itself if that is not among ``messages``.

    With ``force_closed`` consecutive calls count as parallel calls: the Responses API has each as an item of its own.
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
    """The indexes of each call and its result, and of the calls still open; a user's message closes those before it."""
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
