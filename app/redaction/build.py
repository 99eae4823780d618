"""Builds the configured redaction at the start; the patterns are loaded only if a tenant needs them."""

from app.redaction.hook import load_hook
from app.redaction.model import Redaction
from app.redaction.patterns import pattern_redactor


def build_redaction(tenants: str, hook: str | None) -> Redaction:
    """The redaction for a comma-separated list of tenants: the patterns first, then the operator's own hook.

    Raises StartError if the hook cannot be used.
    """
    names = frozenset(filter(None, map(str.strip, tenants.split(","))))
    own = None if hook is None else load_hook(hook)
    if not names:
        return Redaction()
    patterns = pattern_redactor()
    return Redaction(tenants=names, redact=patterns if own is None else lambda text: own(patterns(text)))
