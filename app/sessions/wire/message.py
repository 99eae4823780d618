"""Normalises one message of any known shape to role, kind and neutral parts.

| what is there | shape |
|---|---|
| ``parts`` | gemini.py |
| ``type`` other than message | openai_responses.py, an item |
| ``role`` and ``content`` | content.py: parts of any shape; openai_chat.py for what stands beside ``content`` |

A neutral part has the fields of PartType; a provider's part is translated to them and keeps the rest so that a renderer
can give it back as it was:

- fields without a neutral name stay on the part under their own name; what is left of a nested object stays under the
  name of that object (``image_url: {"detail": "low"}``);
- ``provider`` and ``native`` (the provider's own type or field) stand on every part that is not the provider's usual
  form of the neutral type, ``provider`` on all reasoning; without them the usual form is the original;
- ``arguments_json`` is the string of a call's arguments if it is not the compact JSON of ``arguments``;
- ``item_id`` is the id of a Responses item, for a message's parts that of the message.

Not kept are the difference between a string and a list of one text, and fields of a message (not of a part) that say
nothing: ids, usage, stop reasons. An empty message (content "", [], or null from an assistant, and a model's without
parts) has no parts.
"""

from dataclasses import dataclass
from typing import Any

from app.sessions.model import Kind, Part, PartType, Role
from app.sessions.wire import gemini, openai_chat, openai_responses
from app.sessions.wire.content import content_parts
from app.sessions.wire.derived import agreed_kind, kind_of, settled_role
from app.sessions.wire.fields import Wire, WireError, optional_string, refuse, shown
from app.sessions.wire.frameworks import of_framework
from app.sessions.wire.storable import first_flaw

ROLES = {
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}
BOUNDARY_CHARS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Normalised:
    """``name`` is the speaker's; of a result it may be the tool's."""

    role: Role
    kind: Kind
    parts: tuple[Part, ...]
    name: str | None = None


def normalise(raw: Any) -> Normalised:
    """One item of ``messages`` as parsed from JSON. Raises WireError, and nothing else, for any JSON value."""
    if not isinstance(raw, dict):
        raise WireError("", f"an object is expected, not {shown(raw)}")
    if flaw := first_flaw(raw):
        raise WireError(flaw.pointer, flaw.detail)
    try:
        role, parts = _read(raw)
    except WireError as error:
        if framework := of_framework(raw):
            raise WireError(error.pointer, f"{error.detail}; {framework}") from error
        raise
    role = settled_role(role, parts)
    kind = agreed_kind(raw.get("kind"), kind_of(role, parts))
    if kind is Kind.BOUNDARY:
        _check_boundary(parts)
    name = optional_string(raw, "name", "")
    return Normalised(role, kind, tuple(parts), None if _names_a_tool(raw, role) else name)


def _read(raw: Wire) -> tuple[Role, list[Part]]:
    if "parts" in raw or (raw.get("role") == gemini.MODEL and "content" not in raw):
        return gemini.message(raw)
    if raw.get("type") not in (None, "message"):
        return openai_responses.item(raw)
    return _said(raw)


def _names_a_tool(raw: Wire, role: Role) -> bool:
    """Whether ``name`` is not a speaker's but the tool that an item of the Responses API calls."""
    return role is Role.ASSISTANT and "parts" not in raw and raw.get("type") not in (None, "message")


def _said(raw: Wire) -> tuple[Role, list[Part]]:
    role, content = _role(raw), raw.get("content")
    if role is not Role.ASSISTANT:
        _check_others(raw)
    images = openai_chat.images(raw)
    if raw.get("tool_call_id") is not None or raw.get("role") == "function" or _is_named(raw):
        output = content if isinstance(content, str) and not images else content_parts(raw) + images
        return Role.TOOL, _results(raw, output)
    parts = [] if content is None and (images or _may_be_silent(raw, role)) else content_parts(raw)
    parts += images
    if role is Role.ASSISTANT:
        parts = openai_chat.assistant_parts(raw, openai_responses.of_message(raw, parts))
    return role, parts


def _results(raw: Wire, output: str | list[Part]) -> list[Part]:
    """One result with the message's output; or the results that the content already holds. Raises WireError."""
    if isinstance(output, str) or all(part["type"] != PartType.TOOL_RESULT for part in output):
        return [openai_chat.tool_result(raw, output)]
    if not _is_named(raw) and any(part.get("tool_call_id") != raw.get("tool_call_id") for part in output):
        raise WireError("/tool_call_id", "the content already has tool results: leave tool_call_id out")
    return output


def _is_named(raw: Wire) -> bool:
    """Whether a result names its tool instead of its call, as Ollama's do."""
    return raw.get("role") == "tool" and raw.get("tool_call_id") is None and raw.get("tool_name") is not None


def _check_others(raw: Wire) -> None:
    """Refuse an assistant's fields beside the content on other roles: there is no part for them, they would be lost."""
    for field in openai_chat.ASSISTANT_FIELDS:
        if raw.get(field):
            raise WireError(f"/{field}", "only a message of role assistant may have this")


def _role(raw: Wire) -> Role:
    role = raw.get("role")
    if not isinstance(role, str) or role not in ROLES:
        refuse(raw, "role", "", f"one of {', '.join(ROLES)}")
    return ROLES[role]


def _may_be_silent(raw: Wire, role: Role) -> bool:
    """Whether ``content`` may be null (an assistant's), missing (beside its other fields), or either (a boundary)."""
    if role is Role.ASSISTANT:
        return "content" in raw or any(raw.get(field) is not None for field in openai_chat.ASSISTANT_FIELDS)
    return raw.get("kind") == Kind.BOUNDARY


def _check_boundary(parts: list[Part]) -> None:
    if (
        any(part["type"] != PartType.TEXT for part in parts)
        or sum(len(part["text"]) for part in parts) > BOUNDARY_CHARS_MAX
    ):
        raise WireError("/content", f"a boundary may have a text of at most {BOUNDARY_CHARS_MAX} characters, or none")
