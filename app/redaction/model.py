"""Redaction of texts and JSON before they are stored or sent to a model, by tenant. Pure."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from app.kit.patterns import lazy_pattern

Redact: TypeAlias = Callable[[str], str]
"""Answers a text without its secrets: deterministic, and idempotent."""

EVERY_TENANT = "*"
MARK = lazy_pattern(r"\[redacted: [a-z0-9-]+\]")

# A value under such a key is redacted together with it: "password": "..." tells what the value alone does not.
NAMES_OF_SECRETS = (
    "passw(?:or)?d|passphrase|pwd|secret|credentials?|"
    "(?:api|access|account|auth|client|encryption|master|private|secret|signing)[_-]?key|"
    "(?:access|api|auth|bot|client|id|private|refresh|secret|session)[_-]?token"
)
_SECRET_KEY = lazy_pattern(rf".*(?:{NAMES_OF_SECRETS}|authorization)", re.IGNORECASE | re.DOTALL)
_NAMING = ("name", "key")  # of an entry such as {"name": "DB_PASSWORD", "value": "..."}


def mark(kind: str) -> str:
    """The text that replaces a secret."""
    return f"[redacted: {kind}]"


def redacted_json(value: Any, redact: Redact) -> Any:
    """The value with every string in it redacted; structure, keys, numbers and order stay."""
    match value:
        case str():
            return redact(value)
        case list():
            return [redacted_json(item, redact) for item in value]
        case dict():
            return redacted_object(value, redact)
        case _:
            return value


def redacted_object(value: Mapping[str, Any], redact: Redact) -> dict[str, Any]:
    named = next((value[key] for key in _NAMING if isinstance(value.get(key), str)), "value")
    return {key: _redacted_field(named if key == "value" else key, item, redact) for key, item in value.items()}


def _redacted_field(key: str, value: Any, redact: Redact) -> Any:
    """A redacted value of an object. Strings under a key that names a secret are redacted as ``key: value``."""
    if isinstance(value, list):
        return [_redacted_field(key, item, redact) for item in value]
    if not isinstance(value, str) or not _SECRET_KEY.fullmatch(key):
        return redacted_json(value, redact)
    assignment = f"{key}: "
    named = redact(assignment + value)
    return redact(named.removeprefix(assignment) if named.startswith(assignment) else value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """The tenants whose texts are redacted, and how. Without tenants nothing is redacted, and nothing loaded for it."""

    tenants: Collection[str] = ()
    redact: Redact | None = None

    def of(self, tenant: str) -> Redact | None:
        """The redaction of this tenant's texts; None: they are kept as they are."""
        return self.redact if tenant in self.tenants or EVERY_TENANT in self.tenants else None


OFF = Redaction()
