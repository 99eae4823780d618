"""The operator's page at ``/`` and the API's at ``/docs``: files of this package, open without a key.

They load nothing from another host; what they show they ask for with the key that they are given.
"""

from pathlib import Path

from fastapi import FastAPI
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

STATIC = Path(__file__).parent / "static"

_OWN = "default-src 'none'; script-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'"
# Scripts, styles and calls of this origin only. uPlot and the views size elements by their style, which a script may.
SECURITY = {
    "Content-Security-Policy": f"{_OWN}; frame-ancestors 'none'; style-src 'self'; img-src 'self'",
    "Cache-Control": "no-cache",  # looked at again each time, by its ETag: an update shows at once
}

# Swagger UI writes styles into its elements, and its pictures are part of its style sheet.
DOCS_POLICY = f"{_OWN}; frame-ancestors 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:"


class ConsoleFiles(StaticFiles):
    async def get_response(self, path: str, scope: Scope) -> Response:
        return _secured(await super().get_response(path, scope))


def install(app: FastAPI) -> None:
    """Serve the pages, and their files under ``/console``."""

    async def page() -> Response:
        return _secured(FileResponse(STATIC / "index.html"))

    async def docs() -> Response:
        response = _secured(FileResponse(STATIC / "docs.html"))
        response.headers["Content-Security-Policy"] = DOCS_POLICY
        return response

    app.add_api_route("/", page, include_in_schema=False)
    app.add_api_route("/docs", docs, include_in_schema=False)
    app.mount("/console", ConsoleFiles(directory=STATIC), name="console")


def _secured(response: Response) -> Response:
    response.headers.update(SECURITY)
    return response
