"""Pagination of lists by cursor.

A cursor is opaque to the caller; it encodes a checksum of its list's path and order, and the last item's key. A cursor
of another list, such as another session's, is refused: it would begin anywhere in this one.
"""

import base64
import binascii
import zlib
from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from fastapi import Query

from app.kit.errors import Invalid
from app.kit.json import dumps, loads

T = TypeVar("T", int, str)
Item = TypeVar("Item")

NUMBER_MAX = 2**63 - 1  # of a bigint column
PAGE_DEFAULT, PAGE_MAX = 50, 500

Limit = Annotated[int, Query(ge=1, le=PAGE_MAX)]
Cursor = Annotated[
    str | None, Query(max_length=400, description="`next_cursor` of the previous page; default: the first page")
]


def next_cursor(last: int | str, *, path: str) -> str:
    return base64.urlsafe_b64encode(dumps([_mark(path), last])).decode().rstrip("=")


def paged(
    found: Sequence[Item], limit: int, key: Callable[[Item], int | str], *, path: str
) -> tuple[Sequence[Item], str | None]:
    """The page, and the cursor of the next one or None. ``found`` has one item over the limit if there are more."""
    page = found[:limit]
    return page, next_cursor(key(page[-1]), path=path) if len(found) > limit else None


def read_cursor(cursor: str | None, kind: type[T], *, path: str) -> T | None:
    """The key of the last item of the page before; None without a cursor. Raises Invalid for one of another list."""
    if cursor is None:
        return None
    try:
        value = loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError):
        value = None
    match value:
        case [mark, last] if mark == _mark(path) and type(last) is kind and _is_key(last):
            return last
    raise not_of_this_list()


def not_of_this_list() -> Invalid:
    return Invalid.at("cursor", "not a cursor of this list: start with the first page, then pass its next_cursor")


def _mark(path: str) -> int:
    return zlib.crc32(path.encode())


def _is_key(value: int | str) -> bool:
    """Whether Postgres can take it as a key: a caller can forge a cursor with any number or text."""
    return "\0" not in value if isinstance(value, str) else 0 <= value <= NUMBER_MAX
