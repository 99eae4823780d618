"""What is to be said of a template before it is used: names without a value, stray braces, what it costs. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.state.templates import STORED, Placeholder, Scope, Template, names_of, read, value_at


class Severity(StrEnum):
    ERROR = "error"  # a context with this template would be refused
    WARNING = "warning"
    INFO = "info"


class Code(StrEnum):
    UNKNOWN_NAME = "unknown-name"
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
    """``names`` by scope, each once. From ``volatile_from``, a text and a position, on the prefix can change."""

    names: Mapping[Scope, Sequence[str]]
    volatile_from: tuple[int, int] | None
    findings: tuple[Finding, ...]
    omitted: int


def lint(texts: Sequence[str], values: Mapping[str, Any] | None, *, findings_max: int) -> Lint:
    """``values`` are the state that stored names are looked for in; None: they are not.

    Findings are the first ``findings_max`` in their order; ``omitted`` counts the others.
    """
    templates = [read(text) for text in texts]
    findings = [finding for index, template in enumerate(templates) for finding in _findings(index, template, values)]
    findings.sort(key=lambda finding: (finding.text, finding.position))
    used = [(index, place) for index, template in enumerate(templates) for place in template.placeholders]
    return Lint(
        names=names_of(templates),
        volatile_from=next(((index, place.position) for index, place in used), None),
        findings=tuple(findings[:findings_max]),
        omitted=max(len(findings) - findings_max, 0),
    )


def _findings(index: int, template: Template, values: Mapping[str, Any] | None) -> Iterator[Finding]:
    for position in template.unpaired:
        yield Finding(
            severity=Severity.WARNING,
            code=Code.UNBALANCED_BRACE,
            message="this brace has no pair and stays as it is",
            text=index,
            position=position,
        )
    for place in template.placeholders:
        if values is not None and place.scope in STORED and value_at(values, place) is None:
            yield _unknown(index, place)
        yield _cached(index, place)


def _unknown(index: int, place: Placeholder) -> Finding:
    """An error where it is required; where it may be missing it is still worth a look."""
    required = place.default is None
    return Finding(
        severity=Severity.ERROR if required else Severity.INFO,
        code=Code.UNKNOWN_NAME,
        message=f"'{place.wanted}' has no value" + ("" if required else f", so it will be '{place.default}'"),
        text=index,
        position=place.position,
    )


def _cached(index: int, place: Placeholder) -> Finding:
    comes = "comes with each request" if place.scope is Scope.TEMP else "is stored"
    return Finding(
        severity=Severity.WARNING,
        code=Code.CACHED_VALUE,
        message=f"the value of '{place.name}' {comes} and is part of the cached prefix here:"
        " each change of it breaks the provider's cache from here on",
        text=index,
        position=place.position,
    )
