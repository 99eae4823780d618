"""Conditional requests: ``If-Match`` and ``If-None-Match`` (RFC 9110 section 13)."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header

IF_MATCH = "Expected `ETag`; 412 if the current one differs"
IfMatch = Annotated[str | None, Header(max_length=1_000, description=IF_MATCH)]
IfNoneMatch = Annotated[
    str | None,
    Header(
        max_length=1_000,
        description="`*`: only if nothing is stored yet; an `ETag`: only if the current one differs; else 412",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """The conditions of a change: the two headers as they were sent."""

    if_match: str | None = None
    if_none_match: str | None = None

    @property
    def are_any(self) -> bool:
        return self.if_match is not None or self.if_none_match is not None

    def unmet(self, etag: str | None) -> str | None:
        """Why the conditions do not hold for this ``etag`` (None: nothing is stored), or None if they hold.

        13.1.1: one of the tags of ``If-Match`` must equal it, compared strongly; * matches any. 13.1.2: none of the
        tags of ``If-None-Match`` may match.
        """
        found = f"the current ETag is {etag}" if etag else "nothing is stored under this name"
        if self.if_match is not None and not _is_one_of(self.if_match, etag):
            return found
        return found if etag is not None and has_etag(self.if_none_match, etag) else None


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
