"""Lints templates before they are used: names without a value, stray braces, values in the cached prefix. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import itemgetter
from typing import Any

from app.state.templates import Placeholder, Scope, Template, read, value_at


class Severity(StrEnum):
    ERROR = "error"  # a context with this template would be refused
    WARNING = "warning"
    INFO = "info"


class Code(StrEnum):
    UNKNOWN_NAME = "unknown-name"
    REFUSED_ARTIFACT = "refused-artifact"
    UNBALANCED_BRACE = "unbalanced-brace"
    CACHED_VALUE = "cached-value"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """``text`` is the index of the text, ``position`` the character in it."""

    severity: Severity
    code: Code
    message: str
    text: int
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lint:
    """``names`` by scope, each once. ``volatile_from``: the text and position from which on the prefix can change."""

    names: Mapping[Scope, Sequence[str]]
    volatile_from: tuple[int, int] | None
    findings: tuple[Finding, ...]
    omitted: int


def lint(
    texts: Sequence[str], values: Mapping[str, Any] | None, refused: Mapping[str, str], *, findings_max: int
) -> Lint:
    """Lint texts. ``values``: the state and artifacts in which stored names are looked up; None: they are not.

    ``refused``: the names of artifacts that exist and cannot be inserted, each with the reason. Findings are the first
    ``findings_max`` in their order; ``omitted`` counts the others.
    """
    used: set[tuple[Scope, str]] = set()
    volatile_from: tuple[int, int] | None = None
    told: list[Finding] = []
    count = 0
    for index, text in enumerate(texts):  # one at a time: a parsed text takes many times its size
        template = read(text)
        for place in template.placeholders:
            used.add((place.scope, place.name))
            volatile_from = volatile_from or (index, place.position)
        found = sorted(_found(template, values, refused), key=itemgetter(0))
        count += len(found)
        told += (_finding(index, *one, refused) for one in found[: findings_max - len(told)])
        del template, found  # before the next is parsed
    return Lint(
        names={scope: sorted(name for its, name in used if its is scope) for scope in Scope},
        volatile_from=volatile_from,
        findings=tuple(told),
        omitted=count - len(told),
    )


def _found(
    template: Template, values: Mapping[str, Any] | None, refused: Mapping[str, str]
) -> Iterator[tuple[int, Code, Placeholder | None]]:
    """The findings with their positions, as tuples: there may be a million that are only counted."""
    for position in template.unpaired:
        yield position, Code.UNBALANCED_BRACE, None
    for place in template.placeholders:
        if values is not None and place.scope is not Scope.TEMP and value_at(values, place) is None:
            yield place.position, Code.UNKNOWN_NAME, place
        if place.name in refused:
            yield place.position, Code.REFUSED_ARTIFACT, place
        yield place.position, Code.CACHED_VALUE, place


def _finding(index: int, position: int, code: Code, place: Placeholder | None, refused: Mapping[str, str]) -> Finding:
    severity, message = _told(code, place, refused)
    return Finding(severity=severity, code=code, message=message, text=index, position=position)


def _told(code: Code, place: Placeholder | None, refused: Mapping[str, str]) -> tuple[Severity, str]:
    if place is None:
        return Severity.WARNING, "this brace has no pair and stays as it is"
    match code:
        case Code.UNKNOWN_NAME if place.default is None:
            return Severity.ERROR, f"'{place.wanted}' has no value"
        case Code.UNKNOWN_NAME:  # it may be missing, and is still worth a look
            return Severity.INFO, f"'{place.wanted}' has no value, so it will be '{place.default}'"
        case Code.REFUSED_ARTIFACT:  # an error also where it may be missing: it is there
            return Severity.ERROR, refused[place.name]
        case _:
            comes = "comes with each request" if place.scope is Scope.TEMP else "is stored"
            return Severity.WARNING, (
                f"the value of '{place.name}' {comes} and is part of the cached prefix here:"
                " each change of it breaks the provider's cache from here on"
            )
