"""Gemini's contents as neutral messages (ai.google.dev/api/caching#Content), in camelCase or the SDK's snake_case.

| part | neutral |
|---|---|
| text; with ``thought: true`` | text; reasoning |
| inlineData, fileData | image if the media type says so, else file |
| functionCall, executableCode, toolCall | tool_call |
| functionResponse, codeExecutionResult, toolResponse | tool_result |

Gemini pairs calls and results by name and place, often without ids. Such a pair gets the id ``gemini:<name>:<n>``, n
counting the calls (or results) of that name in the message; an id of that form is not Gemini's own. Other fields
beside that of the type (thoughtSignature, videoMetadata) stay on the part. If a model said nothing the API leaves the
parts out, and the SDK dumps null.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from app.sessions.model import Part, PartType, Role
from app.sessions.wire.fields import (
    Wire,
    WireError,
    identifier,
    mapping,
    objects,
    optional_string,
    part,
    rest,
    shown,
    string,
)

PROVIDER = "gemini"
ID_PREFIX = "gemini:"
USER, MODEL = "user", "model"
CALLS = ("functionCall", "function_call")
ROLES = {USER: Role.USER, MODEL: Role.ASSISTANT, "function": Role.TOOL, "tool": Role.TOOL}
CAMEL = {
    "code_execution_result": "codeExecutionResult",
    "display_name": "displayName",
    "executable_code": "executableCode",
    "file_data": "fileData",
    "file_uri": "fileUri",
    "function_call": "functionCall",
    "function_response": "functionResponse",
    "inline_data": "inlineData",
    "mime_type": "mimeType",
    "thought_signature": "thoughtSignature",
    "tool_call": "toolCall",
    "tool_response": "toolResponse",
    "tool_type": "toolType",
    "video_metadata": "videoMetadata",
}
CODE = "code_execution"
UNNAMED = "server_tool"
Numbered: TypeAlias = Callable[[str, str], str]


def tool_of(part_id: str) -> str | None:
    """The tool named in an id that ``numbering`` made; None for any other id."""
    return part_id.removeprefix(ID_PREFIX).rpartition(":")[0] if part_id.startswith(ID_PREFIX) else None


def message(raw: Wire) -> tuple[Role, list[Part]]:
    role = _role_of(raw)
    if not isinstance(role, str) or role not in ROLES:
        raise WireError("/role", f"with parts, one of {', '.join(ROLES)} is expected, not {shown(role)}")
    if raw.get("content") is not None:
        raise WireError("/content", "a message may have parts or content, not both")
    if role == MODEL and raw.get("parts") is None:
        return Role.ASSISTANT, []
    numbered = numbering()
    return ROLES[role], [_part(_camel(item), at, numbered) for item, at in objects(raw, "parts", "")]


def _role_of(raw: Wire) -> Any:
    """The role; if left out, the one that the SDK (``t_content`` of google-genai) assumes: model if it calls."""
    if raw.get("role") is not None:
        return raw["role"]
    calls = (item.get(name) for item, _ in objects(raw, "parts", "") for name in CALLS)
    return USER if all(call is None for call in calls) else MODEL


def numbering() -> Numbered:
    """A function that makes the ids of one message's calls or results that came without."""
    seen: Counter[tuple[str, str]] = Counter()

    def numbered(tells: str, name: str) -> str:
        seen[tells, name] += 1
        return f"{ID_PREFIX}{name}:{seen[tells, name]}"

    return numbered


def _camel(raw: Wire) -> Wire:
    """The part in camelCase without nulls: the SDK dumps every field it knows, null if it is not set."""
    return {CAMEL.get(key, key): value for key, value in raw.items() if value is not None}


def _part(raw: Wire, at: str, numbered: Numbered) -> Part:
    tells = next((key for key in READERS if raw.get(key) is not None), None)
    if tells is None:
        raise WireError(at, f"a Gemini part must have one of {', '.join(READERS)}")
    if "type" in raw:
        raise WireError(f"{at}/type", "a Gemini part has no type: send parts with a type in content")
    return READERS[tells](raw, at, numbered)


def _text(raw: Wire, at: str, _numbered: Numbered) -> Part:
    text = string(raw, "text", at)
    if raw.get("thought") is True:
        return part(PartType.REASONING, raw, at, used={"text", "thought"}, text=text, provider=PROVIDER)
    return part(PartType.TEXT, raw, at, used={"text"}, text=text)


def _inline_data(raw: Wire, at: str, _numbered: Numbered) -> Part:
    return _blob(raw, at, "inlineData", {"data": "data"})


