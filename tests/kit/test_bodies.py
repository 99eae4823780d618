"""What the bodies of requests have in common."""

from typing import Any

import pytest
from pydantic import Field, ValidationError

from app.kit.bodies import Body


class Asked(Body):
    text: str
    limit: int = Field(10, ge=1, description="At most")
    kinds: list[str] = Field(default_factory=lambda: ["all"])
    until: str | None = None


def test_a_null_of_a_field_with_a_default_is_the_default() -> None:
    assert Asked.model_validate({"text": "a", "limit": None, "kinds": None}) == Asked(text="a")
    assert Asked.model_validate_json('{"text": "a", "limit": null, "kinds": null}') == Asked(text="a")


def test_a_field_whose_default_is_null_is_known_to_be_given() -> None:
    assert Asked.model_validate({"text": "a", "limit": None, "until": None}).model_fields_set == {"text", "until"}


@pytest.mark.parametrize("body", [{}, {"text": None}, {"text": "a", "limit": 0}, {"text": "a", "typo": None}, None, []])
def test_what_is_wrong_is_refused(body: Any) -> None:
    with pytest.raises(ValidationError):
        Asked.model_validate(body)


def test_the_schema_tells_of_nulls() -> None:
    told = Asked.model_json_schema()["properties"]
    assert told["limit"] == {
        "anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}],
        "title": "Limit",
        "description": "At most",
        "default": 10,
    }
    assert [way["type"] for way in told["kinds"]["anyOf"]] == ["array", "null"]
    assert told["text"] == {"type": "string", "title": "Text"}
