"""Generates .env.example and docs/settings.md from the definitions of the settings (`make env`)."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from app.memory.rules import COMMON, PRESETS
from app.settings import PREFIX, settings_by_group

Setting = tuple[str, FieldInfo]

EXAMPLE_HEAD = """\
# Every setting of Daybook with its default, written by `make env`. Copy it to .env, take the # from what you change,
# put a value with a blank or a sign of the shell, such as " & ; $ #, into '...', and load it into the service's
# environment: `set -a; . ./.env; set +a`, or env_file in a compose file.

# The providers' own variables, read by their SDKs: a key, and where it is not the provider's own an address.
#ANTHROPIC_API_KEY=
#ANTHROPIC_BASE_URL=
#OPENAI_API_KEY=
#OPENAI_BASE_URL=
"""

PAGE_HEAD = """\
# Settings

Written by `make env` from the code: every setting, its default and what it may be. All are environment variables; an
empty one counts as not set. A misspelt or wrong setting stops the start with one line that names it.

The models' keys and addresses are those of the providers' own SDKs: `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL`,
`OPENAI_API_KEY`, `OPENAI_BASE_URL`. Blanks and newlines around them are no part of them.
"""

# The texts of a field's constraints.
BOUNDS = {
    "ge": "at least {:,}",
    "gt": "over {:,}",
    "le": "at most {:,}",
    "lt": "under {:,}",
    "min_length": "{:,} characters or more",
    "max_length": "{:,} characters or fewer",
}


def env_example() -> str:
    """The text of .env.example: every setting with its default and its description, commented out."""
    return "\n".join([EXAMPLE_HEAD, *(_example(head, settings) for head, settings in settings_by_group())])


def settings_page() -> str:
    """The text of docs/settings.md: a table for each group, and one of the presets."""
    tables = [_table(head, settings) for head, settings in settings_by_group()]
    return "\n".join([PAGE_HEAD, *tables, _preset_table()])


def _example(head: str, settings: Sequence[Setting]) -> str:
    lines = [f"# {field.description}\n#{name}={_default(name, field)}\n" for name, field in settings]
    return "".join([f"# {head}\n\n" if head else "", *lines])


def _table(head: str, settings: Sequence[Setting]) -> str:
    rows = (
        (f"`{name}`", _quoted(_default(name, field)), _allowed(field), str(field.description))
        for name, field in settings
    )
    group = settings[0][0].removeprefix(PREFIX).rpartition("__")[0]
    title = f"## {group.capitalize()}\n\n{head}" if group else "## The service"
    return f"{title}\n\n{_rows(('setting', 'default', 'may be', ''), rows)}"


def _preset_table() -> str:
    keys = PRESETS["default"]
    rows = ((f"`{key}`", *(_quoted(_written(preset[key])) or "off" for preset in PRESETS.values())) for key in keys)
    head = "What a preset sets, for the service (`DAYBOOK_MEMORY__PRESET`) or one session (`preset` of its config)."
    return f"## Presets\n\n{head}\n\n{_rows(('key', *PRESETS), rows)}"


def _rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (head, ["---"] * len(head), *rows)
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def _quoted(value: str) -> str:
    return f"`{value}`" if value else ""


def _allowed(field: FieldInfo) -> str:
    """The values of a closed set, or the bounds of a number or of a text's length; "" if any value is allowed."""
    words = [word for kind in _kinds(field.annotation) for word in _words(kind)]
    if words:
        return ", ".join(f"`{word}`" for word in words)
    found = {name: getattr(bound, name) for bound in field.metadata for name in BOUNDS if hasattr(bound, name)}
    if {"ge", "le"} <= found.keys():
        return f"{found['ge']:,} to {found['le']:,}"
    return ", ".join(BOUNDS[name].format(value) for name, value in found.items())


def _words(kind: Any) -> tuple[str, ...]:
    if get_origin(kind) is Literal:
        return get_args(kind)
    if kind is bool:
        return ("true", "false")
    return tuple(kind) if isinstance(kind, type) and issubclass(kind, StrEnum) else ()


def _kinds(annotation: Any) -> tuple[Any, ...]:
    """The type and its arguments, which for a union are its members."""
    return (annotation,) if get_origin(annotation) is Literal else (annotation, *get_args(annotation))


def _default(name: str, field: FieldInfo) -> str:
    """A default as written in the environment, "" for none. Those of the memory come from its rules."""
    rule = name.removeprefix(f"{PREFIX}MEMORY__").lower()
    return _written(({"preset": "default"} | COMMON | PRESETS["default"]).get(rule, field.default))


def _written(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case _:
            return str(value)
