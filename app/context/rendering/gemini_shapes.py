"""Shapes of Gemini's own objects (``google.genai.types``), with fields in snake case or camel case."""

from collections.abc import Mapping

from app.context.rendering.shape import Shape, either, fields, flag, integer, listed, mapping, number, one_of, text


def _either_case(**shapes: Shape) -> Mapping[str, Shape]:
    """Each shape under its name in snake case and in camel case."""
    return {written: shape for name, shape in shapes.items() for written in (name, _camel(name))}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.title() for word in rest)


LEVELS = one_of(*(f"MEDIA_RESOLUTION_{level}" for level in ("UNSPECIFIED", "LOW", "MEDIUM", "HIGH", "ULTRA_HIGH")))
NAMED = fields({}, _either_case(display_name=text))
RESOLUTION = fields({}, _either_case(level=LEVELS, num_tokens=integer))
VIDEO = fields({}, _either_case(start_offset=text, end_offset=text, fps=number))
DATA = fields({}, _either_case(mime_type=text, data=text, display_name=text))
FILE = fields({}, _either_case(file_uri=text, mime_type=text, display_name=text))
ATTACHED = either(
    *(fields({written: DATA}) for written in ("inline_data", "inlineData")),
    *(fields({written: FILE}) for written in ("file_data", "fileData")),
)
ANSWERED = fields(
    {},
    _either_case(
        will_continue=flag,
        scheduling=one_of("SCHEDULING_UNSPECIFIED", "SILENT", "WHEN_IDLE", "INTERRUPT"),
        parts=listed(ATTACHED),
    ),
)
CODE = fields({"code": text}, {"language": one_of("LANGUAGE_UNSPECIFIED", "PYTHON"), "id": text})
OUTCOMES = one_of(*(f"OUTCOME_{outcome}" for outcome in ("UNSPECIFIED", "OK", "FAILED", "DEADLINE_EXCEEDED")))
CODE_RESULT = fields({"outcome": OUTCOMES}, {"output": text, "id": text})

TOOLS = one_of(
    *("TOOL_TYPE_UNSPECIFIED", "GOOGLE_SEARCH_WEB", "GOOGLE_SEARCH_IMAGE", "URL_CONTEXT", "GOOGLE_MAPS"),
    *("FILE_SEARCH", "MEDIA_PROCESSING"),
)
TOOL = fields({}, {"toolType": TOOLS})
TOOL_CALL = fields({"args": mapping, "tool_type": TOOLS}, {"id": text})
TOOL_RESPONSE = fields({"response": mapping}, {"id": text, "tool_type": TOOLS})
