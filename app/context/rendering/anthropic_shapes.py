"""Shapes of the blocks of tools that Anthropic runs itself (``anthropic.types.beta.BetaContentBlockParam``)."""

from collections.abc import Mapping

from app.context.rendering.shape import (
    Shape,
    either,
    fields,
    flag,
    integer,
    listed,
    mapping,
    matching,
    nullable,
    one_of,
    tagged,
    text,
)

WEB = matching(r"https?://\S+")
TRANSFORMATIONS = fields({}, {"oversized_image": one_of("downsize", "error")})
OPTIONAL_TEXT, OPTIONAL_INTEGER = nullable(text), nullable(integer)
CALLER = either(
    tagged("direct"),
    fields({"type": one_of("code_execution_20250825", "code_execution_20260120"), "tool_id": text}),
)
SERVER_TOOLS = (
    *("advisor", "web_search", "web_fetch", "code_execution", "bash_code_execution", "text_editor_code_execution"),
    *("tool_search_tool_regex", "tool_search_tool_bm25"),
)
USES: Mapping[str, Shape] = {
    "server_tool_use": tagged(
        "server_tool_use",
        {"id": matching("srvtoolu_[A-Za-z0-9_]+"), "name": one_of(*SERVER_TOOLS), "input": mapping},
        {"caller": CALLER},
    ),
    "mcp_tool_use": tagged("mcp_tool_use", {"id": text, "name": text, "input": mapping, "server_name": text}),
}

TRIED = ("invalid_tool_input", "unavailable", "too_many_requests")
RAN = (*TRIED, "execution_time_exceeded")
MESSAGE: Mapping[str, Shape] = {"error_message": OPTIONAL_TEXT}
STOP: Mapping[str, Shape] = {"stop_reason": OPTIONAL_TEXT}
REFERENCE = tagged("tool_reference", {"tool_name": text})
SOURCE = either(
    tagged("base64", {"media_type": one_of("application/pdf"), "data": text}),
    tagged("text", {"media_type": one_of("text/plain"), "data": text}),
    tagged("url", {"url": WEB}),
    tagged("file", {"file_id": text}),
)
DOCUMENT = tagged(
    "document",
    {"source": SOURCE},
    {
        "citations": nullable(fields({}, {"enabled": flag})),
        "context": OPTIONAL_TEXT,
        "title": OPTIONAL_TEXT,
    },
)
REPLACED = dict.fromkeys(("new_lines", "new_start", "old_lines", "old_start"), OPTIONAL_INTEGER)


def _failed(kind: str, *codes: str, more: Mapping[str, Shape] | None = None) -> Shape:
    return tagged(f"{kind}_tool_result_error", {"error_code": one_of(*codes)}, more)


def _ran(kind: str) -> Mapping[str, Shape]:
    files = listed(tagged(f"{kind}_output", {"file_id": text}))
    return {"content": files, "return_code": integer, "stderr": text}


CONTENTS: Mapping[str, Shape] = {
    "web_search_tool_result": either(
        listed(
            tagged(
                "web_search_result",
                {"encrypted_content": text, "title": text, "url": WEB},
                {"page_age": OPTIONAL_TEXT},
            )
        ),
        _failed("web_search", *TRIED, "max_uses_exceeded", "query_too_long", "request_too_large"),
    ),
    "web_fetch_tool_result": either(
        tagged("web_fetch_result", {"content": DOCUMENT, "url": WEB}, {"retrieved_at": OPTIONAL_TEXT}),
        _failed(
            "web_fetch",
            *(*TRIED, "url_too_long", "url_not_allowed", "url_not_in_prior_context", "url_not_accessible"),
            *("unsupported_content_type", "max_uses_exceeded", "content_too_large"),
        ),
    ),
    "advisor_tool_result": either(
        tagged("advisor_result", {"text": text}, STOP),
        tagged("advisor_redacted_result", {"encrypted_content": text}, STOP),
        _failed(
            "advisor",
            *("max_uses_exceeded", "prompt_too_long", "too_many_requests", "overloaded", "unavailable"),
            *("execution_time_exceeded", "model_not_found"),
        ),
    ),
    "code_execution_tool_result": either(
        tagged("code_execution_result", {**_ran("code_execution"), "stdout": text}),
        tagged("encrypted_code_execution_result", {**_ran("code_execution"), "encrypted_stdout": text}),
        _failed("code_execution", *RAN),
    ),
    "bash_code_execution_tool_result": either(
        tagged("bash_code_execution_result", {**_ran("bash_code_execution"), "stdout": text}),
        _failed("bash_code_execution", *RAN, "output_file_too_large"),
    ),
    "text_editor_code_execution_tool_result": either(
        tagged(
            "text_editor_code_execution_view_result",
            {"content": text, "file_type": one_of("text", "image", "pdf")},
            dict.fromkeys(("num_lines", "start_line", "total_lines"), OPTIONAL_INTEGER),
        ),
        tagged("text_editor_code_execution_create_result", {"is_file_update": flag}),
        tagged(
            "text_editor_code_execution_str_replace_result",
            optional={**REPLACED, "lines": nullable(listed(text))},
        ),
        _failed("text_editor_code_execution", *RAN, "file_not_found", more=MESSAGE),
    ),
    "tool_search_tool_result": either(
        tagged("tool_search_tool_search_result", {"tool_references": listed(REFERENCE)}),
        _failed("tool_search", *RAN, more=MESSAGE),
    ),
    "mcp_tool_result": either(text, listed(tagged("text", {"text": text}))),
}
WITH_CALLER = ("web_search_tool_result", "web_fetch_tool_result")
RESULTS: Mapping[str, Shape] = {
    kind: tagged(
        kind,
        {"tool_use_id": text, "content": content},
        {"caller": CALLER} if kind in WITH_CALLER else {"is_error": flag} if kind == "mcp_tool_result" else {},
    )
    for kind, content in CONTENTS.items()
}
