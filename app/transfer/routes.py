"""HTTP of exports (api.md)."""

from collections.abc import AsyncGenerator, AsyncIterator

import structlog
from anyio import CancelScope
from anyio.lowlevel import checkpoint_if_cancelled
from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from starlette.types import Send

from app.kit.auth import Guarded, Tenant, sharer_of
from app.kit.problems import problem_responses
from app.sessions.schemas import ResourceId
from app.transfer.errors import ExportBrokenError
from app.transfer.exporting import Exporting

log = structlog.get_logger("daybook.transfer")

NDJSON = "application/x-ndjson"


class ExportResponse(StreamingResponse):
    """Ends the export if its caller disconnects; else its connection would return to the pool in a transaction."""

    def __init__(self, lines: AsyncGenerator[bytes, None]) -> None:
        super().__init__(_to_their_end(lines), media_type=NDJSON)
        self._lines = lines

    async def stream_response(self, send: Send) -> None:
        """A broken export is logged and left without its end line; the server then closes the connection."""
        try:
            await self._streamed(send)
        except ExportBrokenError as error:
            log.warning("export_broken", error=str(error))

    async def _streamed(self, send: Send) -> None:
        try:
            await super().stream_response(send)
        finally:
            with CancelScope(shield=True):
                await self._lines.aclose()


async def _to_their_end(lines: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
    """The lines. Reading one is never cancelled half-way, after which the connection could not be returned in order.

    It is cancelled between two: to a caller that has disconnected, the server sends without a checkpoint.
    """
    while True:
        with CancelScope(shield=True):
            line = await anext(lines, None)
        if line is None:
            return
        await checkpoint_if_cancelled()
        yield line


router = APIRouter(route_class=Guarded, tags=["sessions"], responses=problem_responses(422, 503))


@router.get(
    "/resources/{resource_id}/export",
    operation_id="exportResource",
    response_class=StreamingResponse,
    responses={200: {"content": {NDJSON: {"schema": {"type": "string"}}}, "description": "One JSON object per line"}},
)
async def export_resource(resource_id: ResourceId, tenant: Tenant, request: Request) -> StreamingResponse:
    """Export a resource as JSON lines: a header, the rows of its sessions, and an end line with their number.

    The export is one snapshot, with artifact bytes in base64. Without any data it is a header and an end line.
    """
    exporting: Exporting = request.app.state.exporting
    return ExportResponse(await exporting.resource(tenant, resource_id, sharer=sharer_of(request)))
