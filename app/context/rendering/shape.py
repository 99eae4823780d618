"""Validates values against the shapes of a provider's own objects, which it takes back as it sent them.

A caller may write any JSON into a part, and one unknown field, or one of another type, has the whole request refused.
So an object keeps only the fields of its shape; an optional one that does not fit is left out, and if a required one
does not fit, the object does not (``Misfit``).
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Shape: TypeAlias = Callable[[Any], Any]
"""The value, or what is left of it. Raises Misfit."""


class Misfit(ValueError):
    """The value is not of the shape."""


def fitting(shape: Shape, value: Any) -> Any | None:
    """The value, or what is left of it; None if it does not fit."""
    try:
        return shape(value)
    except Misfit:
        return None


def anything(value: Any) -> Any:
    return value


def text(value: Any) -> str:
    return value if isinstance(value, str) else _misfit()


def flag(value: Any) -> bool:
    return value if isinstance(value, bool) else _misfit()


def integer(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else _misfit()


def number(value: Any) -> float:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else _misfit()


def mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else _misfit()


def one_of(*words: str) -> Shape:
    return lambda value: value if isinstance(value, str) and value in words else _misfit()


def matching(pattern: str) -> Shape:
    compiled = re.compile(pattern)
    return lambda value: value if isinstance(value, str) and compiled.fullmatch(value) else _misfit()


def nullable(shape: Shape) -> Shape:
    return lambda value: None if value is None else shape(value)


def listed(shape: Shape) -> Shape:
    return lambda value: [shape(one) for one in value] if isinstance(value, list) else _misfit()


def either(*shapes: Shape) -> Shape:
    """The first shape that fits."""

    def fit(value: Any) -> Any:
        for shape in shapes:
            try:
                return shape(value)
            except Misfit:
                continue
        return _misfit()

    return fit


def fields(required: Mapping[str, Shape], optional: Mapping[str, Shape] | None = None) -> Shape:
    """An object with these fields, in the order in which it came."""
    known = {**required, **(optional or {})}

    def fit(value: Any) -> dict[str, Any]:
        held = mapping(value)
        if not required.keys() <= held.keys():
            _misfit()
        found: dict[str, Any] = {}
        for key in held:
            if key in known:
                try:
                    found[key] = known[key](held[key])
                except Misfit:
                    if key in required:
                        raise
        return found

    return fit


def tagged(
    kind: str, required: Mapping[str, Shape] | None = None, optional: Mapping[str, Shape] | None = None
) -> Shape:
    """An object of this ``type``."""
    return fields({"type": one_of(kind), **(required or {})}, optional)


def _misfit() -> Any:
    raise Misfit
