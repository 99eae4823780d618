"""HTTP of the state and of templates (api.md, Sessions, state)."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Request, Response

from app.kit.auth import Access, Guarded, Tenant, needs
from app.kit.bodies import Sent
from app.kit.conditions import NOT_MODIFIED, Conditions, Expected, has_etag
from app.kit.direct import JSON
from app.kit.errors import Invalid
from app.kit.json import dumps
from app.kit.problems import problem_responses
from app.sessions.schemas import Key
from app.state.schemas import (
    ETAG,
    FindingOut,
    JsonBody,
    LintIn,
    LintOut,
    PlaceOut,
    StateName,
    Values,
)
from app.state.service import StateService

router = APIRouter(route_class=Guarded, tags=["state"], responses=problem_responses(404, 422, 503))

STATE_PATH = "/sessions/{key}/state"
READ = problem_responses(412) | {200: ETAG, 304: NOT_MODIFIED}
CHANGE = problem_responses(409, 412, 413) | {200: ETAG}


def _service(request: Request) -> StateService:
    service: StateService = request.app.state.values
    return service


@router.get(STATE_PATH, operation_id="getState", response_model=Values, responses=READ)
async def get_state(key: Key, tenant: Tenant, request: Request) -> Response:
    """Get all values that a session sees: its own, its resource's (`user:`) and its tenant's (`app:`)."""
    state = await _service(request).state(tenant, key)
    return _seen(request, state.values, state.etag)


@router.patch(STATE_PATH, operation_id="patchState", response_model=Values, responses=CHANGE)
async def patch_state(key: Key, body: Values, tenant: Tenant, expected: Expected, request: Request) -> Response:
    """Set the given values and delete those given as null: all of them or none."""
    state = await _service(request).patch(tenant=tenant, key=key, values=body, expected=expected)
    return _answer(state.values, state.etag)


@router.get(STATE_PATH + "/{name}", operation_id="getStateValue", response_model=Any, responses=READ)
async def get_value(key: Key, name: StateName, tenant: Tenant, request: Request) -> Response:
    """Get one value."""
    entry = await _service(request).entry(tenant, key, name)
    return _seen(request, entry.value, entry.etag)


@router.put(
    STATE_PATH + "/{name}",
    operation_id="putStateValue",
    response_model=Any,
    responses=CHANGE | {201: {"description": "Created", "model": Any} | ETAG},
)
async def put_value(
    key: Key,
    name: StateName,
    body: Annotated[JsonBody, Body()],
    tenant: Tenant,
    expected: Expected,
    request: Request,
) -> Response:
    """Set one value to the JSON in the request body."""
    entry, created = await _service(request).put(tenant=tenant, key=key, name=name, value=body, expected=expected)
    return _answer(entry.value, entry.etag, status=201 if created else 200)


@router.delete(STATE_PATH + "/{name}", operation_id="deleteStateValue", response_model=Values, responses=CHANGE)
async def delete_value(key: Key, name: StateName, tenant: Tenant, expected: Expected, request: Request) -> Response:
    """Delete one value and return the remaining state. Succeeds if there is no such value."""
    state = await _service(request).delete(tenant=tenant, key=key, name=name, expected=expected)
    return _answer(state.values, state.etag)


@router.post("/templates/lint", operation_id="lintTemplate", responses=problem_responses(413))
@needs(Access.READ)
async def lint_template(body: Sent[LintIn], tenant: Tenant, request: Request) -> LintOut:
    """Check a template: problems, names used, and the place from which values make the cached prefix change."""
    if not body.template and not body.system:
        raise Invalid.at("/template", "send a template or a system to check")
    found = await _service(request).lint(tenant, body)
    return LintOut(
        names={scope: list(names) for scope, names in found.names.items()},
        volatile_from=found.volatile_from and PlaceOut(text=found.volatile_from[0], position=found.volatile_from[1]),
        findings=[FindingOut.model_validate(finding, from_attributes=True) for finding in found.findings],
        omitted=found.omitted,
    )


def _seen(request: Request, value: Any, etag: str) -> Response:
    """The value, or that the caller has it. Raises PreconditionFailed."""
    Conditions(if_match=request.headers.get("if-match")).check(etag)
    if has_etag(request.headers.get("if-none-match"), etag):
        return Response(status_code=304, headers={"ETag": etag})
    return _answer(value, etag)


def _answer(value: Any, etag: str, *, status: int = 200) -> Response:
    """The value as it is stored, key for key."""
    return Response(dumps(value), status_code=status, media_type=JSON, headers={"ETag": etag})
