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
        description="`x` is the session's, `user:x` its resource's, `app:x` the tenant's",
        examples=["user:city"],
    ),
]
Values = dict[str, Any]

ETAG = {"headers": {"ETag": {"description": "For `If-Match` and `If-None-Match`", "schema": {"type": "string"}}}}


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
    """What to look at: `template`, `system` as a context takes it, or both, one after the other."""

    template: Texts = Field(default_factory=list)
    system: Texts = Field(default_factory=list)
    session: str | None = Field(None, pattern=KEY_PATTERN, description="Whose state the names are looked for in")


class PlaceOut(BaseModel):
    """A place in the texts: which of them, and how many characters come before it."""

    text: int
    position: int


class FindingOut(PlaceOut):
    severity: Severity
    code: Code
    message: str


class LintOut(BaseModel):
    names: dict[Scope, list[str]] = Field(description="The names used, by scope")
    volatile_from: PlaceOut | None = Field(description="Where the part of the prefix begins that values can change")
    findings: list[FindingOut]
    omitted: int = Field(description="Findings past the limit (DAYBOOK_STATE__LINT_FINDINGS_MAX)")
