"""Builds the configured redaction at the start; the patterns are loaded only if a tenant needs them."""

from collections.abc import Sequence

from app.redaction.hook import load_hook
from app.redaction.model import Redact, Redaction
from app.redaction.patterns import pattern_redactor


def build_redaction(tenants: str, hook: str | None) -> Redaction:
    """The redaction for a comma-separated list of tenants: the patterns first, then the operator's own hook.

    Raises StartError if the hook cannot be used.
    """
    names = frozenset(filter(None, map(str.strip, tenants.split(","))))
    own = () if hook is None else (load_hook(hook),)
    if not names:
        return Redaction()
    return Redaction(tenants=names, redact=_one_after_another((pattern_redactor(), *own)))


def _one_after_another(steps: Sequence[Redact]) -> Redact:
    def redact(text: str) -> str:
        for step in steps:
            text = step(text)
        return text

    return redact
