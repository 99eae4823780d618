"""What was said: a session's messages as values.

A part is a JSON object with a ``type``; the neutral types are those of ``PartType``. Fields beyond the neutral ones
are kept as they came, so that a part survives a round trip to the provider it came from (api.md, Messages).
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias

Part: TypeAlias = dict[str, Any]


class PartType(StrEnum):
    TEXT = "text"  # text
    TOOL_CALL = "tool_call"  # id, name, arguments (object, or the string as sent if it is not JSON)
    TOOL_RESULT = "tool_result"  # tool_call_id, output (string, JSON, or a list of parts), is_error
    REASONING = "reasoning"  # text, signature and whatever else the provider sent
    IMAGE = "image"  # url | data, media_type, width, height
    FILE = "file"  # url | data, media_type, name


class Kind(StrEnum):
    USER = "user_message"
    ASSISTANT = "assistant_message"
    SYSTEM = "system_message"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    SUMMARY = "summary"
    BOUNDARY = "boundary"


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class Trust(StrEnum):
    USER = "user"
    OPERATOR = "operator"
    TOOL = "tool"
    EXTERNAL = "external"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One stored message.

    ``seq`` is its gap-free number in the session, from 1. ``tokens`` is counted once, at append. ``observe`` is False
    for what the memory skips: system messages, control text, and what the caller asked to leave out.
    """

    seq: int
    id: str
    kind: Kind
    role: Role
    parts: tuple[Part, ...]
    tokens: int
    created_at: datetime
    name: str | None = None
    observe: bool = True
    sealed: bool = False
    trust: Trust = Trust.USER
    metadata: dict[str, Any] = field(default_factory=dict)
    content_hash: bytes = b""
