"""The names of sessions, resources, artifacts and messages, which stand in paths (api.md, first section)."""

from pydantic_core import PydanticCustomError

KEY = r"[A-Za-z0-9._:@~=+-]{1,200}"  # of a session, a resource, an artifact or a tenant
MESSAGE_ID = r"[A-Za-z0-9._:@~=+/-]{1,200}"
DOT_SEGMENTS = frozenset({".", ".."})
REFUSAL = "'.' and '..' are not allowed as a name or between slashes, because clients remove them from paths"


def has_dot_segment(name: str) -> bool:
    """Whether the name has a segment ``.`` or ``..``, which clients remove from a path (RFC 3986, 5.2.4)."""
    return "." in name and not DOT_SEGMENTS.isdisjoint(name.split("/"))


def hides_slash(path: bytes, template: str) -> bool:
    """Whether a slash of a route is written ``%2F`` in the raw path of a request.

    A client that escapes a name wants it to be one segment: with a key of others' choice it would reach another route,
    and delete a message where a session was meant. Only a last parameter of the kind ``path`` may have slashes.
    """
    if b"%2" not in path:
        return False
    steps = template.count("/")
    segments = path.lower().split(b"/", steps)
    if template.endswith(":path}") and len(segments) > steps:
        segments.pop()
    return any(b"%2f" in segment for segment in segments)


def no_dot_segment(name: str) -> str:
    """A pydantic validator: the name, or an error if it has a dot segment."""
    if has_dot_segment(name):
        raise PydanticCustomError("name", REFUSAL)
    return name


def no_dot_segment_before_index(name: str) -> str:
    """As ``no_dot_segment``, for a name to which ids append ``:<index>``."""
    no_dot_segment(f"{name}:")
    return name
