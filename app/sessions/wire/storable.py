"""Checks which JSON values can be stored: what Postgres jsonb and orjson both take, nested no deeper than DEPTH_MAX.

Postgres cannot hold NUL characters nor lone surrogates, JSON has no NaN, and orjson writes integers of 64 bits only.
The common case is decided by one pass of orjson over the value, as it runs on requests of up to 8 MiB.
"""

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import orjson

from app.kit.errors import json_pointer

DEPTH_MAX = 64
INTEGER_MIN, INTEGER_MAX = -(2**63), 2**64 - 1  # what orjson writes


class Flaw(NamedTuple):
    """Where a value cannot be stored, as a JSON pointer ("" is the value itself), and why."""

    pointer: str
    detail: str


def first_flaw(value: Any) -> Flaw | None:
    """The first place in a value that cannot be stored; None if all can. Never raises."""
    try:
        written = orjson.dumps(value)
    except orjson.JSONEncodeError:
        return _flaw(value, 0) or Flaw("", "not a JSON value")
    return _flaw(value, 0) if _is_suspect(written) else None


def _is_suspect(written: bytes) -> bool:
    """Whether what orjson wrote without complaint may still hold a NUL, a NaN (written as null) or be too deep."""
    brackets = written.count(b"{") + written.count(b"[")
    return brackets > DEPTH_MAX or b"\\u0000" in written or b"null" in written


def _flaw(value: Any, depth: int) -> Flaw | None:
    """The exact check, node by node; the pointer is built only on the way back from a flaw."""
    if isinstance(value, dict):
        return _key_flaw(value) or _flaw_within(value.items(), depth)
    if isinstance(value, list):
        return _flaw_within(enumerate(value), depth)
    detail = _scalar_flaw(value)
    return Flaw("", detail) if detail else None


def _flaw_within(entries: Iterable[tuple[Any, Any]], depth: int) -> Flaw | None:
    if depth == DEPTH_MAX:
        return Flaw("", f"nested more than {DEPTH_MAX} levels deep")
    for key, item in entries:
        if item is not None and (flaw := _flaw(item, depth + 1)):
            return Flaw(json_pointer(key) + flaw.pointer, flaw.detail)
    return None


def _key_flaw(value: dict[Any, Any]) -> Flaw | None:
    """A flaw in a key, at the pointer of its object, as the key itself cannot be written in an answer."""
    detail = next((detail for key in value if (detail := _scalar_flaw(key))), None)
    return Flaw("", f"a key of this object: {detail}") if detail else None


def _scalar_flaw(value: object) -> str | None:
    match value:
        case str():
            return _text_flaw(value)
        case int() if not INTEGER_MIN <= value <= INTEGER_MAX:
            return "an integer beyond 64 bits"
        case float() if not math.isfinite(value):
            return "not a finite number"
        case _:
            return None


def _text_flaw(text: str) -> str | None:
    if "\0" in text:
        return "a NUL character cannot be stored"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "a lone surrogate is not valid Unicode"
    return None
