"""Redaction through the whole service: what is switched on is in no table, no prompt, no context and no answer."""

import json
from collections.abc import Iterator
from typing import Any

import asyncpg
import httpx2 as httpx
import pytest

from app.redaction.model import mark
from tests.conftest import Service, StartService
from tests.databases import TABLES
from tests.journeys.looks import WAIT_MS, Json, until
from tests.model_server import ModelServer, Said
from tests.model_wire import Ending, reply
from tests.redaction.cases import secrets

MEMORY = {"message_tokens": 300, "observation_tokens": 10_000, "buffer_every": None, "keep_last": 0}
KEY = next(case.secret for case in secrets() if case.kind == "github-token")
MARK = mark("github-token")
ON = {"tenants": "default", "hook": "tests.redaction.hooks:failing_later"}
SAID = f"Deploy it with {KEY} please, as we did last week. "
MESSAGES: list[Json] = [
    {"id": "m-1", "role": "user", "content": SAID * 3, "metadata": {"note": KEY}},
    {
        "id": "m-2",
        "role": "assistant",
        "content": [
            {"type": "reasoning", "text": KEY, "signature": "signed"},
            {"type": "tool_call", "id": "c1", "name": "deploy", "arguments": {"token": KEY, "password": "Tr0ub4dor"}},
        ],
    },
    {"id": "m-3", "role": "tool", "tool_call_id": "c1", "content": f"export GITHUB_TOKEN={KEY}\n" + "ok. " * 400},
    {"id": "m-4", "role": "assistant", "content": [{"type": "file", "name": ".env", "content": f"A={KEY}"}]},
    {"id": "m-5", "role": "user", "content": "Thank you."},
]


