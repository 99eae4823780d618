"""Errors as application/problem+json (RFC 9457, api.md)."""

import math
from collections.abc import Collection, Mapping, Sequence
from http import HTTPMethod, HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from app.kit.db import AWAY, is_away
from app.kit.errors import (
    Category,
    DomainError,
    FieldError,
    Invalid,
    Unavailable,
    json_pointer,
)
from app.kit.headers import SECURITY
from app.kit.invalid import OBJECT_EXPECTED, invalid_detail
from app.kit.json import dumps

MEDIA_TYPE = "application/problem+json"

STATUS: dict[Category, HTTPStatus] = {
    Category.UNAUTHORIZED: HTTPStatus.UNAUTHORIZED,
    Category.FORBIDDEN: HTTPStatus.FORBIDDEN,
    Category.NOT_FOUND: HTTPStatus.NOT_FOUND,
    Category.CONFLICT: HTTPStatus.CONFLICT,
    Category.GONE: HTTPStatus.GONE,
    Category.PRECONDITION: HTTPStatus.PRECONDITION_FAILED,
    Category.TOO_LARGE: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    Category.INVALID: HTTPStatus.UNPROCESSABLE_ENTITY,
    Category.TOO_MANY: HTTPStatus.TOO_MANY_REQUESTS,
    Category.UNAVAILABLE: HTTPStatus.SERVICE_UNAVAILABLE,
}

# Slug and title of the framework's own refusals, by status.
_PLAIN = {
    400: ("invalid", "The request is not valid"),
    404: ("not-found", "The path does not exist"),
    405: ("method-not-allowed", "The path does not support this method"),
    413: ("too-large", "The request is too large"),
    416: ("requested-range-not-satisfiable", "Requested Range Not Satisfiable"),
}
# The phrases of RFC 9110 that differ between Python versions.
_PHRASES = {413: "Content Too Large", 414: "URI Too Long", 416: "Range Not Satisfiable", 422: "Unprocessable Content"}

READING = frozenset({"GET", "HEAD"})
UNSURE = "; the request may have been stored or not: send it again with the same ids"

log = structlog.get_logger("daybook.http")


class ProblemField(BaseModel):
    pointer: str = Field(examples=["/messages/0/role"])
    detail: str = Field(examples=["unknown role 'robot'"])


class Problem(BaseModel):
    """RFC 9457 problem details."""

    type: str = Field(examples=["/problems/invalid"])
    title: str = Field(examples=["The request is not valid"])
    status: int = Field(examples=[422])
    detail: str = Field(examples=["unknown role 'robot'"])
    errors: list[ProblemField] | None = None


def problem_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The documented error answers of a route."""
    schema = {"schema": {"$ref": "#/components/schemas/Problem"}}
    return {status: {"description": _phrase(status), "content": {MEDIA_TYPE: schema}} for status in statuses}


def _phrase(status: int) -> str:
    return _PHRASES.get(status) or HTTPStatus(status).phrase


def problem_response(
    *,
    slug: str,
    title: str,
    status: int,
    detail: str,
    errors: Sequence[FieldError] = (),
    headers: dict[str, str] | None = None,
) -> Response:
    told = _writable(detail)
    body: dict[str, Any] = {"type": f"/problems/{slug}", "title": title, "status": int(status), "detail": told}
    if errors:
        body["errors"] = [{"pointer": _writable(one.pointer), "detail": _writable(one.detail)} for one in errors]
    return Response(dumps(body), status_code=int(status), media_type=MEDIA_TYPE, headers=headers)


def problem_of(error: DomainError) -> Response:
    headers = {"WWW-Authenticate": "Bearer"} if error.category is Category.UNAUTHORIZED else {}
    if error.retry_after is not None:
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
    return problem_response(
        slug=error.slug,
        title=error.title,
        status=STATUS[error.category],
        detail=error.detail,
        errors=error.errors,
        headers=headers,
    )


def install(app: FastAPI) -> None:
    """Answer every error of ``app`` with a problem: ours, the framework's, the database's, and bugs."""
    app.add_exception_handler(DomainError, _domain_error)
    app.add_exception_handler(RequestValidationError, _invalid_request)
    app.add_exception_handler(HTTPException, _plain)
    for error in AWAY:
        app.add_exception_handler(error, _database_away)
    app.add_exception_handler(Exception, bug)


async def _domain_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, DomainError)  # noqa: S101 - narrows the type the framework hands over
    return problem_of(error)


async def _invalid_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - narrows the type the framework hands over
    parameters: Collection[str] = getattr(request.scope.get("route"), "query_parameters", ())
    return problem_of(Invalid.naming(*(_field_error(found, parameters) for found in error.errors())))


def _field_error(found: Mapping[str, Any], parameters: Collection[str]) -> FieldError:
    """``parameters``: the query parameters of the route, which a caller may mistake for fields of the body."""
    match found:
        case {"type": "extra_forbidden", "loc": ("body", str(name))} if name in parameters:
            return FieldError(json_pointer(name), f"unknown field: send it as the query parameter ?{name}=")
        case {"type": "json_invalid", "loc": (_, position), "ctx": {"error": reason}}:
            return FieldError("", f"not valid JSON, at character {position}: {reason}")
        case {"type": "model_attributes_type" | "dict_type", "loc": ("body",)}:  # also JSON of another Content-Type
            return FieldError("", f"{OBJECT_EXPECTED}, sent as Content-Type: application/json")
        case {"type": "missing", "loc": ("body",)}:
            return FieldError("", "a JSON body is expected, sent as Content-Type: application/json")
        case _:
            return FieldError(_pointer(found["loc"]), invalid_detail(found))


def _pointer(location: Sequence[Any]) -> str:
    where, *rest = location
    if where == "body":
        return json_pointer(*rest)
    return str(rest[0]) if rest else str(where)


def _writable(text: str) -> str:
    """The text without lone surrogates, which an echo of the caller's text may have, and UTF-8 cannot encode."""
    return text.encode(errors="replace").decode()


