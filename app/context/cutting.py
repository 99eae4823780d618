"""Shortens messages that alone are over the budget: each of their long texts keeps its head and its end."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from app.artifacts.model import PartAt
from app.artifacts.parts import part_content, part_handle
from app.context.rendering.parts import is_shown, output_text, stand_in
from app.context.wording import BARE_MARK, cut_mark
from app.kit.json import dumps
from app.memory.views import ends
from app.sessions.counting import message_tokens
from app.sessions.files import file_content, without_bytes
from app.sessions.model import Message, Part, PartType, text_part

Cut = Callable[[str], str]  # from a text to what is shown of it
Cuts = Callable[[int], tuple[Part, ...]]  # from the characters to keep of each text to the cut parts


def cut_evenly(messages: Sequence[Message], *, key: str, tokens_max: int) -> tuple[Message, ...]:
    """The messages cut to ``tokens_max`` together: small ones whole, the others with an equal share of what is left.

    ``key`` is the session's, for the handle of the part where text was cut out. Names, ids and the bare marks of a cut
    are never cut, so that no message vanishes: a limit too small even for them is exceeded.
    """
    if sum(message.tokens for message in messages) <= tokens_max:
        return tuple(messages)
    share = _share(messages, tokens_max)
    return tuple(
        message if message.tokens <= share else shortened(message, key=key, tokens_max=share) for message in messages
    )


def least_whole(messages: Sequence[Message]) -> list[int]:
    """For each message the smallest ``tokens_max`` under which ``cut_evenly`` leaves it as it is."""
    sizes = [(message.tokens, _smallest(message)) for message in messages]
    return [_sum_at(message.tokens, sizes) for message in messages]


def shortened(message: Message, *, key: str, tokens_max: int) -> Message:
    """The message with its texts cut to one length, the longest that fits, in the first of ``_ways`` that fits."""
    handles = [
        part_handle(key, PartAt(message.seq, place)) if part_content(part) is not None else None
        for place, part in enumerate(message.parts)
    ]
    for parts, cut in _ways(tuple(map(_read, message.parts)), handles):  # noqa: B007 - the last way it is if none fits
        if message_tokens(cut(0)) <= tokens_max:
            break
    limit = _largest(lambda limit: message_tokens(cut(limit)), at_most=tokens_max, up_to=_longest(parts))
    return replace(message, parts=cut(limit), tokens=message_tokens(cut(limit)))


def _ways(parts: Sequence[Part], handles: Sequence[str | None]) -> Iterator[tuple[Sequence[Part], Cuts]]:
    """The ways to cut a message, the gentlest first: the parts as they are, media named, JSON as text, no handles."""
    yield parts, partial(_cut_parts, parts, handles)
    named = tuple(map(_without_media, parts))
    yield named, partial(_cut_parts, named, handles)
    flat = tuple(map(_without_structure, named))
    yield flat, partial(_cut_parts, flat, handles)
    yield flat, partial(_cut_parts, flat, [None] * len(parts))


def _cut_parts(parts: Sequence[Part], handles: Sequence[str | None], limit: int) -> tuple[Part, ...]:
    return tuple(_cut_part(part, partial(_cut, limit, handle)) for part, handle in zip(parts, handles, strict=True))


def _share(messages: Sequence[Message], whole: int) -> int:
    """The largest share such that all messages, cut to it if they can be, sum to no more than ``whole``; else 0."""
    sizes = [(message.tokens, _smallest(message)) for message in messages]
    return bisect_right(range(1, whole + 1), whole, key=lambda share: _sum_at(share, sizes))


def _sum_at(share: int, sizes: Sequence[tuple[int, int]]) -> int:
    """The tokens of all, each cut to the share, or to the smallest that it can be."""
    return sum(min(size, max(share, smallest)) for size, smallest in sizes)


def _smallest(message: Message) -> int:
    *_, (_, cut) = _ways(tuple(map(_read, message.parts)), [""] * len(message.parts))
    return message_tokens(cut(0))


def _largest(size: Callable[[int], int], *, at_most: int, up_to: int) -> int:
    """``up_to`` if its size fits, else the largest limit whose size does, to within about two percent; 0: none."""
    if size(up_to) <= at_most:
        return up_to
    low, high = 0, up_to
    while high - low > max(low // 64, 1):
        middle = (low + high) // 2
        low, high = (middle, high) if size(middle) <= at_most else (low, middle)
    return low


def _cut(limit: int, handle: str | None, text: str) -> str:
    mark = BARE_MARK if handle is None else cut_mark(len(text) - limit, handle)
    if len(text) <= limit + len(mark):
        return text
    head, end = ends(text, limit)
    return head + mark + end


def _longest(parts: Sequence[Part]) -> int:
    found = [0]

    def note(text: str) -> str:
        found.append(len(text))
        return text

    for part in parts:
        _cut_part(part, note)
    return max(found)


def _cut_part(part: Part, cut: Cut) -> Part:
    """The part with its texts cut, not its names and ids; without its sender's count and JSON text of the whole."""
    rest = {key: value for key, value in part.items() if key not in {"tokens", "arguments_json"}}
    match part["type"]:
        case PartType.TEXT:
            return {**rest, "text": cut(part["text"])}
        case PartType.TOOL_CALL:
            return {**rest, "arguments": _cut_json(part["arguments"], cut)}
        case PartType.TOOL_RESULT if "native" in part:
            return {**rest, "output": _cut_whole(part["output"], cut)}
        case PartType.TOOL_RESULT:
            return {**rest, "output": _cut_json(part["output"], cut)}
        case PartType.FILE if "content" in part:
            return {**rest, "content": _cut_json(part["content"], cut)}
        case _:
            return part


def _cut_json(value: Any, cut: Cut) -> Any:
    if isinstance(value, str):
        return cut(value)
    if isinstance(value, list):
        return [_cut_json(item, cut) for item in value]
    if is_shown(value):
        return _cut_part(value, cut)
    if isinstance(value, dict):
        return {key: _cut_json(item, cut) for key, item in value.items()}
    return value


def _cut_whole(output: Any, cut: Cut) -> Any:
    """The output of a provider's own tool, unchanged or as a cut text: data that it encrypted cannot be cut."""
    text = output_text(output)
    shown = cut(text)
    return output if shown == text else shown


def _read(part: Part) -> Part:
    """A file with what it says as its ``content``: it is decoded once, and then cut many times."""
    match part["type"]:
        case PartType.FILE if part.get("content") is None and (content := file_content(part)) is not None:
            return {**without_bytes(part), "content": content}
        case PartType.TOOL_RESULT if isinstance(part["output"], list):
            return {**part, "output": [_read(item) if is_shown(item) else item for item in part["output"]]}
        case _:
            return part


def _without_media(part: Part) -> Part:
    match part["type"]:
        case PartType.IMAGE | PartType.FILE:
            return text_part(stand_in(part))
        case PartType.TOOL_RESULT if isinstance(part["output"], list):
            return {
                **part,
                "output": [_without_media(item) if is_shown(item) else item for item in part["output"]],
            }
        case _:
            return part


def _without_structure(part: Part) -> Part:
    """A part without media, its JSON as one text, which can be cut anywhere. Arguments stay an object for providers."""
    match part["type"]:
        case PartType.TOOL_CALL if part["arguments"]:
            return {**part, "arguments": {"arguments": dumps(part["arguments"]).decode()}}
        case PartType.TOOL_RESULT:
            return {**part, "output": output_text(part["output"])}
        case _:
            return part
