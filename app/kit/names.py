"""Validation of the names of sessions, resources, artifacts and messages, which stand in paths."""

from pydantic_core import PydanticCustomError

STEPS = frozenset({".", ".."})
COMPLAINT = "'.' and '..' are not allowed as a name or between slashes, because clients remove them from paths"


def has_a_step(name: str) -> bool:
    """Whether the name has a segment ``.`` or ``..``, which clients remove from a path (RFC 3986, 5.2.4)."""
    return "." in name and not STEPS.isdisjoint(name.split("/"))


def in_a_path(name: str) -> str:
    """A pydantic validator: the name, or an error if it has a dot segment."""
    if has_a_step(name):
        raise PydanticCustomError("name", COMPLAINT)
    return name


def in_a_path_with_more(name: str) -> str:
    """As ``in_a_path``, for a name to which ids append ``:<index>``."""
    in_a_path(f"{name}:")
    return name
