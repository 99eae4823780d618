"""Rewords pydantic's validation errors, which speak of Python types, for HTTP callers."""

import re
from collections.abc import Mapping
from typing import Any

OBJECT_EXPECTED = "a JSON object is expected"
ERRORS_MAX = 100  # that are reported of one body; more would take time to collect, and help nobody
# Pydantic's messages for these name Python classes and types.
_IN_WORDS_OF_JSON = {
    "dict_type": OBJECT_EXPECTED,
    "model_type": OBJECT_EXPECTED,
    "model_attributes_type": OBJECT_EXPECTED,
    "extra_forbidden": "unknown field",
}
_NAME = re.compile(r"\^\[(?P<signs>[^]^]+)\]\{(?P<least>\d+),(?P<most>\d+)\}\$")  # a pattern that words can describe


def invalid_detail(found: Mapping[str, Any]) -> str:
    """The message for a field, from one of the errors of a ``ValidationError``."""
    match found:
        case {"type": "string_pattern_mismatch", "ctx": {"pattern": str(pattern)}, "input": str(given)} if (
            name := _NAME.fullmatch(pattern)
        ):
            return _no_name(given, **name.groupdict())
        case _:
            return _IN_WORDS_OF_JSON.get(found["type"]) or str(found["msg"])


def too_many_errors(count: int) -> str | None:
    """The single message for more than ERRORS_MAX errors; None for fewer, which are reported one by one."""
    return f"{count} errors; they are listed only if there are at most {ERRORS_MAX}" if count > ERRORS_MAX else None


def _no_name(given: str, *, signs: str, least: str, most: str) -> str:
    fits = int(least) <= len(given) <= int(most)
    got = repr(re.sub(f"[{signs}]", "", given)[:1]) if fits else f"{len(given)} characters"
    return f"{least} to {most} characters of {signs} are expected, not {got}"
