"""HTTP of artifacts (api.md, Artifacts)."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, HTTPException, Request, Response

from app.artifacts.model import Artifact, PartAt, handle
from app.artifacts.ranges import Span, Unsatisfiable, asked_span
from app.artifacts.schemas import (
    MEDIA_TYPE_CHARS_MAX,
    ArtifactDeletedOut,
    ArtifactOut,
    ArtifactPage,
    GrepIn,
    GrepOut,
    MatchOut,
    Name,
    Version,
    artifact_out,
    is_media_type,
)
from app.artifacts.service import ArtifactService
from app.kit.auth import Access, Guarded, Tenant, needs, sharer_of
from app.kit.bodies import Sent
from app.kit.conditions import NOT_MODIFIED, Conditions, Expected, has_etag
from app.kit.errors import FieldError, Invalid
from app.kit.openapi import BYTES
from app.kit.openapi_headers import TEXT
from app.kit.paging import NUMBER_MAX, PAGE_DEFAULT, Cursor, Limit, not_of_this_list, paged, read_cursor
from app.kit.problems import problem_responses
from app.sessions.schemas import Key

DEFAULT_TYPE = "application/octet-stream"
BINARY: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
PAYLOAD, SENT = {BYTES: BINARY}, {DEFAULT_TYPE: BINARY}  # a client sends the type that the document names
ETAG = {"headers": {"ETag": {"description": "Entity tag; absent if a secret was redacted", "schema": TEXT}}}
HANDLE = {"headers": {"Artifact-Handle": {"description": "Handle of the version", "schema": TEXT}}}

ARTIFACTS_PATH = "/sessions/{key}/artifacts"
ARTIFACT_PATH = ARTIFACTS_PATH + "/{name}"

router = APIRouter(route_class=Guarded, tags=["artifacts"], responses=problem_responses(404, 422, 503))


def _service(request: Request) -> ArtifactService:
    service: ArtifactService = request.app.state.artifacts
    return service


@router.put(
    ARTIFACT_PATH,
    status_code=201,
    operation_id="putArtifact",
    responses=problem_responses(412, 413)
    | {
        200: {"model": ArtifactOut, "description": "The newest version already holds these bytes"} | ETAG,
        201: ETAG,
    },
    openapi_extra={"requestBody": {"required": True, "content": SENT}},
)
async def put_artifact(
    key: Key, name: Name, tenant: Tenant, expected: Expected, request: Request, response: Response
) -> ArtifactOut:
    """Store the request body as a new immutable version, together with its Content-Type (any type)."""
    media_type = _media_type(request.headers.get("content-type", DEFAULT_TYPE))
    content = await request.body()
    stored = await _service(request).put(
        tenant=tenant, key=key, name=name, media_type=media_type, content=content, expected=expected
    )
    response.status_code = 201 if stored.created else 200
    if stored.as_sent:  # RFC 9110 section 9.3.4: else the caller would take what it sent for what is stored
        response.headers["ETag"] = stored.artifact.etag
    return artifact_out(stored.artifact, key)


@router.get(
    ARTIFACT_PATH,
    operation_id="getArtifact",
    response_class=Response,
    responses=problem_responses(412, 416)
    | {
        200: {"description": "The bytes", "content": PAYLOAD} | HANDLE,
        206: {"description": "The bytes of the range", "content": PAYLOAD} | HANDLE,
        304: NOT_MODIFIED | HANDLE,
    },
)
async def get_artifact(key: Key, name: Name, tenant: Tenant, request: Request, version: Version = None) -> Response:
    """Get the bytes of a version, or a `Range` of them, with their Content-Type and their SHA-256 as the ETag."""
    service = _service(request)
    artifact = await service.get(tenant=tenant, key=key, name=name, version=version)
    headers = _headers(artifact, key)
    Conditions(if_match=request.headers.get("if-match")).check(artifact.etag)
    if has_etag(request.headers.get("if-none-match"), artifact.etag):
        return Response(status_code=304, headers=headers)
    span = _span(request.headers, artifact)
    if span is None:
        return Response(await service.content(key, artifact, 0, artifact.size), headers=headers)
    headers["Content-Range"] = f"bytes {span.start}-{span.end - 1}/{artifact.size}"
    return Response(await service.content(key, artifact, *span), status_code=206, headers=headers)


@router.get(ARTIFACTS_PATH, operation_id="listArtifacts")
async def list_artifacts(
    key: Key, tenant: Tenant, request: Request, limit: Limit = PAGE_DEFAULT, cursor: Cursor = None
) -> ArtifactPage:
    """Page through the newest versions: artifacts by name, then large message parts by their place in the log."""
    found = await _service(request).page(
        tenant=tenant, key=key, after=_after(cursor, request.url.path), limit=limit + 1
    )
    page, more = paged(found, limit, _place, path=request.url.path)
    return ArtifactPage(items=[artifact_out(artifact, key) for artifact in page], next_cursor=more)


@router.get(ARTIFACT_PATH + "/versions", operation_id="listArtifactVersions")
async def list_versions(
    key: Key, name: Name, tenant: Tenant, request: Request, limit: Limit = PAGE_DEFAULT, cursor: Cursor = None
) -> ArtifactPage:
    """Page through the versions of an artifact, newest first."""
    before = read_cursor(cursor, int, path=request.url.path) or NUMBER_MAX
    found = await _service(request).versions(tenant=tenant, key=key, name=name, before=before, limit=limit + 1)
    page, more = paged(found, limit, lambda last: last.version, path=request.url.path)
    return ArtifactPage(items=[artifact_out(artifact, key) for artifact in page], next_cursor=more)


@router.post(ARTIFACT_PATH + "/grep", operation_id="grepArtifact", responses=problem_responses(413))
@needs(Access.READ)
async def grep_artifact(key: Key, name: Name, body: Sent[GrepIn], tenant: Tenant, request: Request) -> GrepOut:
    """Find the lines of a text artifact that match a pattern, without downloading it."""
    artifact, found = await _service(request).grep(
        tenant=tenant, key=key, name=name, asked=body, sharer=sharer_of(request)
    )
    return GrepOut(
        session=key,
        name=name,
        version=artifact.version,
        handle=handle(key, name, artifact.version),
        matches=[MatchOut.model_validate(match, from_attributes=True) for match in found.matches],
        truncated=found.truncated,
    )


@router.delete(ARTIFACT_PATH, operation_id="deleteArtifact", responses=problem_responses(412))
async def delete_artifact(
    key: Key, name: Name, tenant: Tenant, expected: Expected, request: Request
) -> ArtifactDeletedOut:
    """Delete every version. Version numbers continue afterwards, so a handle never refers to other bytes."""
    deleted = await _service(request).delete(tenant=tenant, key=key, name=name, expected=expected)
    return ArtifactDeletedOut(session=key, name=name, deleted=deleted)


def _media_type(given: str) -> str:
    if not is_media_type(given):
        detail = f"a media type of at most {MEDIA_TYPE_CHARS_MAX} characters is expected, such as text/plain"
        raise Invalid.naming(FieldError("Content-Type", detail))
    return given


def _headers(artifact: Artifact, key: str) -> dict[str, str]:
    """The headers, which tell a browser to save what anyone may have put, not to show it (see app/kit/headers.py)."""
    return {
        "Content-Type": artifact.media_type,
        "Content-Disposition": f'attachment; filename="{artifact.name}"',
        "Accept-Ranges": "bytes",
        "Cache-Control": "private, no-cache",
        "ETag": artifact.etag,
        "Artifact-Handle": handle(key, artifact.name, artifact.version),
    }


def _span(headers: Mapping[str, str], artifact: Artifact) -> Span | None:
    """The range to answer; None: the whole, as for a caller whose ``If-Range`` is of other bytes."""
    if headers.get("if-range", artifact.etag) != artifact.etag:
        return None
    try:
        return asked_span(headers.get("range"), size=artifact.size)
    except Unsatisfiable as error:
        detail = f"the range is outside the artifact, which has {artifact.size} bytes"
        raise HTTPException(416, detail, headers={"Content-Range": f"bytes */{artifact.size}"}) from error


def _place(last: Artifact) -> str:
    return last.name if last.part is None else f"{last.part.seq}/{last.part.place}"


def _after(cursor: str | None, path: str) -> str | PartAt:
    """Where the page before ended: at a name, or at a message's part, which has a slash and a name never does."""
    last = read_cursor(cursor, str, path=path) or ""
    seq, slash, index = last.partition("/")
    if not slash:
        return last
    if not (seq.isdecimal() and index.isdecimal() and max(len(seq), len(index)) < len(str(NUMBER_MAX))):
        raise not_of_this_list()
    return PartAt(int(seq), int(index))
