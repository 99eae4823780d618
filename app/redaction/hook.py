"""Loads an operator's own redaction, a function of text, and tries it at the start (DAYBOOK_REDACTION__HOOK)."""

from importlib import import_module
from typing import Any

from app.kit.errors import StartError, Unavailable
from app.kit.json import storable
from app.redaction.model import Redact

NAME = "DAYBOOK_REDACTION__HOOK"


class RedactionFailed(Unavailable):
    """A text could not be redacted, and so is neither stored nor sent."""

    slug, title = "redaction-failed", "The text could not be redacted"


def load_hook(path: str) -> Redact:
    """The function at ``package.module:function``, guarded. Raises StartError in one line for the operator."""
    module, colon, name = path.partition(":")
    if not (module and colon and name):
        raise StartError(f"{NAME}: '{path}' is not of the form package.module:function")
    try:
        hook = getattr(import_module(module), name)
    except Exception as error:
        raise StartError(f"{NAME}: '{path}' cannot be loaded: {type(error).__name__}: {error}") from error
    if not callable(hook):
        raise StartError(f"{NAME}: '{path}' is not a function")
    try:
        guarded(hook)("a text")
    except RedactionFailed as error:
        raise StartError(f"{NAME}: '{path}' does not return a text for a text: {error}") from error
    return guarded(hook)


def guarded(hook: Any) -> Redact:
    """The hook with every failure as RedactionFailed. The text of its error is withheld: it may quote the text."""

    def redact(text: str) -> str:
        try:
            answer = hook(text)
        except Exception as error:  # noqa: BLE001 - the hook is not ours; its failure is a refusal, which is told
            raise RedactionFailed(f"the redaction hook failed with {type(error).__name__}") from None
        if not isinstance(answer, str) or storable(answer) != answer:
            raise RedactionFailed(f"the redaction hook returned a {type(answer).__name__} that cannot be stored")
        return answer

    return redact
