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
    """Search a session's messages and notes, and its resource's facts, however old."""
    return recall_out(await _service(request).session(tenant, key, search_of(body)))


@router.post("/resources/{resource_id}/recall", operation_id="recallResource")
@needs(Access.READ)
async def recall_resource(
    resource_id: ResourceId, body: Sent[ResourceRecallIn], tenant: Tenant, request: Request
) -> RecallOut:
    """Search the messages and notes of all sessions of a resource, and its facts."""
    return recall_out(await _service(request).resource(tenant, resource_id, search_of(body)))


@router.get("/tools", operation_id="listTools")
async def list_tools(
    tool_format: Annotated[
        ToolFormat, Query(alias="format", description="SDK whose tool shape is returned")
    ] = "openai",
    scope: Annotated[
        ToolScope,
        Query(description="session: for a session with its own memory; resource: for one that shares its resource's"),
    ] = "session",
) -> ToolsOut:
    """List the tool definitions with which an agent can search its own past, for the `tools` of a model call.

    Answer a call of `recall` by `POST /sessions/{key}/recall` (by `POST /resources/{id}/recall` if the memory is
    shared), and a call of `expand` by `GET /sessions/{key}/messages`, both with the arguments unchanged.
    """
    return ToolsOut(tools=tools(tool_format, scope))
