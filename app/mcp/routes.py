"""The MCP endpoint /mcp: streamable HTTP, by the ``mcp`` library, with the service's keys."""

import asyncio
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.kit.auth import Access, Guarded, needs

if TYPE_CHECKING:
    from app.mcp.server import McpServer


class _Handed(Response):
    """Hands the request on to the MCP server, after the key was checked."""

    def __init__(self, server: "McpServer") -> None:
        super().__init__()
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._server(scope, receive, send)


def install(app: FastAPI, *, request_bytes_max: int, messages_max: int) -> None:
    """Serve MCP at /mcp: JSON-RPC, and so no part of the OpenAPI document.

    Only POST: there is no MCP session that a GET could stream or a DELETE end, and the protocol makes both optional.
    """
    server: McpServer | None = None

    def made() -> "McpServer":
        """The server, made at the first request, as importing its library takes longer than all of a start."""
        from app.mcp.server import McpServer

        return McpServer(app, request_bytes_max=request_bytes_max, messages_max=messages_max)

    router = APIRouter(route_class=Guarded)

    @router.post("/mcp", include_in_schema=False)
    @needs(Access.READ)  # the tools that write are refused by the routes they ask
    async def mcp(_request: Request) -> Response:
        nonlocal server
        if server is None:
            server = await asyncio.to_thread(made)  # meanwhile other requests are answered
        return _Handed(server)

    app.include_router(router)