async def _plain(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - narrows the type the framework hands over
    phrase = _phrase(error.status_code)
    slug, title = _PLAIN.get(error.status_code, (phrase.lower().replace(" ", "-"), phrase))
    status = HTTPStatus.UNPROCESSABLE_ENTITY if error.status_code == HTTPStatus.BAD_REQUEST else error.status_code
    headers, detail = dict(error.headers or {}), str(error.detail)
    if status == HTTPStatus.NOT_FOUND:
        detail = "unknown path; /docs and /openapi.json list all paths"
        if b"%2f" in request.scope.get("raw_path", b"").lower():
            detail += "; %2F counts as /, which only the id of a message may contain"
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = ", ".join(_allowed(request))  # the framework names those of the first route only
        detail = f"it supports {headers['Allow']}"
    if error.status_code == HTTPStatus.BAD_REQUEST:
        field = FieldError("", _unread(error.__cause__))
        return problem_response(slug=slug, title=title, status=status, detail=field.detail, errors=[field])
    return problem_response(slug=slug, title=title, status=status, detail=detail, headers=headers)


def _unread(cause: BaseException | None) -> str:
    """Why the framework could not read a body."""
    match cause:
        case UnicodeDecodeError(start=position):
            return f"not valid UTF-8, at byte {position}"
        case RecursionError():
            return "nested too deeply"
        case _:
            return "the body cannot be read"


def _allowed(request: Request) -> list[str]:
    """The methods that the path takes; HEAD if it takes GET."""
    scopes = {method.value: {**request.scope, "method": method.value} for method in HTTPMethod}
    taken = [
        method
        for method, scope in scopes.items()
        if any(route.matches(scope)[0] is Match.FULL for route in request.app.routes)
    ]
    return sorted({*taken, "HEAD"}) if "GET" in taken else taken


async def _database_away(request: Request, error: Exception) -> Response:
    if not is_away(error):
        log.error("statement_refused", exc_info=error)
        return await bug(request, error)
    log.warning("database_away", error=type(error).__name__)
    unsure = "" if request.method in READING else UNSURE
    return problem_of(Unavailable(f"the database cannot be reached{unsure}"))


async def bug(request: Request, _error: Exception) -> Response:
    """The answer to a bug. It is made outside the Gate, so it adds the Gate's headers itself.

    It is the connection's last answer, and says so: the framework raises the error again, whereupon the server closes
    the connection, into which the client would send its next request.
    """
    headers = {"X-Request-Id": request.scope.get("request_id", ""), "Connection": "close", **SECURITY}
    return problem_response(
        slug="internal",
        title="The service failed",
        status=HTTPStatus.INTERNAL_SERVER_ERROR,
        detail="an unexpected error; the service's log has it under this answer's X-Request-Id",
        headers=headers,
    )