def _file_data(raw: Wire, at: str, _numbered: Numbered) -> Part:
    return _blob(raw, at, "fileData", {"url": "fileUri"})


def _blob(raw: Wire, at: str, key: str, fields: Mapping[str, str]) -> Part:
    blob, inside = _camel(mapping(raw, key, at)), f"{at}/{key}"
    held = {ours: identifier(blob, theirs, inside) for ours, theirs in fields.items()}
    if blob.get("mimeType") is not None:
        held["media_type"] = string(blob, "mimeType", inside)
    more = rest(blob, {"mimeType", *fields.values()})
    kind = PartType.IMAGE if held.get("media_type", "").startswith("image/") else PartType.FILE
    return part(kind, raw, at, used={key}, **held, **{key: more or None})


def _function_call(raw: Wire, at: str, numbered: Numbered) -> Part:
    call, inside = mapping(raw, "functionCall", at), f"{at}/functionCall"
    name = identifier(call, "name", inside)
    return part(
        PartType.TOOL_CALL,
        raw,
        at,
        used={"functionCall"},
        id=optional_string(call, "id", inside) or numbered("call", name),
        name=name,
        arguments={} if call.get("args") is None else mapping(call, "args", inside),
        functionCall=rest(call, {"id", "name", "args"}) or None,
    )


def _function_response(raw: Wire, at: str, numbered: Numbered) -> Part:
    response, inside = mapping(raw, "functionResponse", at), f"{at}/functionResponse"
    name = identifier(response, "name", inside)
    return part(
        PartType.TOOL_RESULT,
        raw,
        at,
        used={"functionResponse"},
        tool_call_id=optional_string(response, "id", inside) or numbered("result", name),
        output=mapping(response, "response", inside),
        functionResponse=rest(response, {"id", "response"}),
    )


def _executable_code(raw: Wire, at: str, numbered: Numbered) -> Part:
    code = mapping(raw, "executableCode", at)
    return part(
        PartType.TOOL_CALL,
        raw,
        at,
        used={"executableCode"},
        id=numbered("call", CODE),
        name=CODE,
        arguments=code,
        **_native("executableCode"),
    )


def _code_execution_result(raw: Wire, at: str, numbered: Numbered) -> Part:
    result = mapping(raw, "codeExecutionResult", at)
    return part(
        PartType.TOOL_RESULT,
        raw,
        at,
        used={"codeExecutionResult"},
        tool_call_id=numbered("result", CODE),
        output=result,
        is_error=None if result.get("outcome") == "OUTCOME_OK" else True,
        **_native("codeExecutionResult"),
    )


def _tool_call(raw: Wire, at: str, numbered: Numbered) -> Part:
    """A tool that Gemini runs itself, named by its type (GOOGLE_SEARCH_WEB ...)."""
    call, inside = _camel(mapping(raw, "toolCall", at)), f"{at}/toolCall"
    name = _tool_name(call, inside)
    return part(
        PartType.TOOL_CALL,
        raw,
        at,
        used={"toolCall"},
        id=optional_string(call, "id", inside) or numbered("call", name),
        name=name,
        arguments=mapping(call, "args", inside) if "args" in call else {},
        toolCall=rest(call, {"id", "args"}) or None,
        **_native("toolCall"),
    )


def _tool_response(raw: Wire, at: str, numbered: Numbered) -> Part:
    response, inside = _camel(mapping(raw, "toolResponse", at)), f"{at}/toolResponse"
    return part(
        PartType.TOOL_RESULT,
        raw,
        at,
        used={"toolResponse"},
        tool_call_id=optional_string(response, "id", inside) or numbered("result", _tool_name(response, inside)),
        output=mapping(response, "response", inside) if "response" in response else {},
        toolResponse=rest(response, {"id", "response"}) or None,
        **_native("toolResponse"),
    )


def _tool_name(raw: Wire, at: str) -> str:
    return (optional_string(raw, "toolType", at) or UNNAMED).lower()


def _native(key: str) -> dict[str, Any]:
    return {"provider": PROVIDER, "native": key}


READERS: Mapping[str, Callable[[Wire, str, Numbered], Part]] = {
    "text": _text,
    "inlineData": _inline_data,
    "fileData": _file_data,
    "functionCall": _function_call,
    "functionResponse": _function_response,
    "executableCode": _executable_code,
    "codeExecutionResult": _code_execution_result,
    "toolCall": _tool_call,
    "toolResponse": _tool_response,
}
