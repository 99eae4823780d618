"""The proof of erasure: a secret goes wherever a memory can carry it, and then it is nowhere.

Every table and column is searched as the database itself lists them, every GET as the OpenAPI document does, so that
what is added later is searched too: a new parameter of a path has to be given a value here.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest

from app.kit.openapi import operations
from tests.conftest import Service, StartService
from tests.journeys.looks import FORMATS, Json, items, until
from tests.memory.changing.test_erasing import rest
from tests.model_replies import Asked, PromptKind, observe, reflect
from tests.model_server import Fault, ModelServer

SECRET = "XYZZY-4711-PLUGH"
KEY, BRANCH, OTHER, RESOURCE, ERASED = "s1", "s1-branch", "s2", "user-42", "m-4"
FILLER = "On that day Ana walked along the river and thought of the harbour, the trams and the hills of the town. "
MEMORY = {
    "message_tokens": 300,
    "observation_tokens": 120,
    "buffer_every": 0.3,
    "retain_tokens": 40,
    "reflect_keep": 0,
    "keep_last": 2,
}
# Where the secret has to have been, or its absence afterwards proves nothing.
CARRIERS = {
    "messages.parts",
    "messages.name",
    "messages.metadata",
    "observations.text",
    "observations.items",
    "observations.current_task",
    "observations.suggested_response",
    "reflections.text",
    "reflections.items",
    "memory_versions.current_task",
    "memory_versions.suggested_response",
    "memories.current_task",
    "memories.suggested_response",
    "runs.rejected_output",
    "facts.text",
}
STREAMS = {"/sessions/{key}/memory/events"}


class Leaking:
    """An observer that never forgets a secret it has seen, in whatever part of its prompt.

    The first ``refused`` replies with the secret are such as are refused, and kept for inspection.
    """

    def __init__(self, refused: int = 0) -> None:
        self._refused = refused

    def __call__(self, asked: Asked) -> str:
        if SECRET not in asked.prompt:
            return observe(asked)
        self._refused -= 1
        return f"It is {SECRET}." if self._refused >= 0 else telling(asked)


def telling(asked: Asked) -> str:
    said = observe(asked)
    cite = re.findall(r"^#(\d+) ", asked.prompt, re.MULTILINE)[0]
    lines = said.partition("</observations>")[0]
    told = f"* 🔴 (10:00) [fact] The code is {SECRET}. #{cite}\n"
    tasks = f"<current-task>Use {SECRET}</current-task>\n<suggested-response>It is {SECRET}</suggested-response>"
    return f"{lines}{told}</observations>\n{tasks}"


def condensing(asked: Asked) -> str:
    """A reflector that does not either."""
    if SECRET not in asked.prompt:
        return reflect(asked)
    return f"<observations>\nDate: Aug 1, 2026\n* 🔴 [fact] The code is {SECRET}. #4\n</observations>"


def message(number: int) -> Json:
    told = FILLER * 3
    if f"m-{number}" != ERASED:
        return {"id": f"m-{number}", "role": "user" if number % 2 else "assistant", "content": f"{number}. {told}"}
    long = f"The code is {SECRET}. {told * 40}{SECRET}"  # a part that is an artifact, and a preview where it is old
    secret = {"name": SECRET, "metadata": {"code": SECRET}}
    return {"id": ERASED, "role": "user", "content": [{"type": "text", "text": long}], **secret}


async def leaked(service: Service, *, branch: bool) -> None:
    """A session that holds the secret wherever one can."""
    body = {"resource_id": RESOURCE, "config": MEMORY, "metadata": {"plan": "pro"}}
    assert (await service.client.put(f"/sessions/{KEY}", json=body)).status_code == 201
    await service.client.put(f"/sessions/{KEY}/artifacts/plan", content=b"of the caller")
    await service.client.patch(f"/sessions/{KEY}/state", json={"page": "billing"})
    for number in range(1, 11):
        await service.append(KEY, message(number), wait_ms=50_000)
    await service.observe(KEY)
    await service.reflect(KEY)
    fact = {"text": f"The code is {SECRET}.", "category": "profile", "sources": [{"session": KEY, "cites": [3, 4]}]}
    assert (await service.client.post(f"/resources/{RESOURCE}/facts", json=fact)).status_code == 201
    if branch:
        answer = await service.client.post(f"/sessions/{KEY}/branch", json={"key": BRANCH, "at_seq": 8})
        assert answer.status_code == 201
    summary = {"up_to_seq": 8, "summary": f"It was about {SECRET}."}
    assert (await service.client.post(f"/sessions/{KEY}/compact", json=summary)).status_code == 200
    await service.append(KEY, message(20), message(21), wait_ms=50_000)


async def leaked_among_two(service: Service) -> None:
    """Two sessions that share a memory; what one of them was told is in the notes of both."""
    for key in (KEY, OTHER):
        body = {"resource_id": RESOURCE, "config": MEMORY | {"scope": "resource"}}
        assert (await service.client.put(f"/sessions/{key}", json=body)).status_code == 201
    for number in range(1, 9):
        await service.append(KEY, message(number), wait_ms=50_000)
        await service.append(OTHER, message(number + 10), wait_ms=50_000)
    await service.observe(KEY)
    await service.reflect(KEY)
    await service.append(OTHER, message(20), wait_ms=50_000)
    fact = {"text": f"The code is {SECRET}.", "category": "profile", "sources": [{"session": KEY, "cites": [3, 4]}]}
    assert (await service.client.post(f"/resources/{RESOURCE}/facts", json=fact)).status_code == 201


async def columns_with(secret: str, database_url: str) -> set[str]:
    """``table.column`` of all in the database that hold it."""
    connection = await asyncpg.connect(database_url)
    try:
        rows = await connection.fetch(
            "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public'"
        )
        found = set()
        for table, column, kind in rows:
            text = f"encode(\"{column}\", 'escape')" if kind == "bytea" else f'"{column}"::text'
            held = f'SELECT EXISTS (SELECT FROM "{table}" WHERE position($1 IN {text}) > 0)'  # noqa: S608 - the catalogue's own names
            if await connection.fetchval(held, secret):
                found.add(f"{table}.{column}")
        return found
    finally:
        await connection.close()


async def answers(service: Service, key: str) -> dict[str, str]:
    """What every GET of the document answers about a session, and the contexts of now and of every moment before."""
    known = await service.client.get(f"/sessions/{key}/messages", params={"limit": 500})
    ids = [one["id"] for one in known.json().get("items", [])] or [ERASED]
    values = {
        "key": [key],
        "resource_id": [RESOURCE],
        "message_id": ids,
        "name": ["plan", "page", "message:4:0"],
        "fact_id": ["1"],
    }
    paths = [path for method, path, _ in operations(service.app.openapi()) if method == "GET" and path not in STREAMS]
    asked = [one for path in paths for one in _filled(path, values)]
    last = len(ids)
    newest = (await service.client.get(f"/sessions/{key}/memory")).json().get("log", {}).get("version", 0)
    moments = [f"as_of_version={version}" for version in range(newest + 1)] + [
        f"as_of_seq={n}" for n in range(last + 1)
    ]
    context = f"/sessions/{key}/context"
    asked += [f"{context}?format={shape}&explain=true" for shape in FORMATS]
    asked += [f"{context}?{moment}" for moment in moments]
    asked += [f"/sessions/{key}/memory/log?version={version}" for version in range(newest + 1)]
    asked += [f"{context}/diff?from_version={version}" for version in range(newest)]
    return {path: (await service.client.get(path)).text for path in asked} | {"events": await events(service, key)}


def _filled(path: str, values: dict[str, list[str]]) -> list[str]:
    """A path for each value of its parameters; fails for a parameter that has none here."""
    names = re.findall(r"\{(\w+)", path)
    paths = [re.sub(r"\{(\w+)[^}]*\}", r"{\1}", path)]
    for name in names:
        paths = [one.replace(f"{{{name}}}", value) for one in paths for value in values[name]]
    return paths


async def events(service: Service, key: str) -> str:
    """The stream of what has happened, as far as it goes by itself."""
    headers = {"Last-Event-ID": ".".join("0000")}  # from the beginning on
    async with service.client.stream("GET", f"/sessions/{key}/memory/events", headers=headers) as answer:
        if answer.status_code != 200:
            return (await answer.aread()).decode()
        told = ""
        async for text in answer.aiter_text():
            told += text
            if "data:" in told:  # the first thing is an id without an event
                break
        return told


@asynccontextmanager
async def holding(start_service: StartService, models: ModelServer, *, branch: bool = True) -> AsyncIterator[Service]:
    models.answers |= {PromptKind.OBSERVER: Leaking(refused=1), PromptKind.REFLECTOR: condensing}
    async with start_service(provider="openai", http={"access_log": True}) as service:
        await leaked(service, branch=branch)
        yield service


async def test_an_erased_message_is_in_no_table_no_answer_no_past_and_no_log_line(
    start_service: StartService, models: ModelServer, database_url: str, lines: list[dict[str, Any]]
) -> None:
    async with holding(start_service, models) as service:
        carried = await columns_with(SECRET, database_url)
        told = [path for path, text in (await answers(service, KEY)).items() if SECRET in text]
        calls = len(models.requests)
        receipt = (await service.client.delete(f"/sessions/{KEY}/messages/{ERASED}")).json()
        at_once = await columns_with(SECRET, database_url)
        for key in (KEY, BRANCH):
            await rest(service, key)
        later = await columns_with(SECRET, database_url)
        found = {key: await answers(service, key) for key in (KEY, BRANCH)}
        memory = await service.memory(KEY)

    assert carried >= CARRIERS
    assert len(told) > 10
    assert receipt["sessions"] == [KEY, BRANCH]
    assert (at_once, later) == (set(), set())
    assert [path for texts in found.values() for path, text in texts.items() if SECRET in text] == []
    assert not any(SECRET in json.dumps(request.body) for request in models.requests[calls:])
    assert memory["status"] == "idle"
    assert "rebuilding" not in {one["by"] for one in memory["coverage"]["intervals"]}
    assert SECRET not in json.dumps(lines, default=str)


@pytest.mark.parametrize("path", [f"/sessions/{KEY}", f"/resources/{RESOURCE}"])
async def test_what_is_deleted_is_nowhere_either(
    start_service: StartService, models: ModelServer, database_url: str, path: str
) -> None:
    async with holding(start_service, models, branch="resources" in path) as service:
        deleted = await service.client.delete(path)
        found = await answers(service, KEY)

    assert deleted.status_code == 200
    assert await columns_with(SECRET, database_url) == set()
    assert [path for path, text in found.items() if SECRET in text] == []


async def test_a_call_that_has_the_message_in_view_records_nothing(
    start_service: StartService, models: ModelServer, database_url: str
) -> None:
    models.answers |= {PromptKind.OBSERVER: Leaking(), PromptKind.REFLECTOR: condensing}
    memory = {"message_tokens": 100, "buffer_every": None, "retain_tokens": 0}
    async with start_service(provider="openai", memory=memory) as service:
        models.fail_next(Fault.HANG, kind=PromptKind.OBSERVER)
        await service.append(KEY, message(1), message(4), message(7))
        assert await asyncio.to_thread(models.wait_for_requests, 1)
        receipt = await service.client.delete(f"/sessions/{KEY}/messages/{ERASED}")
        models.release()
        memory_after = await rest(service, KEY)
        observations = await items(service, f"/sessions/{KEY}/memory/observations")

    assert (receipt.status_code, receipt.json()["rebuilding"]) == (200, False)
    assert await columns_with(SECRET, database_url) == set()
    assert [one["by"] for one in memory_after["coverage"]["intervals"] if one["from"] <= 2 <= one["to"]] == ["erased"]
    assert observations != []


async def test_what_was_refused_is_not_asked_again_with_what_was_erased_meanwhile(
    start_service: StartService, models: ModelServer
) -> None:
    models.answers[PromptKind.OBSERVER] = lambda asked: f"It is {SECRET}." if SECRET in asked.prompt else observe(asked)
    memory = {"message_tokens": 100, "buffer_every": None, "retain_tokens": 0}
    async with start_service(provider="openai", memory=memory) as service:
        models.fail_next(Fault.HANG, kind=PromptKind.OBSERVER)
        await service.append(KEY, message(1), message(4), message(7))
        assert await asyncio.to_thread(models.wait_for_requests, 1)
        await service.client.delete(f"/sessions/{KEY}/messages/{ERASED}")
        models.release()
        await rest(service, KEY)
    assert [SECRET in request.asked.prompt for request in models.requests] == [True, False]


@pytest.mark.parametrize("during_the_call", [False, True])
async def test_what_was_refused_of_a_message_that_is_replaced_is_nowhere(
    start_service: StartService, models: ModelServer, database_url: str, *, during_the_call: bool
) -> None:
    models.answers[PromptKind.OBSERVER] = lambda asked: f"It is {SECRET}." if SECRET in asked.prompt else observe(asked)
    memory = {"message_tokens": 100, "buffer_every": None, "retain_tokens": 0}
    async with start_service(provider="openai", memory=memory) as service:
        if during_the_call:
            models.fail_next(Fault.HANG, kind=PromptKind.OBSERVER)
        await service.append(KEY, message(1), message(4), message(7))
        if during_the_call:
            assert await asyncio.to_thread(models.wait_for_requests, 1)
        else:
            await until(lambda: columns_with(SECRET, database_url), lambda held: "runs.rejected_output" in held)
        replaced = await service.client.put(f"/sessions/{KEY}/messages/{ERASED}", json=message(5) | {"id": ERASED})
        models.release()
        await rest(service, KEY)
        runs = await items(service, f"/sessions/{KEY}/memory/runs")

    assert replaced.status_code == 200, replaced.text
    assert await columns_with(SECRET, database_url) == set()
    assert {run["outcome"] for run in runs} == {"rejected", "recorded"}


async def test_a_receipt_counts_what_was_refused_where_it_is_emptied(
    start_service: StartService, models: ModelServer
) -> None:
    models.answers[PromptKind.OBSERVER] = Leaking(refused=1)
    emptied = []
    async with start_service(provider="openai", memory={"message_tokens": 100, "buffer_every": None}) as service:
        await service.append(KEY, message(1), message(4), message(7), wait_ms=50_000)
        await service.append(KEY, message(8), wait_ms=50_000)
        for id_ in ("m-8", "m-1", "m-7"):
            receipt = (await service.client.delete(f"/sessions/{KEY}/messages/{id_}")).json()
            emptied.append(receipt["rows"]["runs"])
            await rest(service, KEY)
    assert emptied == [0, 1, 0]


async def test_what_a_model_noted_of_it_for_its_resource_is_nowhere_either(
    start_service: StartService, models: ModelServer, database_url: str
) -> None:
    said = [message(1) | {"content": "I live in Faro."}, message(4) | {"content": f"My code is {SECRET}."}]
    async with start_service(provider="openai") as service:
        body = {"messages": said, "resource_id": RESOURCE}
        assert (await service.client.post(f"/sessions/{KEY}/messages", json=body)).status_code == 201
        await service.client.post(f"/sessions/{KEY}/end")
        await rest(service, KEY)
        carried = await columns_with(SECRET, database_url)
        await service.client.delete(f"/sessions/{KEY}/messages/{ERASED}")
        at_once = await columns_with(SECRET, database_url)
        await rest(service, KEY)
        facts = (await service.get(f"/resources/{RESOURCE}/facts"))["items"]

    assert carried >= {"facts.text", "facts.sources"}
    assert at_once == await columns_with(SECRET, database_url) == set()
    assert [fact["text"] for fact in facts] == ["User said: I live in Faro."]
    assert SECRET not in models.asked(PromptKind.EXTRACTOR)[-1].prompt


@pytest.mark.parametrize("path", [f"/sessions/{KEY}/messages/{ERASED}", f"/sessions/{KEY}"])
async def test_what_goes_of_one_session_is_in_nothing_that_others_share_with_it(
    start_service: StartService, models: ModelServer, database_url: str, path: str
) -> None:
    models.answers |= {PromptKind.OBSERVER: Leaking(refused=1), PromptKind.REFLECTOR: condensing}
    async with start_service(provider="openai") as service:
        await leaked_among_two(service)
        carried = await columns_with(SECRET, database_url)
        told = [one for one, text in (await answers(service, OTHER)).items() if SECRET in text]
        calls = len(models.requests)
        erased = await service.client.delete(path)
        at_once = await columns_with(SECRET, database_url)
        memory = await rest(service, OTHER)
        later = await columns_with(SECRET, database_url)
        found = {key: await answers(service, key) for key in (KEY, OTHER)}

    assert carried >= CARRIERS
    assert len(told) > 10
    assert erased.status_code == 200
    assert (at_once, later) == (set(), set())
    assert [one for texts in found.values() for one, text in texts.items() if SECRET in text] == []
    assert not any(SECRET in json.dumps(request.body) for request in models.requests[calls:])
    covered = {one["by"].split(":")[0] for one in memory["coverage"]["intervals"]}
    assert (memory["status"], memory["coverage"]["gaps"]) == ("idle", [])
    assert covered <= {"observation", "reflection", "buffered", "tail"}
