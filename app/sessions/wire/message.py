"""One message from any of the known shapes, as role, kind and neutral parts.

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
- ``arguments_json`` is the string of a call's arguments where it is not the compact JSON of ``arguments``;
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
# Shapes of frameworks that are no provider's, by what nothing else has, and what these frameworks offer in their place.
AGENTS_FIELDS = frozenset({"callId", "providerData"})
AGENTS_TYPES = ("function_call_result", "hosted_tool_call")
AGENTS_WORDS = (
    "this is an item of the Agents SDK for JavaScript: send it as OpenAI's Responses API has it (call_id, ...)"
)
LANGCHAIN_FIELDS = frozenset({"args", "base64", "mime_type", "reasoning"})
LANGCHAIN_WORDS = "these are LangChain's content blocks v1: send those of its output_version 'responses/v1' or 'v0'"
LANGCHAIN_TYPES = ("human", "ai", "constructor")
LANGCHAIN_MESSAGE_WORDS = "this is a message of LangChain: send what its convert_to_openai_messages makes of it"
AI_SDK_FIELDS = frozenset({"toolCallId", "toolName"})
AI_SDK_WORDS = "this is of the AI SDK: clients/typescript/examples/ai_sdk.ts has the function that sends it"
CONVERSE_FIELDS = frozenset({"text", "toolUse", "toolResult"})
CONVERSE_WORDS = "this is of Bedrock's Converse API: send it as Anthropic's Messages API has it (type, tool_use, ...)"


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
        if framework := _of_framework(raw):
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


def _of_framework(raw: Wire) -> str:
    """Whose shape a message has that is not understood, and what to send instead; "" where nothing tells."""
    if AGENTS_FIELDS & raw.keys() or raw.get("type") in AGENTS_TYPES:
        return AGENTS_WORDS
    if raw.get("type") in LANGCHAIN_TYPES:
        return LANGCHAIN_MESSAGE_WORDS
    content = raw.get("content", raw.get("parts"))
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    if any(AI_SDK_FIELDS & block.keys() for block in blocks):
        return AI_SDK_WORDS
    if "content" in raw and any(CONVERSE_FIELDS & block.keys() and "type" not in block for block in blocks):
        return CONVERSE_WORDS
    return LANGCHAIN_WORDS if any(LANGCHAIN_FIELDS & block.keys() for block in blocks) else ""


def _names_a_tool(raw: Wire, role: Role) -> bool:
    """Whether the name is that of the tool which an item of the Responses API calls, not a speaker's."""
    return role is Role.ASSISTANT and "parts" not in raw and raw.get("type") not in (None, "message")


def _said(raw: Wire) -> tuple[Role, list[Part]]:
    role, content = _role(raw), raw.get("content")
    if role is not Role.ASSISTANT:
        _check_others(raw)
    if raw.get("tool_call_id") is not None or raw.get("role") == "function":
        output = content if isinstance(content, str) else content_parts(raw)
        return Role.TOOL, _results(raw, output)
    parts = [] if content is None and _may_be_silent(raw, role) else content_parts(raw)
    if role is Role.ASSISTANT:
        parts = openai_chat.assistant_parts(raw, openai_responses.of_message(raw, parts))
    return role, parts


def _results(raw: Wire, output: str | list[Part]) -> list[Part]:
    """The result of which the message has the output; or those that its content already is, named by the field too."""
    if isinstance(output, str) or all(part["type"] != PartType.TOOL_RESULT for part in output):
        return [openai_chat.tool_result(raw, output)]
    if any(part.get("tool_call_id") != raw.get("tool_call_id") for part in output):
        raise WireError("/tool_call_id", "the content has results of its own: send them without it")
    return output


def _check_others(raw: Wire) -> None:
    """Only an assistant has something beside the content: for others there is no part, and it would be lost."""
    for field in openai_chat.ASSISTANT_FIELDS:
        if raw.get(field):
            raise WireError(f"/{field}", "only a message of an assistant has this")


def _role(raw: Wire) -> Role:
    role = raw.get("role")
    if not isinstance(role, str) or role not in ROLES:
        refuse(raw, "role", "", f"one of {', '.join(ROLES)}")
    return ROLES[role]


def _may_be_silent(raw: Wire, role: Role) -> bool:
    """Whether the content may be null or missing: for an assistant that says something else, and for a boundary."""
    if role is Role.ASSISTANT:
        return "content" in raw or any(raw.get(field) is not None for field in openai_chat.ASSISTANT_FIELDS)
    return raw.get("kind") == Kind.BOUNDARY


def _check_boundary(parts: list[Part]) -> None:
    if (
        any(part["type"] != PartType.TEXT for part in parts)
        or sum(len(part["text"]) for part in parts) > BOUNDARY_CHARS_MAX
    ):
        raise WireError("/content", f"a boundary has no content, or a text of at most {BOUNDARY_CHARS_MAX} characters")
