"""Messages as the observer sees them (memory-rules.md section 3, "Groups and safe spans", and section 4, "Input").

    Date: Aug 1, 2026 (Saturday)
    #12 user "Ana" trust=user (10:00)
    | I moved to Lisbon.
    #13 assistant trust=operator (10:01)
    call| search {"q": "Lisbon"}
    #14 tool trust=tool (10:01)
    result| search: 3 hits

Every line of content stands behind a bar, so nothing a message says can pose as a label or close the block it is in.
The stored message is untouched.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any
from zoneinfo import ZoneInfo

from app.kit.days import day_label
from app.kit.patterns import lazy_pattern
from app.kit.tokens import text_tokens
from app.memory.rules import TOOLS, ToolTokens
from app.memory.spans import CLOSING
from app.memory.texts import value_text
from app.sessions.files import file_content
from app.sessions.model import Message, Part, PartType
from app.sessions.open_calls import OpenCalls

NAME_CHARS_MAX = 60
NAME_MARKS = " ._@-"  # what a speaker's name may hold in a label, beside letters and digits
HEAD_SHARE = 2 / 3  # of what is kept of a cut text; the rest is its end
SHRINK = 0.9  # factor by which a cut that is still too long is shortened
# Possessive, or many blanks after a bracket would backtrack between both stars.
OWN_TAGS = lazy_pattern(
    r"<(?=\s*+/?\s*+(?:(?:earlier-)?observations|messages|conversation|notes|log|current-task|suggested-response|rules)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Piece:
    """Content of one kind within a message, and the bar its lines stand behind."""

    bar: str
    text: str

    @property
    def lines(self) -> list[str]:
        return [f"{self.bar} {line}".rstrip() for line in defused(self.text).splitlines()]

    @property
    def tokens(self) -> int:
        return text_tokens("\n".join(self.lines))


def messages_view(
    messages: Sequence[Message], *, zone: ZoneInfo, limit_tokens: int | None = None, tools: ToolTokens = TOOLS
) -> str:
    """The span as text, with dates and times in ``zone``. Messages with ``observe`` False are left out.

    Arguments and results longer than ``tools`` allows are cut to their beginning and end. ``limit_tokens`` bounds the
    contents, not the labels: beyond it the short pieces stay whole, and the long ones are cut to one common size.
    """
    shown = [message for message in messages if message.observe]
    contents = list(_contents(shown, tools))
    if limit_tokens is not None:
        contents = _evenly_cut(contents, limit_tokens)
    lines: list[str] = []
    day = None
    for message, pieces in zip(shown, contents, strict=True):
        moment = message.created_at.astimezone(zone)
        if moment.date() != day:
            day = moment.date()
            lines.append(f"Date: {day_label(day)} ({day:%A})")  # models compute "last Friday", but not weekdays
        lines.append(f"#{message.seq} {message.role}{_speaker(message.name)} trust={message.trust} ({moment:%H:%M})")
        lines += (line for piece in pieces for line in piece.lines)
    return "\n".join(lines)


def defused(text: str) -> str:
    """The text with our own tags made harmless: their first bracket is another character."""
    return OWN_TAGS.sub("‹", text)


def cut(text: str, *, limit_tokens: int) -> str:
    """Head and tail of ``text``, together at most ``limit_tokens``, and between them how much is missing."""
    size = text_tokens(text)
    if size <= limit_tokens:
        return text
    kept = len(text) * limit_tokens // size
    head, tail = ends(text, kept)
    while kept and text_tokens(head) + text_tokens(tail) > limit_tokens:
        kept = int(kept * SHRINK)
        head, tail = ends(text, kept)
    missing = size - text_tokens(head) - text_tokens(tail)
    return f"{head}\n[... {missing:,} tokens left out ...]\n{tail}"


def even_share(sizes: Sequence[int], limit: int) -> int:
    """The largest size such that the sizes, each cut to it if larger, add up to ``limit`` at most."""
    left = limit
    for number, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - number)
        if size > share:
            return share
        left -= size
    return max(sizes, default=0)


def ends(text: str, kept: int) -> tuple[str, str]:
    """The head and the end of a text, ``kept`` characters together."""
    head = round(kept * HEAD_SHARE)
    return text[:head], text[len(text) - (kept - head) :]


def _evenly_cut(contents: list[list[Piece]], limit_tokens: int) -> list[list[Piece]]:
    share = even_share([piece.tokens for pieces in contents for piece in pieces], limit_tokens)
    return [[_cut_piece(piece, share) for piece in pieces] for pieces in contents]


def _cut_piece(piece: Piece, share: int) -> Piece:
    size = piece.tokens
    if size <= share:
        return piece
    # The bars of many short lines count too: the text gets its part of the share.
    return replace(piece, text=cut(piece.text, limit_tokens=share * text_tokens(piece.text) // size))


def _speaker(name: str | None) -> str:
    kept = "".join(c for c in name or "" if c.isalnum() or c in NAME_MARKS)[:NAME_CHARS_MAX].strip()
    return f' "{kept}"' if kept else ""


def _contents(messages: Sequence[Message], tools: ToolTokens) -> Iterator[list[Piece]]:
    names, unanswered = _paired(messages)
    begin = 0
    for message in messages:
        parts = enumerate(message.parts, begin)
        yield [
            piece
            for at, part in parts
            for piece in _pieces(part, names.get(at), tools=tools, unanswered=at in unanswered)
        ]
        begin += len(message.parts)


def _paired(messages: Sequence[Message]) -> tuple[dict[int, str], set[int]]:
    """By the index of the part: the tool of each result, and the calls without a result.

    A user's message or a boundary closes the calls before it. A result without an open call is of the last of its id.
    """
    names: dict[int, str] = {}
    unanswered: set[int] = set()
    called: dict[str, tuple[int, str]] = {}
    waiting: OpenCalls[tuple[int, str]] = OpenCalls()
    places = count()
    for message in messages:
        if message.kind in CLOSING:
            waiting.clear()
        for part in message.parts:
            at = next(places)
            if part.get("type") == PartType.TOOL_CALL:
                call = called[str(part.get("id"))] = at, str(part.get("name", ""))
                waiting.called(part, call, message=message.seq)
                unanswered.add(at)
            elif part.get("type") == PartType.TOOL_RESULT:
                answered = waiting.answered(part) or called.get(str(part.get("tool_call_id")))
                if answered is not None:
                    unanswered.discard(answered[0])
                    names[at] = answered[1]
    return names, unanswered


def _pieces(part: Part, name: str | None, *, tools: ToolTokens, unanswered: bool) -> Iterator[Piece]:
    match part.get("type"):
        case PartType.TEXT:
            yield Piece("|", str(part.get("text", "")))
        case PartType.TOOL_CALL:
            arguments = cut(value_text(part.get("arguments")), limit_tokens=tools.arguments)
            yield Piece("call|", f"{part.get('name', '')} {arguments}")
            if unanswered:
                yield Piece("result|", f"{part.get('name', '')}: no result")
        case PartType.TOOL_RESULT:
            output = _shown(part.get("output"), tools)
            yield Piece("error|" if part.get("is_error") else "result|", f"{name}: {output}" if name else output)
        case PartType.REASONING:
            return  # the model's own thought is no part of what was said
        case kind:
            known = (part.get(key) for key in ("name", "media_type") if part.get(key))
            label, content = " ".join(map(str, (kind, *known))), file_content(part)
            yield Piece("file|", label if content is None else f"{label}:\n{_shown(content, tools)}")


def _shown(value: Any, tools: ToolTokens) -> str:
    """What a tool gave back, or what a file says, as far as it is shown."""
    return cut(value_text(value), limit_tokens=tools.result)
