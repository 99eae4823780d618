"""What of all messages is searched: terms that every message carries beside its own. Pure."""

from hashlib import blake2b
from uuid import UUID


def session_term(session: UUID) -> str:
    """A space is in no word."""
    return f" s{session.hex}"


def resource_term(tenant: str, resource_id: str) -> str:
    return f" r{blake2b(f'{tenant}/{resource_id}'.encode(), digest_size=16).hexdigest()}"


def quoted(term: str) -> str:
    """A term as tsquery reads it."""
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"
