"""Checks names and values of requests; an error has the JSON pointer of what is wrong. Pure."""

from collections.abc import Mapping
from typing import Any

from app.kit.errors import Invalid, TooLarge, json_pointer
from app.kit.patterns import lazy_pattern
from app.sessions.wire import first_flaw
from app.state.templates import NAME_PATTERN, Scope, scope_of

NAMES = "a name is 1-100 of A-Z a-z 0-9 _, not starting with a digit, perhaps after 'user:' or 'app:'"
STORED_TEMP = "a 'temp:' value is not stored: send it in `state` of the context request"
NOT_TEMP = "only 'temp:' values, such as 'temp:page', may be sent here; store others in the session's state"

TEXT_SETTING = "DAYBOOK_STATE__TEMPLATE_CHARACTERS_MAX"
_NAME = lazy_pattern(NAME_PATTERN)


def check_name(name: str, pointer: str) -> None:
    """Raises Invalid for what cannot be the name of a stored value."""
    if not _NAME.fullmatch(name):
        raise Invalid.at(pointer, NAMES)
    if scope_of(name) is Scope.TEMP:
        raise Invalid.at(pointer, STORED_TEMP)


def check_value(value: Any, pointer: str) -> None:
    """Raises Invalid."""
    if flaw := first_flaw(value):
        raise Invalid.at(pointer + flaw.pointer, flaw.detail)


def check_temp(values: Mapping[str, Any]) -> None:
    """The values of one request, in its body's ``state``. Raises Invalid."""
    for name, value in values.items():
        pointer = json_pointer("state", name)
        if not _NAME.fullmatch(name) or scope_of(name) is not Scope.TEMP:
            raise Invalid.at(pointer, NOT_TEMP)
        check_value(value, pointer)


def check_text(text: str, pointer: str, *, characters_max: int) -> None:
    """A template, or a text beside templates. Raises TooLarge."""
    if len(text) > characters_max:
        raise TooLarge.at(pointer, f"it may have at most {characters_max} characters ({TEXT_SETTING})")
