"""State and templates on the wire (api.md, Sessions, state)."""

from typing import Annotated, Any

from fastapi import Path
from pydantic import BaseModel, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from app.kit.bodies import Body
from app.sessions.schemas import KEY_PATTERN
from app.state.linting import Code, Severity
from app.state.templates import NAME_PATTERN, TEXT_CHARS_MOST, Scope

StateName = Annotated[
    str,
    Path(
        pattern=NAME_PATTERN,
        description="Name of the value: `x` belongs to the session, `user:x` to its resource, `app:x` to the tenant",
        examples=["user:city"],
    ),
]
Values = dict[str, Any]

ETAG = {
    "headers": {"ETag": {"description": "Entity tag, for `If-Match` and `If-None-Match`", "schema": {"type": "string"}}}
}


def _json(value: Any) -> Any:
    if isinstance(value, bytes):
        raise PydanticCustomError("json_value", "a JSON value is expected, sent as Content-Type: application/json")
    return value


JsonBody = Annotated[Any, BeforeValidator(_json, json_schema_input_type=Any)]


def _listed(value: Any) -> Any:
    if value is None:
        return []
    return [value] if isinstance(value, str) else value


Text = Annotated[str, Field(max_length=TEXT_CHARS_MOST)]
TEXTS_MAX = 1_000  # of a system prompt: each is a block of its own
_TextList = Annotated[list[Text], Field(max_length=TEXTS_MAX)]
Texts = Annotated[_TextList, BeforeValidator(_listed, json_schema_input_type=Text | _TextList | None)]


class LintIn(Body):
    """Texts to check: `template`, `system` as in a context request, or both, `template` first."""

    template: Texts = Field(default_factory=list)
    system: Texts = Field(default_factory=list)
    session: str | None = Field(
        None, pattern=KEY_PATTERN, description="Key of the session whose state the names are looked up in"
    )


class PlaceOut(BaseModel):
    """A place in the texts: index of the text, and number of characters before the place."""

    text: int
    position: int


class FindingOut(PlaceOut):
    severity: Severity
    code: Code
    message: str


class LintOut(BaseModel):
    names: dict[Scope, list[str]] = Field(description="Names used, by scope")
    volatile_from: PlaceOut | None = Field(
        description="First place in the prefix whose text depends on a value that can change; null: none"
    )
    findings: list[FindingOut]
    omitted: int = Field(description="Number of findings not listed, beyond DAYBOOK_STATE__LINT_FINDINGS_MAX")
