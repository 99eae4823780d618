"""Derives from a message's role and parts its kind, hash and trust, and whether the memory observes it."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, assert_never

from app.kit.json import canonical
from app.sessions.model import Kind, Part, PartType, Role, Trust, is_part
from app.sessions.wire.fields import WireError, shown

HASH_BYTES = 16
BARE = ("reasoning_content", "reasoning")
BESIDE = ("thinking_blocks", "thinking", "tool_plan", "images")
CACHE_MARKS = frozenset({"cache_control", "prompt_cache_breakpoint"})  # a provider's cache breakpoints
HOLDING = ("output", "content")  # fields of a tool's result and of a file that may hold parts
MARKED = CACHE_MARKS.union(HOLDING)
SAID_BY = {
    Role.USER: Kind.USER,
    Role.ASSISTANT: Kind.ASSISTANT,
    Role.SYSTEM: Kind.SYSTEM,
    Role.TOOL: Kind.TOOL_RESULT,
}


def settled_role(role: Role, parts: Sequence[Part]) -> Role:
    """The role as stored: a user's message of tool results alone, as Anthropic wants them, is of role tool.

    Raises WireError if the parts do not fit the role.
    """
    types = {part["type"] for part in parts}
    called, answered = PartType.TOOL_CALL in types, PartType.TOOL_RESULT in types
    if called and role is not Role.ASSISTANT:
        raise WireError("/role", f"a message with a tool call must have role assistant, not {role.value}")
    if answered and role is Role.SYSTEM:
        raise WireError("/role", "a tool result has role tool or user, or assistant if the tool is the provider's own")
    if role is Role.TOOL and not answered:
        raise WireError(
            "/content", "a message of role tool must have a tool_result part, a tool_call_id or a tool_name"
        )
    return Role.TOOL if role is Role.USER and types == {PartType.TOOL_RESULT} else role


def kind_of(role: Role, parts: Sequence[Part]) -> Kind:
    """A tool call if there is a call, else a tool result if there is a result, else by role (api.md, Messages)."""
    types = {part["type"] for part in parts}
    if PartType.TOOL_CALL in types:
        return Kind.TOOL_CALL
    return Kind.TOOL_RESULT if PartType.TOOL_RESULT in types else SAID_BY[role]


def agreed_kind(asked: Any, derived: Kind) -> Kind:
    """The derived kind, which the caller may only confirm, or a system message's ``boundary``. Raises WireError."""
    if asked is None or asked == derived:
        return derived
    if asked == Kind.BOUNDARY and derived is Kind.SYSTEM:
        return Kind.BOUNDARY
    if asked == Kind.BOUNDARY:
        raise WireError("/kind", "a boundary must have role system")
    if asked == Kind.SUMMARY:
        raise WireError("/kind", "a summary is written by the service: request one by POST .../compact")
    raise WireError("/kind", f"the message is a {derived.value}, not {shown(asked)}: leave kind out")


def content_hash(role: Role, name: str | None, parts: Sequence[Part]) -> bytes:
    """A hash of 16 bytes over role, name and parts (api.md), whatever the order of keys.

    Parts that former versions left out do not count, so that a message they stored is the same when sent again. Nor do
    cache breakpoints, which an agent that sends all of its messages again has moved.
    """
    counted = [_unmarked(part) for part in parts if not _was_left_out(part)]
    return blake2b(canonical([role, name, counted]), digest_size=HASH_BYTES).digest()


def _unmarked(part: Part) -> Part:
    """The part without cache breakpoints, also those within a tool's output or a file's content."""
    if part.keys().isdisjoint(MARKED):
        return part
    held = {name: value for name in HOLDING if isinstance(value := part.get(name), list)}
    unmarked = {name: [_unmarked(one) if is_part(one) else one for one in value] for name, value in held.items()}
    return {name: unmarked.get(name, value) for name, value in part.items() if name not in CACHE_MARKS}


def _was_left_out(part: Part) -> bool:
    """Whether former versions left it out: empty reasoning, and fields of compatible servers (``openai_chat``)."""
    native = part.get("native")
    if native in BESIDE:
        return part.get("provider") == "openai" and part.get("type") in (PartType.REASONING, PartType.IMAGE)
    bare = {"type": PartType.REASONING, "text": "", "provider": "openai", "native": native}
    return native in BARE and part == bare


def observable(kind: Kind, observe: bool | None) -> bool:  # noqa: FBT001  (a field of the message, as it came)
    """Whether the memory observes it: by default all but system messages, control text and summaries.

    memory-rules.md section 3.
    """
    return observe is not False and kind not in (Kind.SYSTEM, Kind.BOUNDARY, Kind.SUMMARY)


def default_trust(role: Role) -> Trust:
    match role:
        case Role.USER:
            return Trust.USER
        case Role.SYSTEM | Role.ASSISTANT:
            return Trust.OPERATOR
        case Role.TOOL:
            return Trust.TOOL
        case _:
            assert_never(role)
