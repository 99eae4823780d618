"""What a caller may not call a session, a resource, an artifact or a message."""

from pydantic_core import PydanticCustomError

STEPS = frozenset({".", ".."})
COMPLAINT = "clients take '.' and '..' out of a path, so nothing is called so"


def has_a_step(name: str) -> bool:
    """Whether a path with this name in it is another one to a client (RFC 3986, 5.2.4): of `..`, the place above."""
    return "." in name and not STEPS.isdisjoint(name.split("/"))


def in_a_path(name: str) -> str:
    """The name, for pydantic to check."""
    if has_a_step(name):
        raise PydanticCustomError("name", COMPLAINT)
    return name


def in_a_path_with_more(name: str) -> str:
    """The name, of which ``:<index>`` follows in the ids that are made of it."""
    in_a_path(f"{name}:")
    return name
