"""The OpenAPI document, its route, and a page to read it."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.openapi.utils import get_openapi
from starlette.responses import HTMLResponse

from app.kit.auth import Tenant
from app.kit.problems import Problem

VERSION = "0.1.0"
DESCRIPTION = "Observational memory for agents: POST messages after each turn, GET a compiled context before the next."


def documented(app: FastAPI) -> None:
    """Serve the document at /openapi.json and a page at /docs, behind the key like every other route."""

    def document() -> dict[str, Any]:
        if not app.openapi_schema:
            made = get_openapi(title=app.title, version=VERSION, description=DESCRIPTION, routes=app.routes)
            made["components"]["schemas"]["Problem"] = Problem.model_json_schema(
                ref_template="#/components/schemas/{model}"
            )
            app.openapi_schema = _hoisted(made)
        return app.openapi_schema

    async def openapi_json(_tenant: Tenant) -> dict[str, Any]:
        return document()

    async def docs(_tenant: Tenant) -> HTMLResponse:
        return get_swagger_ui_html(openapi_url="openapi.json", title=app.title)

    app.openapi = document  # type: ignore[method-assign] # FastAPI's own way to change its document
    app.add_api_route("/openapi.json", openapi_json, include_in_schema=False)
    app.add_api_route("/docs", docs, include_in_schema=False, response_class=HTMLResponse)


def _hoisted(document: dict[str, Any]) -> dict[str, Any]:
    """Move the schemas that a schema defines within itself to where they are referred to."""
    schemas = document["components"]["schemas"]
    for schema in list(schemas.values()):
        schemas |= schema.pop("$defs", {})
    return document
