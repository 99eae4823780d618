"""The service's error tree: a class says what went wrong, its message which; ``problems`` maps categories to HTTP."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Self

RETRY_SECONDS = 1.0  # where nothing tells when it is over
DETAILED = 3  # of them, that the detail of a problem names


class StartError(Exception):
    """The service cannot start or go on; its text is one clear line for an operator, with what to do."""


def first_line(error: BaseException) -> str:
    """What an error says, in one line; one without a text, such as a time-out, is told by its type."""
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
    """Something the caller can understand. ``slug`` is the stable type of the problem (api.md)."""

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
        """One field is wrong; the problem's detail is the field's, without the pointer."""
        return cls(detail, errors=[FieldError(pointer, detail)])

    @classmethod
    def naming(cls, *errors: FieldError) -> Self:
        """These fields are wrong; the problem's detail names the first ``DETAILED`` of them by their pointers."""
        told = (f"{error.pointer}: {error.detail}".removeprefix(": ") for error in errors[:DETAILED])
        return cls("; ".join(told), errors=errors)


class Invalid(DomainError):
    slug, title, category = "invalid", "The request is not valid", Category.INVALID


class Unauthorized(DomainError):
    slug, title, category = "unauthorized", "No valid key was given", Category.UNAUTHORIZED


class Forbidden(DomainError):
    slug, title, category = "forbidden", "The key may not do this", Category.FORBIDDEN


class TooLarge(DomainError):
    slug, title, category = "too-large", "The request is too large", Category.TOO_LARGE


class Unavailable(DomainError):
    """A 503, which always tells when to ask again (api.md)."""

    slug, title, category = "unavailable", "The service cannot answer now", Category.UNAVAILABLE

    def __init__(self, detail: str, *, retry_after: float = RETRY_SECONDS) -> None:
        super().__init__(detail, retry_after=retry_after)
