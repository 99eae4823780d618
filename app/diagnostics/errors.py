"""The errors of diagnostics."""

from app.kit.errors import Unavailable


class TooManyStreams(Unavailable):
    slug, title = "too-many-streams", "Too many event streams are open"
