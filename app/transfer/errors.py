"""What can go wrong with an export or an import."""

from app.kit.errors import StartError, Unavailable


class TooManyExports(Unavailable):
    slug, title = "too-many-exports", "Too many exports are running"


class TransferError(StartError):
    """An export or import of the command line that cannot be; the text says why."""


class ExportBrokenError(Exception):
    """An export that has begun ends: nobody read it for too long, or the database or the object store went away."""
