"""JSON by orjson: serialisation, canonical bytes, and texts that Postgres can store."""

from collections.abc import Iterable
from typing import Any

import orjson

dumps, loads = orjson.dumps, orjson.loads

_BREAK = orjson.Fragment(b"\n")


def as_text(value: Any) -> str:
    """A text as it is, any other value as JSON."""
    return value if isinstance(value, str) else dumps(value).decode()


def canonical(value: Any) -> bytes:
    """JSON with sorted keys: the same bytes for the same value.

    A copy, because it is kept: behind each result of orjson some 4 kB of the heap stay unused for as long as it lives.
    """
    return bytes(memoryview(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)))


def canonical_each(values: Iterable[Any]) -> tuple[bytes, ...]:
    """``canonical`` of each value, serialised at once and split at line breaks, which compact JSON never contains."""
    woven = [one for value in values for one in (value, _BREAK)]
    return tuple(orjson.dumps(woven, option=orjson.OPT_SORT_KEYS)[1:-3].split(b",\n,")) if woven else ()


def storable(text: str) -> str:
    """The text without NUL and lone surrogates, which JSON can hold and Postgres refuses."""
    return text.replace("\x00", "").encode("utf-8", "ignore").decode("utf-8")
