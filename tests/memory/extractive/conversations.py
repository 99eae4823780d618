"""Builds messages for the tests of this folder."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from app.kit.tokens import text_tokens
from app.memory.extractive.observer import observations
from app.memory.model import Item, ObserverInput
from app.memory.parsing import parse
from app.sessions.model import Kind, Message, Role, Trust

MONDAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def said(
    text: str,
    *,
    seq: int = 1,
    role: Role = Role.USER,
    name: str | None = None,
    trust: Trust = Trust.USER,
    at: datetime = MONDAY,
) -> Message:
    kind = {Role.USER: Kind.USER, Role.ASSISTANT: Kind.ASSISTANT, Role.TOOL: Kind.TOOL_RESULT}[role]
    return of_parts([{"type": "text", "text": text}], seq=seq, role=role, kind=kind, name=name, trust=trust, at=at)


def of_parts(
    parts: Sequence[dict[str, Any]],
    *,
    seq: int,
    role: Role = Role.ASSISTANT,
    kind: Kind = Kind.ASSISTANT,
    name: str | None = None,
    trust: Trust = Trust.USER,
    at: datetime = MONDAY,
) -> Message:
    return Message(
        seq=seq,
        id=f"m-{seq}",
        kind=kind,
        role=role,
        parts=tuple(parts),
        tokens=sum(text_tokens(part["text"] if "text" in part else str(part)) for part in parts) + 4,
        created_at=at,
        name=name,
        trust=trust,
    )


def called(seq: int, name: str, **arguments: object) -> Message:
    part = {"type": "tool_call", "id": f"c{seq}", "name": name, "arguments": arguments}
    return of_parts([part], seq=seq, kind=Kind.TOOL_CALL)


def ended(seq: int, output: object, *, is_error: bool = False) -> Message:
    """The result of the call in the message before."""
    part = {"type": "tool_result", "tool_call_id": f"c{seq - 1}", "output": output, "is_error": is_error}
    return of_parts([part], seq=seq, role=Role.TOOL, kind=Kind.TOOL_RESULT)


def noted(*messages: Message) -> tuple[Item, ...]:
    return parse(observations(ObserverInput(messages=messages))).items
