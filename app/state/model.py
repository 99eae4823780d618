"""The values of state: entries, a session's state, the changes of a request, and limits (api.md, Sessions, state)."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from app.kit.errors import FieldError
from app.kit.json import dumps
from app.state.errors import StateTooLarge
from app.state.templates import Scope, scope_of


@dataclass(frozen=True, slots=True, kw_only=True)
class StateConfig:
    """Limits: bytes of one value as JSON; for each scope of one owner the number of values and their bytes together.

    ``lint_findings_max``: told of templates. ``template_characters_max``: of a template, and of its text with values.
    """

    value_bytes_max: int = 64 * 1024
    entries_max: int = 1_000
    scope_bytes_max: int = 1024 * 1024
    lint_findings_max: int = 1_000
    template_characters_max: int = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One value. ``name`` has the prefix of its scope; ``size`` is in bytes of JSON."""

    name: str
    value: Any
    version: int
    size: int

    @property
    def etag(self) -> str:
        return f'"{self.version}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """All that one session sees, by name: its own values, its resource's and its tenant's."""

    entries: Mapping[str, Entry]

    @property
    def values(self) -> dict[str, Any]:
        return {name: entry.value for name, entry in self.entries.items()}

    @property
    def etag(self) -> str:
        versions = sorted((name, entry.version) for name, entry in self.entries.items())
        return f'"{sha256(dumps(versions)).hexdigest()[:32]}"'

    def etag_of(self, name: str) -> str | None:
        return self.entries[name].etag if name in self.entries else None

    def after(self, put: Mapping[str, Entry], deleted: AbstractSet[str]) -> "State":
        kept = {name: entry for name, entry in self.entries.items() if name not in deleted}
        return State(entries={**kept, **put})


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What a request puts and deletes, by name."""

    put: Mapping[str, Any] = field(default_factory=dict)
    deleted: AbstractSet[str] = frozenset()

    @property
    def scopes(self) -> set[Scope]:
        return {scope_of(name) for name in (*self.put, *self.deleted)}


def check_growth(state: State, changes: Changes, config: StateConfig) -> None:
    """Raises StateTooLarge for a scope that would be over a limit and larger than it is: it can always shrink."""
    kept = {name: entry.size for name, entry in state.entries.items() if name not in changes.deleted}
    after = kept | {name: len(dumps(value)) for name, value in changes.put.items()}
    before = {name: entry.size for name, entry in state.entries.items()}
    for scope in sorted(changes.scopes):
        was, becomes = _sizes(before, scope), _sizes(after, scope)
        if len(becomes) > max(config.entries_max, len(was)):
            raise _too_large(scope, f"{config.entries_max} values (DAYBOOK_STATE__ENTRIES_MAX)")
        if sum(becomes) > max(config.scope_bytes_max, sum(was)):
            raise _too_large(scope, f"{config.scope_bytes_max} bytes (DAYBOOK_STATE__SCOPE_BYTES_MAX)")


def check_size(value: Any, pointer: str, config: StateConfig) -> None:
    """Raises StateTooLarge."""
    if len(dumps(value)) > config.value_bytes_max:
        detail = f"a value may have at most {config.value_bytes_max} bytes (DAYBOOK_STATE__VALUE_BYTES_MAX)"
        raise StateTooLarge.naming(FieldError(pointer, detail))


def _sizes(sizes: Mapping[str, int], scope: Scope) -> list[int]:
    return [size for name, size in sizes.items() if scope_of(name) is scope]


def _too_large(scope: Scope, limit: str) -> StateTooLarge:
    return StateTooLarge(f"the state of one {_OWNERS[scope]} may have at most {limit}")


_OWNERS = {Scope.SESSION: "session", Scope.USER: "resource", Scope.APP: "tenant"}
