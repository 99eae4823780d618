"""The base model of request bodies."""

from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    GetJsonSchemaHandler,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import PydanticCustomError
from pydantic_core.core_schema import CoreSchema

from app.kit.invalid import too_many_errors

Model = TypeVar("Model", bound=BaseModel)

_NULL = {"type": "null"}
_ABOUT = ("title", "description", "default", "examples")  # describe the field, not one alternative of its type


class Body(BaseModel):
    """The body of a request, or an object in it.

    A null means "not given", because serializers of many languages write unset fields as null; if null is the default
    itself, it stays. An unknown field is refused, because a misspelt one would silently be ignored.
    """

    model_config = ConfigDict(extra="forbid")

    @classmethod
    def _defaulted(cls) -> frozenset[str]:
        """The fields whose default is another value than null."""
        return frozenset(
            name
            for name, field in cls.model_fields.items()
            if field.default_factory is not None or (field.default is not None and not field.is_required())
        )

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, body: Any) -> Any:
        if not isinstance(body, dict) or None not in body.values():
            return body
        defaulted = cls._defaulted()
        return {name: value for name, value in body.items() if value is not None or name not in defaulted}

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        told = handler.resolve_ref_schema(handler(schema))
        for name in cls._defaulted():
            told["properties"][name] = _or_null(told["properties"][name])
        return told


def _or_null(field: JsonSchemaValue) -> JsonSchemaValue:
    ways = field.get("anyOf") or [{name: value for name, value in field.items() if name not in _ABOUT}]
    about = {name: value for name, value in field.items() if name in _ABOUT}
    return {"anyOf": ways if _NULL in ways else [*ways, _NULL], **about}


def _few(value: Any, read: ValidatorFunctionWrapHandler) -> Any:
    try:
        return read(value)
    except ValidationError as error:
        if told := too_many_errors(error.error_count()):
            raise PydanticCustomError("too_many_errors", "{told}", {"told": told}) from None
        raise


Sent: TypeAlias = Annotated[Model, WrapValidator(_few)]
"""A body as the framework reads it; with more than ERRORS_MAX errors it is refused with a single one.

The framework makes an object of each error: for a megabyte of errors this takes 16 s, in which nothing else runs.
"""
