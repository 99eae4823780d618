"""The errors of exports and imports."""

from app.kit.errors import StartError, Unavailable


class TooManyExports(Unavailable):
    slug, title = "too-many-exports", "Too many exports are running"


class TransferError(StartError):
    """An export or import of the command line that cannot be done; the text says why."""


class ExportBrokenError(Exception):
    """An export broke off: nobody read it for too long, or the database or the object store went away."""
