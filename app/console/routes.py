"""Serves the operator's console at ``/`` and the API's documentation at ``/docs``, without a key.

The pages load nothing from another host; they request their data with the key that the user gives them.
"""

from pathlib import Path

from fastapi import FastAPI
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

STATIC = Path(__file__).parent / "static"

_OWN = "default-src 'none'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'"
# Scripts, styles and requests of this origin only. uPlot and the views set sizes by element styles, which scripts may.
SECURITY = {
    "Content-Security-Policy": f"{_OWN}; frame-ancestors 'none'; style-src 'self'; img-src 'self' data:",
    "Cache-Control": "no-cache",  # revalidated each time, by its ETag: an update shows at once
}

# Swagger UI writes inline styles, and its images are in its style sheet.
DOCS_POLICY = f"{_OWN}; frame-ancestors 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:"


class Page(FileResponse):
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await super().__call__(_whole(scope), receive, send)


class ConsoleFiles(StaticFiles):
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await super().__call__(_whole(scope), receive, send)

    async def get_response(self, path: str, scope: Scope) -> Response:
        return _secured(await super().get_response(path, scope))


def install(app: FastAPI) -> None:
    """Serve the pages, and their files under ``/console``."""

    async def page() -> Response:
        return _secured(Page(STATIC / "index.html"))

    async def docs() -> Response:
        response = _secured(Page(STATIC / "docs.html"))
        response.headers["Content-Security-Policy"] = DOCS_POLICY
        return response

    app.add_api_route("/", page, include_in_schema=False)
    app.add_api_route("/docs", docs, include_in_schema=False)
    app.mount("/console", ConsoleFiles(directory=STATIC), name="console")


def _whole(scope: Scope) -> Scope:
    """The request without ``Range``, which may be ignored: the framework refuses a wrong one with plain text."""
    return {**scope, "headers": [(name, value) for name, value in scope["headers"] if name != b"range"]}


def _secured(response: Response) -> Response:
    response.headers.update(SECURITY)
    return response
