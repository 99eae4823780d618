"""A part may hold any JSON where its caller wrote it: what is shown of it is of a shape that the provider takes."""

import copy
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from app.context.model import Format
from app.sessions.wire import WireError
from tests.context.rendering.test_round_trip import given_back
from tests.context.rendering.test_sdk_types import ASKED, BLOCKS, ITEMS, OTHER_BLOCKS, OTHER_ITEMS, PARTS

ODD: tuple[Any, ...] = (5, "odd", "", {}, {"type": "odd"}, [5], [{"type": "odd"}], 1e300, None)
FORGED = "forged"
FREE = frozenset({"input", "args", "response", "arguments", "input_schema", "parameters", "tools", "attributes"})
EXAMPLES = [
    *(pytest.param(Format.ANTHROPIC, messages, id=kind) for kind, messages in BLOCKS.items()),
    *(pytest.param(Format.ANTHROPIC, found, id=f"{kind}-otherwise") for kind, (_, found) in OTHER_BLOCKS.items()),
    *(pytest.param(Format.OPENAI_RESPONSES, messages, id=kind) for kind, messages in ITEMS.items()),
    *(pytest.param(Format.OPENAI_RESPONSES, found, id=f"{kind}-otherwise") for kind, (_, found) in OTHER_ITEMS.items()),
    *(pytest.param(Format.GEMINI, messages, id=kind) for kind, messages in PARTS.items()),
]
Path = tuple[str | int, ...]


@pytest.mark.parametrize(("shape", "messages"), EXAMPLES)
def test_a_field_of_any_value_is_refused_at_once_or_taken_by_the_sdk_s_types(
    shape: Format, messages: list[Any]
) -> None:
    for path in paths(messages):
        for value in ODD:
            shown(shape, put(messages, path, value))


@pytest.mark.parametrize(("shape", "messages"), EXAMPLES)
def test_a_field_that_the_provider_does_not_know_is_not_told_to_it(shape: Format, messages: list[Any]) -> None:
    for path in [(), *paths(messages)]:
        if isinstance(at(messages, path), dict):
            assert FORGED not in set(keys(shown(shape, put(messages, (*path, FORGED), {"a": 1}))))


def shown(shape: Format, messages: list[Any]) -> list[Any]:
    """Checked; nothing where the append is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what Gemini's SDK does not know, it warns of
        try:
            return given_back(shape, ASKED[shape], *messages, ASKED[shape])
        except WireError:
            return []


def paths(value: Any, before: Path = ()) -> Iterator[Path]:
    held = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in held:
        yield (*before, key)
        yield from paths(one, (*before, key))


def at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


def put(messages: list[Any], path: Path, value: Any) -> list[Any]:
    changed = copy.deepcopy(messages)
    at(changed, path[:-1])[path[-1]] = value
    return changed


def keys(value: Any) -> Iterator[str]:
    """Of all objects but those that a tool or its schema is free to fill."""
    if isinstance(value, Mapping):
        yield from value
        value = [one for key, one in value.items() if key not in FREE]
    if isinstance(value, list):
        for one in value:
            yield from keys(one)
