"""The headers of the OpenAPI document: those of answers, and the request headers that lead to certain answers.

They are added here for all routes, not declared by the routes, because FastAPI would read each of them per request.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from app.kit.conditions import IF_MATCH

TEXT = {"type": "string"}
REQUEST_HEADERS: Mapping[int, Mapping[str, str]] = {
    HTTPStatus.NOT_MODIFIED: {"if-none-match": "`ETag` of the caller's copy; 304 if it is still current"},
    HTTPStatus.PRECONDITION_FAILED: {"if-match": IF_MATCH},
    HTTPStatus.PARTIAL_CONTENT: {
        "range": "Range of bytes to return, such as `bytes=0-99`; several ranges return the whole",
        "if-range": "`ETag` that the range refers to; if it is no longer current, the whole is returned",
    },
}
"""Request headers, by the status that they can lead to."""

HEADERS: Mapping[str, dict[str, Any]] = {
    "Accept-Encoding": {"description": "Encodings accepted for a request body", "required": True, "schema": TEXT},
    "Content-Range": {
        "description": "Range returned and total size, such as `bytes 0-99/1234`; with 416 the total size alone",
        "required": True,
        "schema": TEXT,
    },
    "ETag": {"description": "Entity tag, for `If-None-Match`", "required": True, "schema": TEXT},
    "Key-Scope": {
        "description": "Scope of the API key; absent in local mode",
        "schema": {"type": "string", "enum": ["read", "write", "admin"]},
    },
    "RateLimit": {
        "description": 'Requests left, and seconds until the quota is full again, such as `"key";r=9;t=30`',
        "schema": TEXT,
    },
    "RateLimit-Policy": {
        "description": 'Requests allowed per window in seconds, such as `"key";q=10;w=60`',
        "schema": TEXT,
    },
    "Retry-After": {"description": "Seconds to wait", "required": True, "schema": {"type": "integer", "minimum": 1}},
    "WWW-Authenticate": {"description": "`Bearer`", "required": True, "schema": TEXT},
}
KEY_HEADERS = ("Key-Scope", "RateLimit", "RateLimit-Policy")
RESPONSE_HEADERS: Mapping[int, tuple[str, ...]] = {
    HTTPStatus.PARTIAL_CONTENT: ("Content-Range",),
    HTTPStatus.UNAUTHORIZED: ("WWW-Authenticate",),
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: ("Accept-Encoding",),
    HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE: ("Content-Range",),
    HTTPStatus.TOO_MANY_REQUESTS: ("Retry-After", *KEY_HEADERS),
    HTTPStatus.SERVICE_UNAVAILABLE: ("Retry-After",),
}
"""Response headers, by status."""


def add_headers(operation: dict[str, Any]) -> None:
    """Add the headers of its answers, and the request headers that lead to them, to an operation."""
    answers = {int(status): answer for status, answer in operation["responses"].items()}
    known = {one["name"] for one in operation.get("parameters", ())}
    asked: dict[str, str] = {}
    for status, headers in REQUEST_HEADERS.items():
        if status in answers:
            asked |= headers
    if added := [_parameter(name, about) for name, about in asked.items() if name not in known]:
        operation["parameters"] = [*operation.get("parameters", ()), *added]
    for status, answer in answers.items():
        names = _response_headers(status, has_key="security" in operation, has_etag=HTTPStatus.NOT_MODIFIED in answers)
        if names:
            told = {name: {"$ref": f"#/components/headers/{name}"} for name in names}
            answer["headers"] = told | answer.get("headers", {})


def _parameter(name: str, about: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "required": False, "description": about, "schema": TEXT}


def _response_headers(status: int, *, has_key: bool, has_etag: bool) -> tuple[str, ...]:
    is_answer = status < HTTPStatus.BAD_REQUEST
    etag = ("ETag",) if has_etag and is_answer else ()
    of_a_key = KEY_HEADERS if has_key and is_answer else ()
    return (*RESPONSE_HEADERS.get(status, ()), *etag, *of_a_key)
