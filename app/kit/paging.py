"""Cursors of lists: opaque to the caller, the last item's key to us."""

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import TypeVar

import orjson

from app.kit.errors import Invalid

T = TypeVar("T", int, str)
Item = TypeVar("Item")

NUMBER_MAX = 2**63 - 1  # what a bigint column holds


def next_cursor(last: int | str) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(last)).decode().rstrip("=")


def paged(found: Sequence[Item], limit: int, key: Callable[[Item], int | str]) -> tuple[Sequence[Item], str | None]:
    """A page of what was found, which is one item more than the limit if there are more, and the cursor to those."""
    page = found[:limit]
    return page, next_cursor(key(page[-1])) if len(found) > limit else None


def read_cursor(cursor: str | None, kind: type[T]) -> T | None:
    """The key of the last item a page ended with. Raises Invalid for what is not a cursor of ours."""
    if cursor is None:
        return None
    try:
        value = orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (binascii.Error, ValueError):
        value = None
    if type(value) is not kind or not _is_key(value):
        raise Invalid.at("cursor", "not a cursor of this list")
    return value


def _is_key(value: int | str) -> bool:
    """Whether Postgres can compare a key with it; what a caller made up may be any number or text."""
    return "\0" not in value if isinstance(value, str) else 0 <= value <= NUMBER_MAX
