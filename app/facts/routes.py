"""HTTP of facts (api.md, Sessions)."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from app.facts.model import FactFilter
from app.facts.schemas import (
    DeletedFactsOut,
    FactId,
    FactIn,
    FactOut,
    FactPage,
    FactPatch,
    FactQuery,
    fact_out,
)
from app.facts.service import FactService, Noted
from app.kit.auth import Guarded, Tenant
from app.kit.bodies import Sent
from app.kit.paging import paged, read_cursor
from app.kit.problems import problem_responses
from app.sessions.schemas import ResourceId

router = APIRouter(route_class=Guarded, tags=["facts"], responses=problem_responses(422, 503))

FACTS_PATH = "/resources/{resource_id}/facts"
FACT_PATH = FACTS_PATH + "/{fact_id}"


def _service(request: Request) -> FactService:
    service: FactService = request.app.state.facts
    return service


@router.get(FACTS_PATH, operation_id="listFacts")
async def list_facts(
    resource_id: ResourceId, tenant: Tenant, request: Request, query: Annotated[FactQuery, Query()]
) -> FactPage:
    """Page through the facts known about a resource, oldest entry first. Empty if there are none."""
    after = read_cursor(query.cursor, int, path=request.url.path) or 0
    wanted = FactFilter(category=query.category, validity=query.validity, at=query.at)
    found = await _service(request).page(tenant, resource_id, wanted, after=after, limit=query.limit + 1)
    page, cursor = paged(found, query.limit, lambda last: last.id, path=request.url.path)
    return FactPage(items=[fact_out(fact, resource_id) for fact in page], next_cursor=cursor)


@router.post(
    FACTS_PATH,
    operation_id="appendFact",
    status_code=201,
    responses=problem_responses(413) | {200: {"model": FactOut, "description": "The fact was already stored"}},
)
async def add_fact(
    resource_id: ResourceId, body: Sent[FactIn], tenant: Tenant, request: Request, response: Response
) -> FactOut:
    """Add a fact by hand. A fact with the same text and `valid_to` is stored only once, whatever its `valid_from`."""
    fact, created = await _service(request).note(tenant, resource_id, _noted(body))
    response.status_code = 201 if created else 200
    return fact_out(fact, resource_id)


@router.get(FACT_PATH, operation_id="getFact", responses=problem_responses(404))
async def get_fact(resource_id: ResourceId, fact_id: FactId, tenant: Tenant, request: Request) -> FactOut:
    """Get one fact."""
    return fact_out(await _service(request).get(tenant, resource_id, fact_id), resource_id)


@router.patch(FACT_PATH, operation_id="editFact", responses=problem_responses(404, 413))
async def edit_fact(
    resource_id: ResourceId, fact_id: FactId, body: Sent[FactPatch], tenant: Tenant, request: Request
) -> FactOut:
    """Correct a fact, or end it by setting `valid_to`. Its sources stay, so erasing one of them still erases it."""
    return fact_out(await _service(request).change(tenant, resource_id, fact_id, body.fields()), resource_id)


@router.delete(FACT_PATH, operation_id="deleteFact")
async def delete_fact(resource_id: ResourceId, fact_id: FactId, tenant: Tenant, request: Request) -> DeletedFactsOut:
    """Delete a fact; the fact that it replaced is valid again. Succeeds if there is no such fact."""
    deleted = await _service(request).delete(tenant, resource_id, fact_id)
    return DeletedFactsOut(resource_id=resource_id, deleted=deleted)


@router.delete(FACTS_PATH, operation_id="deleteFacts")
async def delete_facts(resource_id: ResourceId, tenant: Tenant, request: Request) -> DeletedFactsOut:
    """Delete all facts of a resource. Its sessions stay, and no facts are extracted from them again."""
    deleted = await _service(request).delete(tenant, resource_id)
    return DeletedFactsOut(resource_id=resource_id, deleted=deleted)


def _noted(body: FactIn) -> Noted:
    return Noted(
        text=body.text,
        category=body.category,
        trust=body.trust,
        valid_from=body.valid_from,
        valid_to=body.valid_to,
        cites=[(source.session, tuple(dict.fromkeys(source.cites))) for source in body.sources],
    )
