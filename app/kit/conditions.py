"""Conditional requests: ``If-Match`` and ``If-None-Match`` (RFC 9110 section 13)."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Header

from app.kit.errors import Category, DomainError

IF_MATCH = "Expected `ETag`; 412 if the current one differs"
NOT_MODIFIED: dict[str, Any] = {"description": "Not modified: the caller's `If-None-Match` is current"}
IfMatch = Annotated[str | None, Header(max_length=1_000, description=IF_MATCH)]
IfNoneMatch = Annotated[
    str | None,
    Header(
        max_length=1_000,
        description="`*`: only if nothing is stored yet; an `ETag`: only if the current one differs; else 412",
    ),
]


class PreconditionFailed(DomainError):
    slug, title, category = "precondition-failed", "The condition on the ETag does not hold", Category.PRECONDITION


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """The conditions of a change: the two headers as they were sent."""

    if_match: str | None = None
    if_none_match: str | None = None

    @property
    def are_any(self) -> bool:
        return self.if_match is not None or self.if_none_match is not None

    def check(self, etag: str | None) -> None:
        """Raises PreconditionFailed if the conditions do not hold for this ``etag`` (None: nothing is stored).

        13.1.1: one of the tags of ``If-Match`` must equal it, compared strongly; * matches any. 13.1.2: none of the
        tags of ``If-None-Match`` may match.
        """
        matches = self.if_match is None or _is_one_of(self.if_match, etag)
        if not matches or (etag is not None and has_etag(self.if_none_match, etag)):
            raise PreconditionFailed(f"the current ETag is {etag}" if etag else "nothing is stored under this name")


def has_etag(if_none_match: str | None, etag: str) -> bool:
    """Whether ``If-None-Match`` names this ETag, compared weakly: a read is then answered 304, with no body."""
    known = [tag.strip().removeprefix("W/") for tag in (if_none_match or "").split(",")]
    return etag in known or "*" in known


def _is_one_of(if_match: str, etag: str | None) -> bool:
    return etag is not None and (if_match.strip() == "*" or etag in [tag.strip() for tag in if_match.split(",")])


async def _conditions(if_match: IfMatch = None, if_none_match: IfNoneMatch = None) -> Conditions:
    # Async although it awaits nothing, because FastAPI runs a plain function in a thread.
    return Conditions(if_match=if_match, if_none_match=if_none_match)


Expected = Annotated[Conditions, Depends(_conditions)]
"""A parameter of this type has the conditions of the request."""
