"""The ``Range`` header of a request (RFC 9110 section 14): which bytes of a payload are asked for. Pure."""

from typing import NamedTuple

from app.kit.patterns import lazy_pattern

# One range of bytes. Several, and any other unit, may be answered with the whole (section 14.2).
_RANGE = lazy_pattern(r"(?i:bytes)=\s*(?:(?P<first>\d+)-(?P<last>\d+)?|-(?P<suffix>\d+))\s*")
_DIGITS = 19  # that many without a leading zero are more than the size of any payload


class Span(NamedTuple):
    """The bytes from ``start`` up to ``end``, excluded."""

    start: int
    end: int


class Unsatisfiable(Exception):
    """No byte of the payload is within the range."""


def asked_span(header: str | None, *, size: int) -> Span | None:
    """The bytes of a payload of ``size`` bytes that are asked for; None is the whole. Raises Unsatisfiable."""
    found = _RANGE.fullmatch(header or "")
    if found is None:
        return None
    if found["suffix"] is not None:
        span = Span(max(size - _number(found["suffix"]), 0), size)
    else:
        first, last = _number(found["first"]), _number(found["last"] or str(size))
        if found["last"] is not None and last < first:
            return None  # not a range at all: ignored (section 14.1.1)
        span = Span(first, min(last + 1, size))
    if span.start >= span.end:
        raise Unsatisfiable
    return span


def _number(digits: str) -> int:
    """The number; of more digits than a size ever has, one of as many: Python reads no number of thousands."""
    return int(digits.lstrip("0")[:_DIGITS] or 0)
