"""JSON by orjson, one way everywhere."""

from typing import Any

import orjson


def dumps(value: Any) -> bytes:
    return orjson.dumps(value)


def canonical(value: Any) -> bytes:
    """The same bytes for the same value, whatever the order of its keys."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def loads(text: bytes) -> Any:
    return orjson.loads(text)
