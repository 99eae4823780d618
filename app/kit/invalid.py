"""What is wrong with what was sent, in words that its caller knows: pydantic's are of Python."""

import re
from collections.abc import Mapping
from typing import Any

OBJECT_EXPECTED = "a JSON object is expected"
ERRORS_MAX = 100  # of one body that are told; reading more would take time, and nobody would be told
# What pydantic says of these names classes and types of Python.
_IN_WORDS_OF_JSON = {
    "dict_type": OBJECT_EXPECTED,
    "model_type": OBJECT_EXPECTED,
    "model_attributes_type": OBJECT_EXPECTED,
    "extra_forbidden": "there is no such field",
}
_NAME = re.compile(r"\^\[(?P<signs>[^]^]+)\]\{(?P<least>\d+),(?P<most>\d+)\}\$")  # a pattern that can be told in words


def invalid_detail(found: Mapping[str, Any]) -> str:
    """What is wrong with a field, by one of the errors of a ``ValidationError``."""
    match found:
        case {"type": "string_pattern_mismatch", "ctx": {"pattern": str(pattern)}, "input": str(given)} if (
            name := _NAME.fullmatch(pattern)
        ):
            return _no_name(given, **name.groupdict())
        case _:
            return _IN_WORDS_OF_JSON.get(found["type"]) or str(found["msg"])


def too_many_errors(count: int) -> str | None:
    """What is told of so many errors; None of few, which are told one by one."""
    return f"{count} things are wrong with it; up to {ERRORS_MAX} are told one by one" if count > ERRORS_MAX else None


def _no_name(given: str, *, signs: str, least: str, most: str) -> str:
    fits = int(least) <= len(given) <= int(most)
    got = repr(re.sub(f"[{signs}]", "", given)[:1]) if fits else str(len(given))
    return f"{least} to {most} characters of {signs} are expected, not {got}"
