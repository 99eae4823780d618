"""The service's error tree: a class says what went wrong, its message which; ``problems`` maps categories to HTTP."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Self

RETRY_SECONDS = 1.0  # if the end of the condition is not known
DETAILED = 3  # errors of fields that the detail of a problem names


class StartError(Exception):
    """The service cannot start or go on; the message is one clear line for an operator, with what to do."""


def first_line(error: BaseException) -> str:
    """The first line of an error's message; the name of its type if it has none, as a time-out."""
    return str(error).partition("\n")[0] or type(error).__name__


class Category(StrEnum):
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    CONFLICT = "conflict"
    GONE = "gone"
    PRECONDITION = "precondition"
    TOO_LARGE = "too_large"
    INVALID = "invalid"
    TOO_MANY = "too_many"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class FieldError:
    """``pointer`` is a JSON pointer into the request's body, or the name of a parameter."""

    pointer: str
    detail: str


def json_pointer(*steps: object) -> str:
    """The JSON pointer of these steps (RFC 6901)."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


class DomainError(Exception):
    """An error that is reported to the caller. ``slug`` is the stable type of the problem (api.md)."""

    slug: ClassVar[str]
    title: ClassVar[str]
    category: ClassVar[Category]

    def __init__(self, detail: str, *, errors: Sequence[FieldError] = (), retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = tuple(errors)
        self.retry_after = retry_after

    @classmethod
    def at(cls, pointer: str, detail: str) -> Self:
        """The error of one field; the problem's detail is the field's, without the pointer."""
        return cls(detail, errors=[FieldError(pointer, detail)])

    @classmethod
    def naming(cls, *errors: FieldError) -> Self:
        """The error of several fields; the problem's detail has the first ``DETAILED`` of them with their pointers."""
        told = (f"{error.pointer}: {error.detail}".removeprefix(": ") for error in errors[:DETAILED])
        return cls("; ".join(told), errors=errors)


class Invalid(DomainError):
    slug, title, category = "invalid", "The request is not valid", Category.INVALID


class Unauthorized(DomainError):
    slug, title, category = "unauthorized", "The API key is missing or not valid", Category.UNAUTHORIZED


class Forbidden(DomainError):
    slug, title, category = "forbidden", "The request is not allowed", Category.FORBIDDEN


class TooLarge(DomainError):
    slug, title, category = "too-large", "The request is too large", Category.TOO_LARGE


class Unavailable(DomainError):
    """A 503, always with a Retry-After (api.md)."""

    slug, title, category = "unavailable", "The service is temporarily unavailable", Category.UNAVAILABLE

    def __init__(self, detail: str, *, retry_after: float = RETRY_SECONDS) -> None:
        super().__init__(detail, retry_after=retry_after)
