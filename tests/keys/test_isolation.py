"""No key of one tenant reads or changes what is another's (architecture.md, invariant 8).

Generated from the OpenAPI document: each operation is asked by a tenant of its own, that has nothing yet, with the ids
of another tenant's session, messages, notes and resource. A new route is so covered.
"""

import re
from collections import Counter
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, TypeAlias

import asyncpg
import httpx2 as httpx
import pytest

from app.kit.auth import Access
from app.kit.direct import JSON
from app.kit.openapi import operations
from app.sessions.store import session_id
from tests.conftest import Service, StartService
from tests.facts.noted import FACTS, end, say, texts
from tests.journeys.looks import until
from tests.keys.conftest import MakeKey, bearer

SECRET = "quokka-7319"  # in everything of the first tenant's that is content
SAID = f"User lives at Rua {SECRET} 12 and pays invoice 8841 every month."
FOREIGN = {200, 201, 202, 403, 404}
Asked: TypeAlias = tuple[str, str, str, dict[str, Any]]
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


async def furnish(service: Service, secret: str) -> None:
    """Have one of everything made, in the name of the client; ``secret`` is in all of it that is content."""
    said = SAID.replace(SECRET, secret)
    created = {"resource_id": "r-1", "metadata": {"about": secret}, "config": {"preset": "compact"}}
    assert (await service.client.put("/sessions/s1", json=created)).status_code == 201
    for number in range(2):
        messages = [{"id": f"m-{number}-{index}", "role": "user", "content": said} for index in range(8)]
        await service.append("s1", *messages)
        for step in ("observe", "reflect")[: 2 - number]:
            asked = await service.client.post(f"/sessions/s1/memory/{step}", params={"wait_ms": 50_000})
            assert asked.status_code == 200
    state = {"city": secret, "user:city": secret, "app:city": secret}
    assert (await service.client.patch("/sessions/s1/state", json=state)).status_code == 200
    assert (await service.client.put("/sessions/s1/artifacts/city", content=secret)).status_code == 201
    described = {"metadata": {"about": secret}}
    assert (await service.client.put("/resources/r-1", json=described)).status_code == 201
    fact = {"text": f"User lives at Rua {secret} 12.", "category": "profile"}
    assert (await service.client.post("/resources/r-1/facts", json=fact)).status_code == 201


async def branch_and_end(service: Service) -> None:
    """Give ``s1`` a branch and that one a branch, and have facts noted of ``s1``."""
    for key, into in (("s1", "branch"), ("branch", "twig")):
        assert (await service.client.post(f"/sessions/{key}/branch", json={"key": into})).status_code == 201
    assert (await service.client.post("/sessions/s1/end")).status_code == 200
    runs = partial(service.get, "/sessions/s1/memory/runs")
    await until(runs, lambda found: any(run["kind"] == "note_facts" for run in found["items"]))
    await until(partial(service.memory, "s1"), lambda memory: memory["status"] == "idle")


@pytest.fixture
async def first(start_service: StartService, make_key: MakeKey) -> AsyncIterator[Service]:
    """A service on which a tenant has one of everything; its client asks as that tenant."""
    secret = await make_key("first", Access.ADMIN)
    async with start_service() as service:
        service.client.headers.update(bearer(secret))
        await furnish(service, SECRET)
        yield service


async def parameters(service: Service) -> list[dict[str, str]]:
    """The first tenant's ids for the parameters of paths, in all the ways they go together."""
    notes = [
        item["id"]
        for kind in ("observations", "reflections")
        for item in (await service.get(f"/sessions/s1/memory/{kind}"))["items"]
    ]
    known = {"key": "s1", "message_id": "m-0-0", "name": "city", "resource_id": "r-1"}
    fact = (await service.get("/resources/r-1/facts"))["items"][0]
    return [{**known, "note_id": str(note), "fact_id": str(fact["id"])} for note in notes]