@pytest.fixture
def models_that_leak(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer(observer=lambda _: f"The token is {KEY}.") as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        yield server


async def rows(database_url: str, text: str) -> list[str]:
    """The tables that hold the text anywhere."""
    connection = await asyncpg.connect(database_url)
    try:
        found = [
            table
            for table in TABLES
            if await connection.fetchval(f"SELECT count(*) FROM {table} t WHERE t::text LIKE '%' || $1 || '%'", text)  # noqa: S608 - our own table names
        ]
        if await connection.fetchval("SELECT count(*) FROM artifacts WHERE position($1 IN content) > 0", text.encode()):
            found.append("artifacts, bytes")
    finally:
        await connection.close()
    return found


async def write_everywhere(service: Service) -> None:
    """Send the secret by every way in."""
    await service.append("s", *MESSAGES, wait_ms=WAIT_MS)
    session = "/sessions/s"
    note = (await service.get(f"{session}/memory/observations"))["items"][-1]["id"]
    sent: list[tuple[str, str, dict[str, Any]]] = [
        ("PUT", session, {"json": {"metadata": {"key": KEY}, "config": {"instruction": f"never say {KEY}"}}}),
        ("PUT", f"{session}/messages/m-5", {"json": {"role": "user", "content": f"No, {KEY}"}}),
        ("PATCH", f"{session}/state", {"json": {"x": {"deep": [KEY]}}}),
        ("PUT", f"{session}/state/y", {"json": KEY}),
        ("PUT", f"{session}/artifacts/a.txt", {"content": f"# {KEY}\n", "headers": {"Content-Type": "text/plain"}}),
        ("PATCH", f"{session}/memory/observations/{note}", {"json": {"text": f"* 🔴 (10:00) User has {KEY}. #1"}}),
        ("PUT", "/resources/ana", {"json": {"metadata": {"key": KEY}, "config": {"instruction": f"never say {KEY}"}}}),
        ("POST", "/resources/ana/facts", {"json": {"text": f"It is {KEY}.", "category": "insight"}}),
        ("POST", f"{session}/compact", {"json": {"up_to_seq": 3, "summary": f"It was {KEY}."}}),
    ]
    for method, path, body in sent:
        answer = await service.client.request(method, path, **body)
        assert answer.is_success, (path, answer.text)
        assert KEY not in answer.text


async def test_a_secret_is_stored_nowhere_and_sent_to_no_model(
    start_service: StartService, models: ModelServer, database_url: str
) -> None:
    async with start_service(provider="anthropic", memory=MEMORY, redaction={"tenants": "*"}) as service:
        await write_everywhere(service)
        await service.reflect("s")
        stored = (await service.get("/sessions/s/messages"))["items"]
        context = await service.context("s", format="anthropic")
        artifact = await service.client.get("/sessions/s/artifacts/a.txt")

    assert await rows(database_url, KEY) == await rows(database_url, "Tr0ub4dor") == []
    assert "messages" in await rows(database_url, MARK)
    assert models.requests
    assert not [request for request in models.requests if KEY in json.dumps(request.body)]
    assert any(MARK in request.asked.prompt for request in models.requests)
    assert stored[1]["content"] == [
        {"type": "reasoning", "text": MARK},  # without the signature, which is of other words
        {
            "type": "tool_call",
            "id": "c1",
            "name": "deploy",
            "arguments": {"token": MARK, "password": mark("password")},
        },
    ]
    assert stored[0]["content"][0]["text"] == SAID.replace(KEY, MARK) * 3
    assert KEY not in json.dumps(context)
    assert artifact.text == f"# {MARK}\n"
    assert artifact.headers["content-length"] == str(len(artifact.content))


async def test_no_request_waits_for_a_hook_that_takes_its_time(
    start_service: StartService, models: ModelServer
) -> None:
    hook = {"tenants": "*", "hook": "tests.redaction.hooks:off_the_loop"}
    async with start_service(provider="anthropic", memory={**MEMORY, "enabled": False}) as service:
        await service.append("before", *MESSAGES)
    async with start_service(provider="anthropic", memory=MEMORY, redaction=hook) as service:
        assert (await service.append("before", *MESSAGES))["replayed"] == len(MESSAGES)
        await write_everywhere(service)
        await service.reflect("s")
        memory = await service.memory("s")
    assert models.requests
    assert memory["last_error"] is None


async def test_what_was_stored_before_is_sent_to_no_model_and_stored_no_more(
    start_service: StartService, models: ModelServer, database_url: str
) -> None:
    async with start_service(provider="openai", memory={**MEMORY, "enabled": False}) as service:
        await service.append("s", *MESSAGES)
    assert await rows(database_url, KEY) == ["messages"]

    async with start_service(provider="openai", memory=MEMORY, redaction=ON) as service:
        await service.observe("s")
        memory = await service.memory("s")
        again = await service.append("s", *MESSAGES)

    assert memory["log"]["observations"] == 1
    assert await rows(database_url, KEY) == ["messages"]
    assert not [request for request in models.requests if KEY in json.dumps(request.body)]
    assert again["replayed"] == len(MESSAGES)


async def test_what_a_summary_told_before_is_not_stored_anew_with_the_next_one(start_service: StartService) -> None:
    said = [{"role": "user", "content": f"It is the {number}. day."} for number in range(6)]
    async with start_service(memory={"enabled": False}) as service:
        await service.append("s", *said)
        summary = {"up_to_seq": 2, "summary": SAID}
        assert (await service.client.post("/sessions/s/compact", json=summary)).status_code == 200

    async with start_service(memory={"enabled": False}, redaction=ON) as service:
        answer = await service.client.post("/sessions/s/compact", json={"up_to_seq": 4})

    told = [part["text"] for part in answer.json()["summary"]["content"]]
    assert SAID.replace(KEY, MARK) in told
    assert KEY not in str(told)


ITEMS: list[Json] = [
    {"type": "function_call", "call_id": "c1", "name": "deploy", "arguments": json.dumps({"token": KEY})},
    {"type": "function_call", "call_id": "c2", "name": "deploy", "arguments": f'{{ "token":  "{KEY}" }}'},
    {"type": "custom_tool_call", "call_id": "c3", "name": "deploy", "input": SAID},
    {"type": "mcp_call", "id": "i-3", "server_label": "ci", "name": "deploy", "arguments": json.dumps({"token": KEY})},
    {"type": "function_call_output", "call_id": "c1", "output": SAID},
    {"type": "message", "role": "user", "name": "ana", "content": [{"type": "input_text", "text": SAID}]},
    {"role": "assistant", "content": None, "name": "bot", "function_call": {"name": "deploy", "arguments": SAID}},
    {"role": "model", "parts": [{"functionCall": {"name": "deploy", "args": {"token": KEY}}}]},
]


@pytest.mark.parametrize("named", [None, "deploy"], ids=["as it is stored", "as calls were stored, with a name"])
async def test_an_item_that_was_stored_before_is_known_again_and_others_are_not(
    start_service: StartService, database_url: str, named: str | None
) -> None:
    sent = [{"id": f"i-{number}", **item} for number, item in enumerate(ITEMS)]
    async with start_service(memory={"enabled": False}) as service:
        await service.append("s", *sent)
    assert await rows(database_url, KEY) == ["messages"]
    if named is not None:
        connection = await asyncpg.connect(database_url)
        calls = ["i-0", "i-1", "i-2", "i-3"]
        await connection.execute("UPDATE messages SET name = $1 WHERE id = ANY($2::text[])", named, calls)
        await connection.close()

    async with start_service(memory={"enabled": False}, redaction={"tenants": "*"}) as service:
        assert (await service.append("s", *sent))["replayed"] == len(ITEMS)
        for item in (*({**call, "name": "destroy"} for call in sent[:4]), {**sent[5], "name": "bo"}):
            other = await service.client.post("/sessions/s/messages", json={"messages": [item]})
            assert other.status_code == httpx.codes.CONFLICT, item


@pytest.mark.parametrize(
    ("media_type", "charset"),
    [
        pytest.param("text/plain", "latin-1", id="one letter that is no UTF-8"),
        pytest.param("text/plain; charset=utf-16", "utf-16", id="as it is named"),
        pytest.param("text/plain", "utf-16", id="as its first bytes tell"),
        pytest.param("text/plain; charset=klingon", "latin-1", id="a name of no charset"),
        pytest.param("application/json", "latin-1", id="JSON"),
        pytest.param("application/x-ndjson", "latin-1", id="lines of JSON"),
        pytest.param("application/problem+json", "latin-1", id="what is built on JSON"),
        pytest.param("image/svg+xml", "latin-1", id="what is built on XML"),
        pytest.param("application/xml; charset=utf-16", "utf-16", id="XML as it is named"),
        pytest.param("application/json", "utf-16-le", id="JSON two by two"),
        pytest.param("application/x-ndjson", "utf-32-be", id="JSON four by four"),
        pytest.param("application/octet-stream", "utf-16", id="as its first bytes tell, of no type"),
        pytest.param("application/vnd.acme; charset=iso-8859-1", "latin-1", id="what has a charset is a text"),
        pytest.param("text/plain; charset=utf-16", "utf-16-be", id="as it is named, the larger byte first"),
        pytest.param("text/plain; charset=utf-16", "latin-1", id="as it is not named"),
        pytest.param("text/plain; charset=UTF-16LE", "utf-16-be", id="nor in its order"),
    ],
)
async def test_a_text_that_is_no_utf_8_loses_its_secrets_alone(
    start_service: StartService, media_type: str, charset: str
) -> None:
    async with start_service(redaction=ON) as service:
        await service.append("s", MESSAGES[0])
        path, typed = "/sessions/s/artifacts/notes", {"Content-Type": media_type}
        for said, kept in ((f"x é: {KEY}, then", f"x é: {MARK}, then"), ("x é alone", "x é alone")):
            put = await service.client.put(path, content=said.encode(charset), headers=typed)
            assert put.is_success, put.text
            assert (await service.client.get(path)).content.decode(charset) == kept


@pytest.mark.parametrize("media_type", ["text/plain", "text/plain; charset=utf-16", "application/json; charset=utf-32"])
@pytest.mark.parametrize("charset", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
async def test_a_text_that_begins_with_other_letters_loses_its_secrets_too(
    start_service: StartService, media_type: str, charset: str
) -> None:
    """Where no mark tells the order of its bytes, nor do its first characters."""
    async with start_service(redaction=ON) as service:
        await service.append("s", MESSAGES[0])
        path, typed = "/sessions/s/artifacts/notes", {"Content-Type": media_type}
        await service.client.put(path, content=f"一二 {KEY}, then".encode(charset), headers=typed)
        assert (await service.client.get(path)).content == f"一二 {MARK}, then".encode(charset)


@pytest.mark.parametrize("charset", ["utf-16", "utf-16-be", "utf-32-le"])
async def test_a_text_that_was_cut_within_a_character_loses_its_secrets_too(
    start_service: StartService, charset: str
) -> None:
    async with start_service(redaction=ON) as service:
        await service.append("s", MESSAGES[0])
        path, typed = "/sessions/s/artifacts/notes", {"Content-Type": "text/plain"}
        await service.client.put(path, content=f"x {KEY}, then".encode(charset)[:-1], headers=typed)
        assert (await service.client.get(path)).content == f"x {MARK}, then".encode(charset)[:-1]


async def test_an_artifact_that_lost_a_secret_is_answered_without_the_tag_of_other_bytes(
    start_service: StartService,
) -> None:
    """RFC 9110 section 9.3.4: a tag would tell the caller that what is stored is what it sent."""
    async with start_service(redaction=ON) as service:
        await service.append("s", MESSAGES[0])
        path = "/sessions/s/artifacts/notes"
        tagged = ["etag" in (await service.client.put(path, content=text)).headers for text in (KEY, KEY, "harmless")]
    assert tagged == [False, False, True]


async def test_what_is_no_text_is_kept_to_the_byte(start_service: StartService) -> None:
    image = b"\x89PNG \xff" + KEY.encode()
    async with start_service(redaction=ON) as service:
        await service.append("s", MESSAGES[0])
        for media_type in ("image/png", "application/octet-stream", "text/plain"):
            path, typed = "/sessions/s/artifacts/image", {"Content-Type": media_type}
            content = image if media_type != "text/plain" else b"\0" + image
            await service.client.put(path, content=content, headers=typed)
            assert (await service.client.get(path)).content == content


async def test_a_retry_is_recognised_and_other_words_are_not(start_service: StartService) -> None:
    async with start_service(redaction=ON) as service:
        first = await service.append("s", *MESSAGES)
        again = await service.append("s", *MESSAGES)
        changed = {**MESSAGES[4], "content": f"Thank you, {KEY}."}
        other = await service.client.post("/sessions/s/messages", json={"messages": [changed]})

    assert [message["tokens"] for message in again["messages"]] == [m["tokens"] for m in first["messages"]]
    assert (first["replayed"], again["replayed"]) == (0, len(MESSAGES))
    assert other.status_code == httpx.codes.CONFLICT


NAMED = {"tenants": "default", "hook": "tests.redaction.hooks:without_codenames"}
STEP = {"type": "reasoning.text", "text": "The codename is Ultra.", "signature": "signed"}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"codename": "codename"}'}}
TOLD: list[Json] = [
    {"role": "user", "content": "The codename of it, the codename, is Ultra."},
    {"role": "assistant", "content": "Yes.", "reasoning": "The codename is Ultra.", "reasoning_details": [STEP]},
    {"role": "assistant", "content": None, "tool_calls": [CALL], "reasoning_details": [STEP]},
    {"role": "tool", "tool_call_id": "c1", "content": "A codename"},
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "A codename", "signature": "signed"}]},
    {"role": "assistant", "content": [{"type": "file", "name": "a", "content": "A codename"}]},
]


