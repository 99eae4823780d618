"""The OpenAPI document and its route."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from app import VERSION
from app.kit.auth import SCHEME, Guarded
from app.kit.openapi_headers import HEADERS, add_headers
from app.kit.problems import Problem

DESCRIPTION = "Observational memory for agents: POST messages after each turn, GET a compiled context before the next."
TAGS = {
    "sessions": "Conversations: append messages, read and configure them.",
    "artifacts": "Named payloads in immutable versions.",
    "recall": "Search of past messages, notes and facts.",
    "context": "The compiled context for the agent's next model call.",
    "state": "Values stored beside a conversation, and templates that use them.",
    "facts": "Facts about a resource that outlive a session.",
    "memory": "Observations, reflections, their state and their cost.",
    "operation": "Health, metrics and overview, for load balancers and monitoring.",
}
# An operation names its scope in the list that OpenAPI 3.1 reserves for the roles of a scheme.
BEARER = {"type": "http", "scheme": "bearer", "description": "API key; not needed in local mode"}
REF = "#/components/schemas/{model}"
BYTES = "*/*"  # the media type of a payload of any type


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """Examples of one route: request bodies by name, each a ``summary`` and a ``value``, and answers by status."""

    requests: Mapping[str, Any] = field(default_factory=dict)
    answers: Mapping[int, Any]


def documented(app: FastAPI, examples: Mapping[str, Examples], configs: Mapping[str, type[BaseModel]]) -> None:
    """Serve the document at /openapi.json, to callers with a key; ``examples`` are by operation id.

    ``configs``: the schemas whose ``config`` is not checked by them, but by this model of a higher layer.
    """

    def document() -> dict[str, Any]:
        if not app.openapi_schema:
            app.openapi_schema = _document(app, examples, configs)
        return app.openapi_schema

    async def openapi_json() -> dict[str, Any]:
        return await asyncio.to_thread(document)  # to make it takes half a second

    app.openapi = document  # type: ignore[method-assign] # FastAPI's own way to change its document
    router = APIRouter(route_class=Guarded)
    router.add_api_route("/openapi.json", openapi_json, include_in_schema=False)
    app.include_router(router)


def operations(document: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The operations of a document, each as method, path and operation object."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def _document(app: FastAPI, examples: Mapping[str, Examples], configs: Mapping[str, type[BaseModel]]) -> dict[str, Any]:
    tags = [{"name": name, "description": about} for name, about in TAGS.items()]
    made = get_openapi(title=app.title, version=VERSION, description=DESCRIPTION, routes=app.routes, tags=tags)
    made["components"] |= {"securitySchemes": {SCHEME: BEARER}, "headers": dict(HEADERS)}
    schemas = made["components"]["schemas"]
    schemas["Problem"] = Problem.model_json_schema(ref_template=REF)
    for name, model in configs.items():
        _with_config(schemas, name, model)
    for schema in list(schemas.values()):
        schemas |= schema.pop("$defs", {})  # move nested definitions to where references point
    for _, _, operation in operations(made):
        _as_of_3_1(operation)
        add_headers(operation)
        if operation["operationId"] in examples:
            _exemplify(operation, examples[operation["operationId"]])
    return made


def _with_config(schemas: dict[str, Any], name: str, model: type[BaseModel]) -> None:
    """Describe a schema's config by the model, without defaults: null is a value, but a key left out is unchanged."""
    read = model.model_json_schema(ref_template=REF)
    read.pop("description")  # is about the code
    for key in read["properties"].values():
        key.pop("default", None)
    schemas[model.__name__] = read
    properties = schemas[name]["properties"]
    properties["config"] = {
        "anyOf": [{"$ref": REF.format(model=model.__name__)}, {"type": "null"}],
        "description": properties["config"]["description"],
    }


def _as_of_3_1(operation: dict[str, Any]) -> None:
    """Replace FastAPI's ``itemSchema`` of an event stream, which is OpenAPI 3.2; in 3.1 a stream is text."""
    for answer in operation["responses"].values():
        for content in answer.get("content", {}).values():
            if content.pop("itemSchema", None):
                content["schema"] = {"type": "string"}


def _exemplify(operation: dict[str, Any], examples: Examples) -> None:
    """Add the examples to an operation. Not through FastAPI, because that drops every null of an example."""
    if examples.requests:
        (content,) = operation["requestBody"]["content"].values()
        content["examples"] = dict(examples.requests)
    for status, answer in examples.answers.items():
        (content,) = operation["responses"][str(status)]["content"].values()
        content["example"] = answer
