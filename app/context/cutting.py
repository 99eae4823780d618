"""Shortening messages that alone are over the budget: every long text of them keeps its head and its end."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from app.artifacts.model import PartAt
from app.artifacts.parts import part_handle
from app.context.rendering.parts import is_part, stand_in, text_part
from app.context.wording import cut_mark
from app.sessions.counting import message_tokens
from app.sessions.model import Message, Part, PartType

HEAD_SHARE = 2 / 3  # of what is kept of a text; the rest is its end


def cut_evenly(messages: Sequence[Message], *, key: str, tokens_max: int) -> tuple[Message, ...]:
    """The messages within ``tokens_max`` together: small ones whole, the others with an equal share of what is left.

    ``key`` is the session's: where text was taken out, a handle of the part stands. A share too small even for a
    message's marks and names is exceeded: a message never vanishes.
    """
    if sum(message.tokens for message in messages) <= tokens_max:
        return tuple(messages)
    share = _share([message.tokens for message in messages], tokens_max)
    return tuple(
        message if message.tokens <= share else shortened(message, key=key, tokens_max=share) for message in messages
    )


def shortened(message: Message, *, key: str, tokens_max: int) -> Message:
    """The message with its texts cut to one length, the longest that fits; images and files only if they fit too."""

    def cut(limit: int) -> tuple[Part, ...]:
        return tuple(_cut_part(part, partial(_cut, limit, handle)) for part, handle in zip(parts, handles, strict=True))

    parts = message.parts
    handles = [part_handle(key, PartAt(message.seq, place)) for place in range(len(parts))]
    if message_tokens(cut(0)) > tokens_max:
        parts = tuple(map(_without_media, parts))
    limit = _largest(lambda limit: message_tokens(cut(limit)), at_most=tokens_max, up_to=_longest(parts))
    return replace(message, parts=cut(limit), tokens=message_tokens(cut(limit)))


def _share(sizes: Sequence[int], whole: int) -> int:
    """The largest share such that the sizes, each counted up to it at most, sum to no more than ``whole``."""
    left = share = whole
    for position, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - position)
        if size > share:
            break
        left -= size
    return share


def _largest(size: Callable[[int], int], *, at_most: int, up_to: int) -> int:
    """The largest limit of which the size fits, to within about two percent; 0 if none does."""
    low, high = 0, up_to
    while high - low > max(low // 64, 1):
        middle = (low + high) // 2
        low, high = (middle, high) if size(middle) <= at_most else (low, middle)
    return low


def _cut(limit: int, handle: str, text: str) -> str:
    mark = cut_mark(len(text) - limit, handle)
    if len(text) <= limit + len(mark):
        return text
    head = round(limit * HEAD_SHARE)
    return text[:head] + mark + text[len(text) - (limit - head) :]


def _longest(parts: Sequence[Part]) -> int:
    found = [0]

    def note(text: str) -> str:
        found.append(len(text))
        return text

    for part in parts:
        _cut_part(part, note)
    return max(found)


def _cut_part(part: Part, cut: Callable[[str], str]) -> Part:
    """The part with its texts cut, not its names and ids; what its sender counted or wrote of the whole is gone."""
    rest = {key: value for key, value in part.items() if key not in {"tokens", "arguments_json"}}
    match part["type"]:
        case PartType.TEXT:
            return {**rest, "text": cut(part["text"])}
        case PartType.TOOL_CALL:
            return {**rest, "arguments": _cut_json(part["arguments"], cut)}
        case PartType.TOOL_RESULT:
            return {**rest, "output": _cut_json(part["output"], cut)}
        case PartType.FILE if "content" in part:
            return {**rest, "content": _cut_json(part["content"], cut)}
        case _:
            return part


def _cut_json(value: Any, cut: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return cut(value)
    if isinstance(value, list):
        return [_cut_json(item, cut) for item in value]
    if is_part(value):
        return _cut_part(value, cut)
    if isinstance(value, dict):
        return {key: _cut_json(item, cut) for key, item in value.items()}
    return value


def _without_media(part: Part) -> Part:
    match part["type"]:
        case PartType.IMAGE | PartType.FILE:
            return text_part(stand_in(part))
        case PartType.TOOL_RESULT if isinstance(part["output"], list):
            return {**part, "output": [_without_media(item) if is_part(item) else item for item in part["output"]]}
        case _:
            return part