@pytest.mark.parametrize(
    "today",
    [NAMED | {"hook": None}, NAMED | {"hook": "tests.redaction.hooks:without_names"}, {}],
    ids=["fewer rules", "other rules", "switched off"],
)
async def test_what_is_redacted_no_more_is_known_again_and_other_words_are_not(
    start_service: StartService, today: Json
) -> None:
    """An agent that sends its history again would else be refused for ever, for what the hook of yesterday took out."""
    sent = [{"id": f"m-{number}", **told} for number, told in enumerate(TOLD)]
    async with start_service(memory={"enabled": False}, redaction=NAMED) as service:
        await service.append("s", *sent)
        stored = (await service.get("/sessions/s/messages"))["items"]
    async with start_service(memory={"enabled": False}, redaction=today) as service:
        again = await service.append("s", *sent)
        for number, told in enumerate(sent):
            others = json.loads(json.dumps(told).replace("Yes", "No").replace("look", "peek").replace("A co", "No co"))
            others |= {"content": "Another"} if others == told else {}
            answer = await service.client.post("/sessions/s/messages", json={"messages": [others]})
            assert answer.status_code == httpx.codes.CONFLICT, number
        by_another = {"messages": [sent[0] | {"role": "assistant"}]}
        assert (await service.client.post("/sessions/s/messages", json=by_another)).status_code == httpx.codes.CONFLICT

    assert all("[redacted: codename]" in json.dumps(one) for one in stored)
    assert again["replayed"] == len(sent)


