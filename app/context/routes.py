"""HTTP of the compiled context (api.md, Context)."""

from typing import Annotated

from fastapi import APIRouter, Body, Query, Request, Response

from app.context.answers import NOTHING, Answer
from app.context.schemas import ContextIn, ContextOut, ContextQuery, DiffOut, diff_out
from app.context.service import ContextService
from app.kit.auth import Access, Guarded, Tenant, needs, tenant_of
from app.kit.bodies import Sent
from app.kit.conditions import NOT_MODIFIED, has_etag
from app.kit.direct import JSON, body_of, query_of, usually
from app.kit.http import body_bytes
from app.kit.problems import problem_responses
from app.sessions.model import SEQ_MAX
from app.sessions.schemas import SESSION_KEY, Key

router = APIRouter(route_class=Guarded, tags=["context"], responses=problem_responses(404, 422, 503))


def _service(request: Request) -> ContextService:
    service: ContextService = request.app.state.context
    return service


async def _usual_get(request: Request) -> Response | None:
    key, query = request.path_params["key"], query_of(request, ContextQuery)
    if query is None or not SESSION_KEY.fullmatch(key):
        return None
    return await get_context(key, tenant_of(request), request, query)


async def _usual_post(request: Request) -> Response | None:
    key, query = request.path_params["key"], query_of(request, ContextQuery)
    if query is None or not SESSION_KEY.fullmatch(key):
        return None
    tenant, body = tenant_of(request), await body_of(request, ContextIn)
    return None if body is None else await post_context(key, tenant, request, query, body)


@router.get(
    "/sessions/{key}/context", operation_id="getContext", response_model=ContextOut, responses={304: NOT_MODIFIED}
)
@usually(_usual_get)
async def get_context(key: Key, tenant: Tenant, request: Request, query: Annotated[ContextQuery, Query()]) -> Response:
    """Compile the context for the agent's next call. Never waits for a model; an unknown session is empty."""
    found = await _service(request).context(tenant=tenant, key=key, query=query)
    return _answer(found, request)


@router.post(
    "/sessions/{key}/context",
    operation_id="compileContext",
    response_model=ContextOut,
    responses=problem_responses(413) | {304: NOT_MODIFIED},
)
@needs(Access.READ)
@usually(_usual_post)
async def post_context(
    key: Key,
    tenant: Tenant,
    request: Request,
    query: Annotated[ContextQuery, Query()],
    body: Annotated[Sent[ContextIn], Body()] = NOTHING,
) -> Response:
    """Compile the context with the caller's own system prompt, knowledge and messages. Same as GET without a body."""
    size = body_bytes(request.headers)
    found = await _service(request).context(tenant=tenant, key=key, query=query, body=body, body_bytes=size)
    return _answer(found, request)


@router.get("/sessions/{key}/context/diff", operation_id="diffContexts")
async def get_diff(
    key: Key,
    tenant: Tenant,
    request: Request,
    from_version: Annotated[
        int | None, Query(ge=0, le=SEQ_MAX, description="Earlier version; default: the one before `to_version`")
    ] = None,
    to_version: Annotated[int | None, Query(ge=0, le=SEQ_MAX, description="Later version; default: the newest")] = None,
) -> DiffOut:
    """List what entered and left the context between two versions of the log, regardless of budgets."""
    found = await _service(request).diff(tenant=tenant, key=key, since=from_version, until=to_version)
    return diff_out(found, key)


def _answer(found: Answer, request: Request) -> Response:
    headers = {"ETag": found.etag, "Cache-Control": "private, no-cache"}
    if has_etag(request.headers.get("if-none-match"), found.etag):
        return Response(status_code=304, headers=headers)
    return Response(found.body, headers=headers, media_type=JSON)
