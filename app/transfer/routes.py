"""HTTP of exports (api.md)."""

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from app.kit.auth import Guarded, Tenant
from app.kit.problems import problem_responses
from app.sessions.schemas import ResourceId
from app.transfer.exporting import Exporting

NDJSON = "application/x-ndjson"

router = APIRouter(route_class=Guarded, tags=["sessions"], responses=problem_responses(422, 503))


@router.get(
    "/resources/{resource_id}/export",
    operation_id="exportResource",
    response_class=StreamingResponse,
    responses={200: {"content": {NDJSON: {"schema": {"type": "string"}}}, "description": "One JSON object a line"}},
)
async def export_resource(resource_id: ResourceId, tenant: Tenant, request: Request) -> StreamingResponse:
    """All that is kept of a resource, as JSON lines: a header, its sessions row by row, and an end with their number.

    It is one snapshot, with the bytes of artifacts in base64. Where there is nothing, so is it told.
    """
    exporting: Exporting = request.app.state.exporting
    return StreamingResponse(await exporting.resource(tenant, resource_id), media_type=NDJSON)