async def test_a_model_that_says_a_secret_of_its_own_is_redacted(
    start_service: StartService, models_that_leak: ModelServer, database_url: str
) -> None:
    async with start_service(provider="anthropic", memory=MEMORY, redaction=ON) as service:
        await service.append("s", *[{**MESSAGES[0], "id": str(number)} for number in range(8)])
        await until(lambda: service.memory("s"), lambda memory: memory["status"] == "backing_off")
        runs = (await service.get("/sessions/s/memory/runs"))["items"]

    assert models_that_leak.requests
    assert {run["outcome"] for run in runs} == {"rejected"}
    assert MARK in runs[0]["rejected_output"]
    assert await rows(database_url, KEY) == []


async def test_other_tenants_keep_what_they_say(start_service: StartService, database_url: str) -> None:
    async with start_service(redaction={"tenants": "another"}) as service:
        await service.append("s", *MESSAGES)
    assert await rows(database_url, KEY) == ["messages"]


async def test_nothing_is_stored_that_the_hook_could_not_look_at(
    start_service: StartService, database_url: str
) -> None:
    async with start_service(redaction=ON) as service:
        answer = await service.client.post(
            "/sessions/s/messages", json={"messages": [{"role": "user", "content": "the codename is Ultra"}]}
        )
    assert answer.status_code == httpx.codes.SERVICE_UNAVAILABLE
    assert answer.json()["type"] == "/problems/redaction-failed"
    assert "Ultra" not in answer.text
    assert await rows(database_url, "Ultra") == []


