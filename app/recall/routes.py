"""HTTP of recall (api.md)."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from app.kit.auth import Access, Guarded, Tenant, needs
from app.kit.bodies import Sent
from app.kit.problems import problem_responses
from app.recall.schemas import RecallIn, RecallOut, ResourceRecallIn, ToolsOut, recall_out, search_of
from app.recall.service import RecallService
from app.recall.tools import ToolFormat, ToolScope, tools
from app.sessions.schemas import Key, ResourceId

router = APIRouter(route_class=Guarded, tags=["recall"], responses=problem_responses(413, 422, 503))


def _service(request: Request) -> RecallService:
    service: RecallService = request.app.state.recall
    return service


@router.post("/sessions/{key}/recall", operation_id="recallSession", responses=problem_responses(404))
@needs(Access.READ)
async def recall_session(key: Key, body: Sent[RecallIn], tenant: Tenant, request: Request) -> RecallOut:
    """Find what was said in a session, and what was noted of it, however long ago."""
    return recall_out(await _service(request).session(tenant, key, search_of(body)))


@router.post("/resources/{resource_id}/recall", operation_id="recallResource")
@needs(Access.READ)
async def recall_resource(
    resource_id: ResourceId, body: Sent[ResourceRecallIn], tenant: Tenant, request: Request
) -> RecallOut:
    """Find what was said in any session of a resource. If it has none, nothing is found."""
    return recall_out(await _service(request).resource(tenant, resource_id, search_of(body)))


@router.get("/tools", operation_id="listTools")
async def list_tools(
    tool_format: Annotated[ToolFormat, Query(alias="format", description="Whose SDK they are handed to")] = "openai",
    scope: Annotated[
        ToolScope, Query(description="resource: of a session that shares its resource's memory")
    ] = "session",
) -> ToolsOut:
    """The tools that let an agent search its own past, for the `tools` of a call.

    `recall` is answered by `POST /sessions/{key}/recall`, or where the memory is shared by `POST
    /resources/{id}/recall`, and `expand` by `GET /sessions/{key}/messages`, both with the arguments as they are.
    """
    return ToolsOut(tools=tools(tool_format, scope))
