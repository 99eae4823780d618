"""JSON by orjson, one way everywhere, and what of its texts can be stored."""

from typing import Any

import orjson

dumps, loads = orjson.dumps, orjson.loads


def as_text(value: Any) -> str:
    """A text as it is, any other value as JSON."""
    return value if isinstance(value, str) else dumps(value).decode()


def canonical(value: Any) -> bytes:
    """The same bytes for the same value, whatever the order of its keys.

    A copy, because it is kept: behind each answer of orjson some 4 kB of the heap stay unused for as long as it lives.
    """
    return bytes(memoryview(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)))


def storable(text: str) -> str:
    """The text without NUL and lone surrogates, which JSON can hold and Postgres refuses."""
    return text.replace("\x00", "").encode("utf-8", "ignore").decode("utf-8")