async def test_a_step_whose_texts_cannot_be_looked_at_sends_nothing(
    start_service: StartService, models: ModelServer
) -> None:
    said = {"role": "user", "content": "the codename is Ultra. " * 100}
    async with start_service(provider="openai", memory={**MEMORY, "enabled": False}) as service:
        await service.append("s", said, {"role": "user", "content": "And so on."})
    async with start_service(provider="openai", memory=MEMORY, redaction=ON) as service:
        await service.client.post("/sessions/s/memory/observe")
        memory = await until(lambda: service.memory("s"), lambda memory: memory["last_error"] is not None)
    assert memory["last_error"]["kind"] == "internal"
    assert not models.requests


@pytest.mark.parametrize("refused", [False, True])
async def test_a_step_that_breaks_after_its_calls_has_paid_for_them_and_quotes_nothing(
    start_service: StartService, models: ModelServer, database_url: str, *, refused: bool
) -> None:
    said = [{"role": "user", "content": "We leave for Lisbon in May. " * 100}, {"role": "user", "content": "Soon."}]
    replies = iter(["Lisbon, Lisbon and Lisbon", "the codename is Ultra"])
    endings = iter([Ending.LENGTH, Ending.REFUSAL if refused else Ending.END])
    models.said_to = lambda asked: Said(body=reply("anthropic", asked, next(replies), next(endings)))
    once = {"sweep_seconds": 600}  # there is no reply to another try
    async with start_service(provider="anthropic", memory=MEMORY, redaction=ON, engine=once) as service:
        await service.append("s", *said)
        memory = await until(lambda: service.memory("s"), lambda memory: memory["last_error"] is not None)
        runs = (await service.get("/sessions/s/memory/runs"))["items"]
    assert memory["last_error"]["kind"] == "internal"
    assert memory["usage"]["observer"]["calls"] == len(models.requests) == len(runs) == 2
    assert memory["usage"]["observer"]["input_tokens"] == sum(run["input_tokens"] for run in runs) > 0
    assert [(run["outcome"], run["rejected_output"], run["from_seq"]) for run in runs] == [
        ("failed", None, 1),
        ("rejected", None, 1),
    ]
    assert await rows(database_url, "Ultra") == []
    assert await rows(database_url, "Lisbon and Lisbon") == []