async def asked(
    service: Service, method: str, path: str, sent: dict[str, Any], headers: dict[str, str]
) -> httpx.Response:
    async with service.client.stream(method, path, headers=headers, **sent) as answer:
        assert not answer.headers.get("content-type", "").startswith(STREAM)
        await answer.aread()
        return answer


def requests(document: dict[str, Any], given: dict[str, str]) -> list[Asked]:
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


def requests_of_one_s_own(document: dict[str, Any], given: dict[str, str]) -> list[Asked]:
    """Every operation but the stream of events, and what no example asks for; deletions last, the deepest first."""
    templated = {"system": "{city?} {user:city?} {app:city?}"}
    more: list[Asked] = [
        ("compileContext", "POST", "/sessions/s1/context", {"json": templated}),
        ("compileContext", "POST", "/sessions/unseen/context", {"json": templated}),
        ("recallSession", "POST", "/sessions/s1/recall", {"json": {"query": "Rua"}}),
        ("recallResource", "POST", "/resources/r-1/recall", {"json": {"query": "Rua"}}),
        ("deleteSession", "DELETE", "/sessions/branch", {}),
    ]
    every = [*more, *(asking for asking in requests(document, given) if asking[0] != "streamEvents")]
    deletions = sorted((one for one in every if one[1] == "DELETE"), key=lambda one: -one[2].count("/"))
    return [one for one in every if one[1] != "DELETE"] + deletions


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


async def test_no_operation_on_what_has_the_same_names_shows_or_changes_what_is_another_tenant_s(
    start_service: StartService, make_key: MakeKey, database_url: str
) -> None:
    """The asker's is the older and its tenant's name the lesser, so that the other's would come after it.

    Their messages were stored at the same time, by which the copies of one in branches are told from others.
    """
    asker, other = [bearer(await make_key(tenant, Access.ADMIN)) for tenant in ("asker", "other")]
    async with start_service() as service:
        for headers, content in ((asker, "wombat-4402"), (other, SECRET)):
            service.client.headers.update(headers)
            await furnish(service, content)
            await branch_and_end(service)
        connection = await asyncpg.connect(database_url)
        await connection.execute("UPDATE messages SET ingested_at = '2026-05-01'")
        await connection.close()
        others = {'"tenant": "other"', *(str(session_id("other", key)) for key in ("s1", "branch", "twig"))}
        before = {row for row in await rows(database_url) if any(name in row[1] for name in others)}
        service.client.headers.update(asker)
        given = (await parameters(service))[1]  # the first observation is condensed and not to be changed
        statuses: Counter[int] = Counter()
        for name, method, path, sent in requests_of_one_s_own(service.app.openapi(), given):
            answer = await asked(service, method, path, sent, {})
            statuses[answer.status_code] += 1
            assert SECRET not in answer.text, name
            assert method == "GET" or before <= await rows(database_url), name
    assert statuses[200] > statuses.total() / 2, statuses


async def test_what_a_tenant_takes_back_of_its_facts_is_so_of_no_other_s_sessions_of_the_same_names(
    start_service: StartService, make_key: MakeKey, database_url: str
) -> None:
    asker, other = [bearer(await make_key(tenant, Access.ADMIN)) for tenant in ("asker", "other")]
    async with start_service() as service:
        service.client.headers.update(other)
        await say(service, "I own a dog.")
        connection = await asyncpg.connect(database_url)
        await connection.execute("UPDATE sessions SET facts_again_seq = 1")  # as after an erasure
        service.client.headers.update(asker)
        assert (await service.client.delete(FACTS)).json()["deleted"] == 0
        assert await connection.fetchval("SELECT count(*) FROM facts") == 0
        await connection.close()
        await say(service, "I own a dog.")
        await end(service)
        assert (await service.client.delete(FACTS)).json()["deleted"] == 1
        service.client.headers.update(other)
        assert (await service.client.post("/sessions/s1/branch", json={"key": "s2"})).status_code == 201
        await end(service, "s2")
        assert await texts(service) == ["User: I own a dog."]


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
