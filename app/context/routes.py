"""HTTP of the compiled context (api.md, Context)."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request

from app.context.model import Compiled, Snapshot
from app.context.schemas import ContextIn, ContextOut, ContextQuery
from app.context.service import ContextService
from app.kit.auth import Tenant
from app.kit.problems import problem_responses
from app.sessions.schemas import Key

router = APIRouter(tags=["context"], responses=problem_responses(401, 422, 503))


def _service(request: Request) -> ContextService:
    service: ContextService = request.app.state.context
    return service


@router.get("/sessions/{key}/context", operation_id="getContext", response_model_exclude_none=False)
async def get_context(
    key: Key, tenant: Tenant, request: Request, query: Annotated[ContextQuery, Query()]
) -> ContextOut:
    """What the agent's next call should see. Never waits for a model; a session never seen is empty."""
    found = await _service(request).context(tenant=tenant, key=key, query=query, body=ContextIn())
    return _context_out(*found, query)


@router.post(
    "/sessions/{key}/context",
    operation_id="compileContext",
    responses=problem_responses(413),
)
async def post_context(
    key: Key,
    tenant: Tenant,
    request: Request,
    query: Annotated[ContextQuery, Query()],
    body: Annotated[ContextIn, Body()],
) -> ContextOut:
    """The same, with the caller's own system prompt, knowledge and messages around it."""
    found = await _service(request).context(tenant=tenant, key=key, query=query, body=body)
    return _context_out(*found, query)


def _context_out(snapshot: Snapshot, compiled: Compiled, query: ContextQuery) -> ContextOut:
    answer: dict[str, Any] = {
        "session": snapshot.key,
        "as_of_seq": snapshot.last_seq,
        "memory_version": snapshot.version,
        "format": query.format,
        "payload": compiled.payload,
        "tokens": compiled.tokens,
        "cache": compiled.cache,
        "omitted": compiled.omitted,
        "notices": compiled.notices,
        "segments": compiled.segments,
        "decisions": compiled.decisions,
    }
    return ContextOut.model_validate(answer, from_attributes=True)
