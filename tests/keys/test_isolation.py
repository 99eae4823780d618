"""No key of one tenant reads or changes what is another's (architecture.md, invariant 8).

Generated from the OpenAPI document: each operation is asked by a tenant of its own, that has nothing yet, with the ids
of another tenant's session, messages, notes and resource. A new route is so covered.
"""

import re
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import httpx2 as httpx
import pytest

from app.kit.auth import Access
from app.kit.direct import JSON
from app.kit.openapi import operations
from tests.conftest import Service, StartService
from tests.keys.conftest import MakeKey, bearer

SECRET = "quokka-7319"  # in everything of the first tenant's that is content
SAID = f"User lives at Rua {SECRET} 12 and pays invoice 8841 every month."
FOREIGN = {200, 201, 202, 403, 404}
OWN_READS = {
    "getContext",
    "listMessages",
    "getMessage",
    "listObservations",
    "listReflections",
    "getLog",
    "getState",
    "listFacts",
    "getFact",
}
STREAM = "text/event-stream"


@pytest.fixture
async def first(start_service: StartService, make_key: MakeKey) -> AsyncIterator[Service]:
    """A service on which a tenant has one of everything; its client asks as that tenant."""
    secret = await make_key("first", Access.ADMIN)
    async with start_service() as service:
        service.client.headers.update(bearer(secret))
        created = {"resource_id": "r-1", "metadata": {"about": SECRET}, "config": {"preset": "compact"}}
        assert (await service.client.put("/sessions/s1", json=created)).status_code == 201
        for number in range(2):
            said = [{"id": f"m-{number}-{index}", "role": "user", "content": SAID} for index in range(8)]
            await service.append("s1", *said)
            for step in ("observe", "reflect")[: 2 - number]:
                asked = await service.client.post(f"/sessions/s1/memory/{step}", params={"wait_ms": 50_000})
                assert asked.status_code == 200
        state = {"city": SECRET, "user:city": SECRET, "app:city": SECRET}
        assert (await service.client.patch("/sessions/s1/state", json=state)).status_code == 200
        assert (await service.client.put("/sessions/s1/artifacts/city", content=SECRET)).status_code == 201
        described = {"metadata": {"about": SECRET}}
        assert (await service.client.put("/resources/r-1", json=described)).status_code == 201
        fact = {"text": f"User lives at Rua {SECRET} 12.", "category": "profile"}
        assert (await service.client.post("/resources/r-1/facts", json=fact)).status_code == 201
        yield service


async def parameters(service: Service) -> list[dict[str, str]]:
    """The first tenant's ids for the parameters of paths, in all the ways they go together."""
    notes = [
        item["id"]
        for kind in ("observations", "reflections")
        for item in (await service.get(f"/sessions/s1/memory/{kind}"))["items"]
    ]
    known = {"key": "s1", "message_id": "m-0-0", "name": "city", "resource_id": "r-1"}
    [fact] = (await service.get("/resources/r-1/facts"))["items"]
    return [{**known, "note_id": str(note), "fact_id": str(fact["id"])} for note in notes]


async def asked(
    service: Service, method: str, path: str, sent: dict[str, Any], headers: dict[str, str]
) -> httpx.Response:
    async with service.client.stream(method, path, headers=headers, **sent) as answer:
        assert not answer.headers.get("content-type", "").startswith(STREAM)
        await answer.aread()
        return answer


def requests(document: dict[str, Any], given: dict[str, str]) -> list[tuple[str, str, str, dict[str, Any]]]:
    """Every operation with these ids: its id, method, path and, where it takes one, the first example of a body."""
    found = []
    for method, path, operation in operations(document):
        filled = re.sub(r"\{(\w+)\}", lambda name: given.get(name[1], given["key"]), path)
        contents = operation.get("requestBody", {}).get("content", {})
        sent = {
            "json" if media_type == JSON else "content": next(iter(content["examples"].values()))["value"]
            for media_type, content in contents.items()
        }
        found.append((operation["operationId"], method, filled, sent))
    return found


async def rows(url: str) -> set[tuple[str, str]]:
    """Every row there is, as text, with its table; without when a key was last used."""
    connection = await asyncpg.connect(url)
    tables = await connection.fetch("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'")
    found = set()
    for table in (row["name"] for row in tables):
        of_table = await connection.fetch(f"SELECT (to_jsonb(t) - 'last_used_at')::text AS row FROM {table} t")  # noqa: S608 - our own table names
        found |= {(table, row["row"]) for row in of_table}
    await connection.close()
    return found


async def test_no_operation_shows_or_changes_what_is_another_tenant_s(
    first: Service, make_key: MakeKey, database_url: str
) -> None:
    before = await rows(database_url)
    statuses: Counter[int] = Counter()
    for given in await parameters(first):
        for name, method, path, sent in requests(first.app.openapi(), given):
            stranger = await make_key(f"second-{statuses.total()}", Access.ADMIN)
            answer = await asked(first, method, path, sent, bearer(stranger))
            statuses[answer.status_code] += 1
            assert answer.status_code in FOREIGN, (name, answer.status_code)
            assert SECRET not in answer.text, name
            assert before <= await rows(database_url), name
    assert statuses[404] > statuses[200], statuses  # it does ask for what is there


async def test_the_same_requests_show_a_tenant_what_is_its_own(first: Service) -> None:
    given = (await parameters(first))[0]
    reads = {
        name: await asked(first, method, path, sent, {})
        for name, method, path, sent in requests(first.app.openapi(), given)
        if name in OWN_READS
    }
    assert {name for name, answer in reads.items() if SECRET in answer.text} == OWN_READS


async def test_two_tenants_have_sessions_of_one_key_beside_each_other(first: Service, make_key: MakeKey) -> None:
    stranger = bearer(await make_key("second", Access.WRITE))
    said = {"messages": [{"id": "m-0-0", "role": "user", "content": "Mine."}]}
    appended = await first.client.post("/sessions/s1/messages", json=said, headers=stranger)
    listed = await first.client.get("/sessions/s1/messages", headers=stranger)
    assert (appended.status_code, [item["seq"] for item in listed.json()["items"]]) == (201, [1])
    assert len((await first.get("/sessions/s1/messages"))["items"]) == 16


async def test_a_resource_of_the_same_name_is_another_tenants(first: Service, make_key: MakeKey) -> None:
    """What is known of it stands at the head of the first tenant's new sessions, and of nobody else's."""
    other = bearer(await make_key("second", Access.ADMIN))
    for headers, is_told in ((None, True), (other, False)):
        made = await first.client.put("/sessions/new", json={"resource_id": "r-1"}, headers=headers)
        assert made.status_code == 201
        context = await first.client.get("/sessions/new/context", headers=headers)
        assert (SECRET in context.text) is is_told
