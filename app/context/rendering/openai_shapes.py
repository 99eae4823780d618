"""Shapes of the Responses API's own items (``openai.types.responses.ResponseInputItemParam``)."""

from collections.abc import Mapping

from app.context.rendering.shape import (
    Shape,
    anything,
    either,
    fields,
    flag,
    integer,
    listed,
    mapping,
    nullable,
    number,
    one_of,
    tagged,
    text,
)

OPTIONAL_TEXT, OPTIONAL_INTEGER = nullable(text), nullable(integer)
ENDED = ("in_progress", "completed", "incomplete")
SEARCHED = one_of(*ENDED, "searching", "failed")
CALLER = tagged("direct")  # a program's call names the program by an id under which that is not shown

# The fields of a call of the agent's tools beside the neutral ones.
CALL = fields({}, {"namespace": text, "caller": CALLER, "async": flag, "status": one_of(*ENDED)})
CALLED = fields({}, {"namespace": text, "caller": CALLER, "async": flag})  # of one that has no status

# Tools that the agent runs itself.
ENVIRONMENT = either(
    tagged("local", optional={"skills": listed(fields({"description": text, "name": text, "path": text}))}),
    tagged("container_reference", {"container_id": text}),
)
SHELL_ACTION = fields(
    {"commands": listed(text)}, {"max_output_length": OPTIONAL_INTEGER, "timeout_ms": OPTIONAL_INTEGER}
)
SHELL_OUTPUT = listed(
    fields(
        {
            "stdout": text,
            "stderr": text,
            "outcome": either(tagged("timeout"), tagged("exit", {"exit_code": integer})),
        }
    )
)
PATCH_OPERATION = either(
    fields({"type": one_of("create_file", "update_file"), "diff": text, "path": text}),
    tagged("delete_file", {"path": text}),
)

# Reasoning, and the citations of the assistant's words.
SUMMARY = listed(tagged("summary_text", {"text": text}))
REASONED = listed(tagged("reasoning_text", {"text": text}))
PLACE: Mapping[str, Shape] = {"start_index": integer, "end_index": integer}
ANNOTATION = either(
    tagged("file_citation", {"file_id": text, "filename": text, "index": integer}),
    tagged("url_citation", {"title": text, "url": text, **PLACE}),
    tagged("container_file_citation", {"container_id": text, "file_id": text, "filename": text, **PLACE}),
    tagged("file_path", {"file_id": text, "index": integer}),
)

# Tools that OpenAI runs itself.
MCP_ERROR = either(
    fields({"type": one_of("mcp_protocol_error", "http_error"), "code": integer, "message": text}),
    tagged("mcp_tool_execution_error", {"content": anything}),
)
IMAGE_ERROR = fields({"code": OPTIONAL_TEXT, "message": text, "param": OPTIONAL_TEXT, "type": text})


def _plain(value: object) -> object:
    """Attributes of a file: texts, numbers and flags by their names."""
    return {key: either(text, number, flag)(one) for key, one in mapping(value).items()}


FOUND = fields({}, {"attributes": nullable(_plain), "file_id": text, "filename": text, "score": number, "text": text})
MCP_TOOL = fields({"input_schema": anything, "name": text}, {"annotations": anything, "description": OPTIONAL_TEXT})
SEARCH = either(
    tagged(
        "search", optional={"queries": listed(text), "query": text, "sources": listed(tagged("url", {"url": text}))}
    ),
    tagged("open_page", optional={"url": OPTIONAL_TEXT}),
    tagged("find_in_page", {"pattern": text, "url": text}),
)

# By item type: the required fields beside type and id, and the optional ones.
_HOSTED: Mapping[str, tuple[Mapping[str, Shape], Mapping[str, Shape]]] = {
    "code_interpreter_call": (
        {
            "code": OPTIONAL_TEXT,
            "container_id": text,
            "outputs": nullable(listed(either(tagged("logs", {"logs": text}), tagged("image", {"url": text})))),
            "status": one_of(*ENDED, "interpreting", "failed"),
        },
        {},
    ),
    "file_search_call": ({"queries": listed(text), "status": SEARCHED}, {"results": nullable(listed(FOUND))}),
    "image_generation_call": (
        {"result": OPTIONAL_TEXT, "status": one_of("in_progress", "completed", "generating", "failed")},
        {
            "action": one_of("generate", "edit", "auto"),
            "background": one_of("transparent", "opaque", "auto"),
            "error": IMAGE_ERROR,
            "output_format": one_of("png", "webp", "jpeg", "gif", "svg"),
            "quality": one_of("low", "medium", "high", "xhigh", "max", "auto"),
            "revised_prompt": text,
            "size": text,
        },
    ),
    "mcp_call": (
        {"arguments": text, "name": text, "server_label": text},
        {
            "approval_request_id": text,
            "error": MCP_ERROR,
            "output": text,
            "status": one_of(*ENDED, "calling", "failed"),
        },
    ),
    "mcp_list_tools": ({"server_label": text, "tools": listed(MCP_TOOL)}, {"error": text}),
    "web_search_call": (
        {"action": SEARCH, "status": SEARCHED},
        {"results": listed(mapping)},  # which OpenAI sends on request, though its types do not name them
    ),
}
HOSTED: Mapping[str, Shape] = {
    kind: tagged(kind, {"id": text, **required}, optional) for kind, (required, optional) in _HOSTED.items()
}
