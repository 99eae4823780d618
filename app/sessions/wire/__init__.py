"""Normalises messages in the shapes of the providers' SDKs to neutral parts. Pure: values in, values out."""

from app.sessions.wire.derived import content_hash, default_trust, observable
from app.sessions.wire.fields import WireError
from app.sessions.wire.message import Normalised, normalise
from app.sessions.wire.storable import first_flaw

__all__ = [
    "Normalised",
    "WireError",
    "content_hash",
    "default_trust",
    "first_flaw",
    "normalise",
    "observable",
]
