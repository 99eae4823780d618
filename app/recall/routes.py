"""HTTP of recall (api.md)."""

from fastapi import APIRouter, Request

from app.kit.auth import Access, Guarded, Tenant, needs
from app.kit.problems import problem_responses
from app.recall.schemas import RecallIn, RecallOut, ResourceRecallIn, ask_of, recall_out
from app.recall.service import RecallService
from app.sessions.schemas import Key, ResourceId

router = APIRouter(route_class=Guarded, tags=["recall"], responses=problem_responses(413, 422, 503))


def _service(request: Request) -> RecallService:
    service: RecallService = request.app.state.recall
    return service


@router.post("/sessions/{key}/recall", operation_id="recallSession", responses=problem_responses(404))
@needs(Access.READ)
async def recall_session(key: Key, body: RecallIn, tenant: Tenant, request: Request) -> RecallOut:
    """Find what was said in a session, and what was noted of it, however long ago."""
    return recall_out(await _service(request).session(tenant, key, ask_of(body)))


@router.post("/resources/{resource_id}/recall", operation_id="recallResource")
@needs(Access.READ)
async def recall_resource(
    resource_id: ResourceId, body: ResourceRecallIn, tenant: Tenant, request: Request
) -> RecallOut:
    """Find what was said in any session of a resource. Where there is none, nothing is found."""
    return recall_out(await _service(request).resource(tenant, resource_id, ask_of(body)))
