"""What a caller can do with the state that a session sees: read it, change it under a condition, lint templates."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias
from uuid import UUID

from app.kit.conditions import Conditions
from app.kit.db import Database
from app.kit.errors import json_pointer
from app.kit.offload import offloaded
from app.redaction.model import OFF, Redaction, redacted_object
from app.sessions.errors import SessionNotFound
from app.sessions.store import session_id
from app.state import store as state_store
from app.state.errors import NoResource, StateNotFound, StateTooLarge
from app.state.linting import Lint, lint
from app.state.model import Changes, Entry, State, StateConfig, check_growth, check_size
from app.state.reading import check_name, check_text, check_value
from app.state.schemas import LintIn
from app.state.store import StateStore
from app.state.templates import STORED, Scope, names_of

ArtifactRefusals: TypeAlias = Callable[[UUID, Sequence[str]], Awaitable[Mapping[str, str | None]]]
"""The names under which a session has an artifact, each with the reason why a context refuses it, or None."""


class StateService:
    def __init__(
        self,
        *,
        database: Database,
        store: StateStore,
        config: StateConfig,
        artifact_refusals: ArtifactRefusals,
        redaction: Redaction = OFF,
    ) -> None:
        self._database = database
        self._store = store
        self._config = config
        self._artifact_refusals = artifact_refusals
        self._redaction = redaction

    async def state(self, tenant: str, key: str) -> State:
        state = await self._store.state(tenant, key)
        if state is None:
            raise SessionNotFound(key)
        return state

    async def entry(self, tenant: str, key: str, name: str) -> Entry:
        check_name(name, "name")
        state = await self._store.entry(tenant, key, name)
        if state is None:
            raise SessionNotFound(key)
        if name not in state.entries:
            raise StateNotFound(f"session '{key}' has no value '{name}'")
        return state.entries[name]

    async def lint(self, tenant: str, asked: LintIn) -> Lint:
        """Lint templates, and if a session is named, look up its values. Raises TooLarge, SessionNotFound."""
        for name, given in (("template", asked.template), ("system", asked.system)):
            for index, text in enumerate(given):
                check_text(text, json_pointer(name, index), characters_max=self._config.template_characters_max)
        texts = [*asked.template, *asked.system]
        values, refused = await self._linted_values(tenant, asked.session, texts)
        work = partial(lint, texts, values, refused, findings_max=self._config.lint_findings_max)
        return await offloaded(work, size=sum(map(len, texts)))

    async def _linted_values(
        self, tenant: str, key: str | None, texts: Sequence[str]
    ) -> tuple[dict[str, Any] | None, dict[str, str]]:
        """The session's state, with an empty text for each artifact; and the artifacts that it refuses, and why."""
        if key is None:
            return None, {}
        values = (await self.state(tenant, key)).values
        of_artifacts = f"{{{Scope.ARTIFACT}."
        if not any(of_artifacts in text for text in texts):
            return values, {}
        used = await offloaded(lambda: names_of(texts)[Scope.ARTIFACT], size=sum(map(len, texts)))
        names = [name.partition(".")[2] for name in used]
        held = await self._artifact_refusals(session_id(tenant, key), names)
        there = {f"{Scope.ARTIFACT}.{name}": refusal for name, refusal in held.items()}
        refused = {name: refusal for name, refusal in there.items() if refusal is not None}
        return values | dict.fromkeys(there, ""), refused

    async def patch(self, *, tenant: str, key: str, values: Mapping[str, Any], expected: Conditions) -> State:
        """Set the names given, delete those given as null, all or none; answers the whole state."""
        most = len(STORED) * self._config.entries_max
        if len(values) > most:
            raise StateTooLarge(f"a request may set at most {most} values (DAYBOOK_STATE__ENTRIES_MAX per scope)")
        for name in values:
            check_name(name, json_pointer(name))
        await asyncio.to_thread(self._check, {json_pointer(name): value for name, value in values.items()})
        put = {name: value for name, value in (await self._redacted(tenant, values)).items() if value is not None}
        changes = Changes(put=put, deleted=values.keys() - put.keys())
        _, after = await self._change(tenant=tenant, key=key, changes=changes, expected=expected)
        return after

    async def put(self, *, tenant: str, key: str, name: str, value: Any, expected: Conditions) -> tuple[Entry, bool]:
        """Set one value, which may be null; answers it and whether it is new."""
        check_name(name, "name")
        await asyncio.to_thread(self._check, {"": value})
        changes = Changes(put=await self._redacted(tenant, {name: value}))
        before, after = await self._change(tenant=tenant, key=key, changes=changes, expected=expected, of=name)
        return after.entries[name], name not in before.entries

    async def delete(self, *, tenant: str, key: str, name: str, expected: Conditions) -> State:
        """Delete one value, if it is there; answers the state that is left."""
        check_name(name, "name")
        changes = Changes(deleted=frozenset({name}))
        _, after = await self._change(tenant=tenant, key=key, changes=changes, expected=expected, of=name)
        return after

    async def _change(
        self,
        *,
        tenant: str,
        key: str,
        changes: Changes,
        expected: Conditions,
        of: str | None = None,
    ) -> tuple[State, State]:
        """The state before and after. ``expected`` has to match the value named ``of``, else the whole state."""
        async with self._database.tx(of=session_id(tenant, key)) as tx:
            owners = await state_store.hold(tx, tenant, key)
            if owners is None:
                raise SessionNotFound(key)
            if changes.scopes - owners.keys():
                detail = f"session '{key}' has no resource: a resource_id can be set until its first message"
                raise NoResource(detail)
            locked = owners.keys() if expected.are_any and of is None else changes.scopes
            before = await state_store.locked(tx, tenant, key, {scope: owners[scope] for scope in locked})
            expected.check(before.etag if of is None else before.etag_of(of))
            check_growth(before, changes, self._config)
            put = await state_store.write(tx, tenant, owners, changes)
            return before, before.after(put, changes.deleted)

    async def _redacted(self, tenant: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
        redact = self._redaction.of(tenant)
        return values if redact is None else await asyncio.to_thread(redacted_object, values, redact)

    def _check(self, values: Mapping[str, Any]) -> None:
        """Check values, given by their JSON pointers. Raises Invalid, StateTooLarge."""
        for pointer, value in values.items():
            check_value(value, pointer)
            check_size(value, pointer, self._config)
