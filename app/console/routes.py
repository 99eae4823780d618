"""The operator's page at ``/``: files of this package, open without a key, that load nothing from another host."""

from pathlib import Path

from fastapi import FastAPI
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

STATIC = Path(__file__).parent / "static"

# Scripts, styles and calls of this origin only. uPlot and the views size elements by their style, which a script may.
SECURITY = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",  # looked at again each time, by its ETag: an update shows at once
}


class ConsoleFiles(StaticFiles):
    async def get_response(self, path: str, scope: Scope) -> Response:
        return _secured(await super().get_response(path, scope))


def install(app: FastAPI) -> None:
    """Serve the console's page at ``/`` and its files under ``/console``."""

    async def page() -> Response:
        return _secured(FileResponse(STATIC / "index.html"))

    app.add_api_route("/", page, include_in_schema=False)
    app.mount("/console", ConsoleFiles(directory=STATIC), name="console")


def _secured(response: Response) -> Response:
    response.headers.update(SECURITY)
    return response
