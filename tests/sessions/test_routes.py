"""Messages and sessions over HTTP (api.md, Messages and Sessions)."""

import json
import operator
from functools import partial
from typing import Any, get_args

import asyncpg
import httpx2 as httpx
import pytest

from app.llm.port import Provider, Usage
from app.llm.prices import cost_usd
from app.memory.status import MemoryStatus
from app.sessions.schemas import StatusName
from benchmarks.speed import filling
from tests.conftest import Service, StartService
from tests.journeys.looks import until, until_stalled
from tests.model_server import Fault, ModelServer
from tests.test_problems import assert_problem, pointers

MESSAGES = "/sessions/s1/messages"


def said(text: str = "Hi", **fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **fields}


async def post(service: Service, *messages: dict[str, Any], key: str = "s1", **fields: Any) -> httpx.Response:
    return await service.client.post(f"/sessions/{key}/messages", json={"messages": list(messages), **fields})


async def stored(service: Service, **parameters: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await service.get(MESSAGES, **parameters))["items"]
    return items


# Append


FUNCTION_CALL = {"type": "function_call", "call_id": "c1", "name": "search", "arguments": "{}"}
TOOL_CALL = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
OUTPUT = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Here."}]}


@pytest.mark.parametrize(
    ("sent", "role"),
    [
        (FUNCTION_CALL | {"id": "fc_1"}, "assistant"),
        (OUTPUT | {"id": "msg_1"}, "assistant"),
        ({"id": "m", "type": "function_call_output", "call_id": "c1", "output": "found"}, "tool"),
        ({"id": "m", "role": "assistant", "tool_calls": [TOOL_CALL]}, "assistant"),
        ({"id": "m", "role": "user", "parts": [{"text": "Hi"}]}, "user"),
    ],
)
async def test_what_is_listed_may_be_sent_again(service: Service, sent: dict[str, Any], role: str) -> None:
    await post(service, sent)
    [listed] = (await service.get(MESSAGES))["items"]
    again = {"id": sent["id"], "role": role, "content": listed["content"]}
    assert (await post(service, again)).json()["replayed"] == 1
    other = {"id": sent["id"], "role": "user", "content": "Something else"}
    assert_problem(await service.client.post(MESSAGES, json={"messages": [other]}), 409, "message-conflict")


async def test_many_may_be_sent_again_as_they_are_listed_and_the_first_with_other_words_is_named(
    service: Service,
) -> None:
    calls = [FUNCTION_CALL | {"id": f"fc_{number}", "call_id": f"c{number}"} for number in range(25)]
    await post(service, *calls)
    found = (await service.get(MESSAGES))["items"]
    again = [{"id": one["id"], "role": "assistant", "content": one["content"]} for one in found]
    answer = (await post(service, *again, said("And now?"))).json()
    assert (answer["replayed"], len(answer["messages"])) == (len(again), len(again) + 1)
    for at in (3, 21):
        other = [*again[:at], {**again[at], "content": "Something else"}, *again[at + 1 :]]
        answer = assert_problem(await service.client.post(MESSAGES, json={"messages": other}), 409, "message-conflict")
        assert [error["pointer"] for error in answer["errors"]] == [f"/messages/{at}/id"]


async def test_a_number_may_be_sent_again_as_it_is_written_elsewhere(service: Service) -> None:
    """As by JavaScript, which has no other 1.0 than 1, and by a jsonb, which tells no exponent."""

    def counted(arguments: dict[str, Any]) -> dict[str, Any]:
        called = {"type": "tool_call", "id": "c1", "name": "count", "arguments": arguments}
        return {"id": "m", "role": "assistant", "content": [called]}

    await post(service, counted({"n": 1.0, "of": [1e16, 1e300, -1e300], "half": 0.5}))
    again = counted({"n": 1, "of": [10_000_000_000_000_000, 1e300, -1e300], "half": 0.5})
    assert (await post(service, again)).json()["replayed"] == 1
    for other in ({"n": True}, {"n": "1"}, {"n": 2}, {"half": 0}):
        body = {"messages": [counted({"n": 1, "of": [1e16, 1e300, -1e300], "half": 0.5} | other)]}
        assert_problem(await service.client.post(MESSAGES, json=body), 409, "message-conflict")


async def test_what_an_sdk_dumps_may_be_sent_again_with_other_fields_that_are_null(service: Service) -> None:
    """As google-genai dumps a content, by its version and with ``exclude_none`` or ``by_alias`` or neither."""
    called: dict[str, Any] = {"name": "weather", "args": {"city": None}}
    dumped: list[dict[str, Any]] = [
        {"functionCall": called, "thoughtSignature": "c2ln"},
        {"function_call": called | {"id": None, "partial_args": None}, "thought_signature": "c2ln", "thought": None},
    ]
    for first, then in (dumped, reversed(dumped)):
        await service.client.delete("/sessions/s1")
        await post(service, {"id": "m", "role": "model", "parts": [first]})
        assert (await post(service, {"id": "m", "role": "model", "parts": [then]})).json()["replayed"] == 1
        other = {"id": "m", "role": "model", "parts": [then | {"functionCall": called | {"args": {}}}]}
        assert_problem(await service.client.post(MESSAGES, json={"messages": [other]}), 409, "message-conflict")


async def test_bytes_may_be_sent_again_in_the_other_alphabet_of_base64(service: Service) -> None:
    """Gemini's API answers in the standard one, and google-genai dumps the same bytes in the URL-safe one."""

    def shown(data: str, signature: str, said: str = "+/") -> dict[str, Any]:
        called = {"functionCall": {"name": "look", "args": {"data": said}}, "thoughtSignature": signature}
        return {"id": "m", "role": "model", "parts": [{"inlineData": {"data": data, "mimeType": "image/png"}}, called]}

    spellings = [shown("+//+AQ==", "+//+"), shown("-__-AQ", "-__-")]
    others = [shown("-__-Ag", "-__-"), shown("-__-AQ", "-___"), shown("-__-AQ", "-__-", said="-_")]
    for first, then in (spellings, reversed(spellings)):
        await service.client.delete("/sessions/s1")
        await post(service, first)
        assert (await post(service, then)).json()["replayed"] == 1
        for other in others:
            assert_problem(await service.client.post(MESSAGES, json={"messages": [other]}), 409, "message-conflict")


@pytest.mark.parametrize("again", [{"type": "message"}, {}])
async def test_an_item_may_be_sent_again_with_its_type_and_without(service: Service, again: dict[str, Any]) -> None:
    said_once = {"id": "msg_1", "role": "assistant", "content": "Here."}
    await post(service, said_once | ({} if again else {"type": "message"}))
    assert (await post(service, said_once | again)).json()["replayed"] == 1


@pytest.mark.parametrize(
    ("stored", "sent"),
    [
        ({"type": "thinking", "thinking": "Hm."}, {"signature": "c2ln"}),
        ({"type": "tool_call", "id": "c1", "name": "search", "arguments": {}, "item_id": "fc_1"}, {"item_id": "fc_2"}),
    ],
    ids=["signed only now", "of another item"],
)
async def test_a_part_that_a_provider_would_be_sent_otherwise_is_not_the_same(
    service: Service, stored: dict[str, Any], sent: dict[str, Any]
) -> None:
    said_once = {"id": "m", "role": "assistant", "content": [stored]}
    await post(service, said_once)
    assert (await post(service, said_once)).json()["replayed"] == 1
    assert_problem(await post(service, said_once | {"content": [stored | sent]}), 409, "message-conflict")


@pytest.mark.parametrize("mark", ["cache_control", "prompt_cache_breakpoint"])
async def test_what_is_sent_again_may_be_marked_for_a_provider_s_cache_elsewhere(service: Service, mark: str) -> None:
    marked, text = {mark: {"type": "ephemeral"}}, {"type": "text", "text": "Here."}
    result = {"type": "tool_result", "tool_call_id": "c1"}
    said_once = [
        {"id": "m1", "role": "user", "content": [text | marked]},
        {"id": "m2", "role": "assistant", "tool_calls": [TOOL_CALL]},
        {"id": "m3", "role": "tool", "content": [result | {"output": [text | marked]}]},
    ]
    await post(service, *said_once)
    said_again = [
        said_once[0] | {"content": [text]},
        said_once[1],
        said_once[2] | {"content": [result | marked | {"output": [text]}]},
        {"id": "m4", "role": "user", "content": [text | marked]},
    ]
    assert (await post(service, *said_again)).json()["replayed"] == 3

    [first, *_] = (await service.get(MESSAGES))["items"]
    assert first["content"] == said_once[0]["content"]
    marked_in_the_call = {"function": {"name": "search", "arguments": f'{{"{mark}": 1}}'}}
    other = said_once[1] | {"tool_calls": [TOOL_CALL | marked_in_the_call]}
    assert_problem(await service.client.post(MESSAGES, json={"messages": [other]}), 409, "message-conflict")


async def test_the_tool_that_an_item_calls_is_not_who_says_it(service: Service, database_url: str) -> None:
    item = {"type": "function_call", "call_id": "c1", "id": "fc_1", "name": "search", "arguments": "{}"}
    await post(service, said("Where is it?"), item)
    shown = await service.context("s1", format="openai")
    assert [message.get("name") for message in shown["payload"]["messages"]][:2] == [None, None]
    connection = await asyncpg.connect(database_url)
    before = "UPDATE messages SET name = 'search' WHERE id = 'fc_1'"  # as it was stored once
    assert await connection.execute(before) == "UPDATE 1"
    await connection.close()
    assert (await post(service, item)).json()["replayed"] == 1
    other = await service.client.post(MESSAGES, json={"messages": [item | {"name": "fetch"}]})
    assert_problem(other, 409, "message-conflict")


async def test_messages_are_stored_in_their_order_with_their_kinds(service: Service) -> None:
    call = {"type": "tool_call", "id": "c1", "name": "search", "arguments": {"q": "Lisbon"}}
    result = {"type": "tool_result", "tool_call_id": "c1", "output": "Sunny", "is_error": False}
    answer = await post(
        service,
        {"role": "system", "content": "Be kind."},
        said("I moved to Lisbon", id="m-2"),
        {"role": "assistant", "content": [{"type": "text", "text": "Let me look."}, call]},
        {"role": "tool", "content": [result]},
        {"role": "assistant", "content": "It is sunny."},
        {"role": "system", "kind": "boundary"},
    )
    assert answer.status_code == 201
    body = answer.json()
    assert (body["session"], body["replayed"]) == ("s1", 0)
    assert [(message["seq"], message["kind"]) for message in body["messages"]] == [
        (1, "system_message"),
        (2, "user_message"),
        (3, "tool_call"),
        (4, "tool_result"),
        (5, "assistant_message"),
        (6, "boundary"),
    ]
    assert body["messages"][1]["id"] == "m-2"
    read = await stored(service)
    assert [{name: message[name] for name in ("id", "seq", "kind", "tokens")} for message in read] == body["messages"]
    assert read[2]["content"] == [{"type": "text", "text": "Let me look."}, call]
    assert read[3]["content"] == [result]


async def test_an_append_tells_where_the_memory_stands(service: Service) -> None:
    await service.configure("s1", message_tokens=1_000, observation_tokens=2_000)
    system = {"role": "system", "content": "not observed"}
    body = await service.append("s1", said("one two three"), system, wait_ms=50_000)  # the config is looked at first
    assert body["memory"] == {
        "status": "idle",
        "pending_tokens": body["messages"][0]["tokens"],
        "observe_at": 1_000,
        "observation_tokens": 0,
        "reflect_at": 2_000,
    }


async def test_the_openai_shape_is_taken_as_it_comes_from_the_sdk(service: Service) -> None:
    function = {"name": "search", "arguments": '{"q": "Lisbon"}'}
    await service.append(
        "s1",
        {"role": "developer", "content": "Be kind."},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "c1", "content": "Sunny"},
    )
    read = await stored(service)
    assert [message["kind"] for message in read] == ["system_message", "tool_call", "tool_result"]
    [call], [result] = read[1]["content"], read[2]["content"]
    assert (call["id"], call["name"], call["arguments"]) == ("c1", "search", {"q": "Lisbon"})
    assert (result["tool_call_id"], result["output"]) == ("c1", "Sunny")


async def test_what_is_sent_again_is_stored_once_and_answered_the_same(service: Service) -> None:
    first = (await post(service, said("a", id="a"), said("b", id="b"))).json()
    again = await post(service, said("a", id="a"), said("b", id="b"))
    assert again.status_code == 200
    assert again.json() == first | {"replayed": 2}
    mixed = await post(service, said("b", id="b"), said("c", id="c"))
    assert mixed.status_code == 201
    assert mixed.json()["replayed"] == 1
    assert [message["seq"] for message in mixed.json()["messages"]] == [2, 3]
    assert [message["id"] for message in await stored(service)] == ["a", "b", "c"]


async def test_time_metadata_and_trust_are_no_part_of_what_was_said(service: Service) -> None:
    await post(service, said(id="a", created_at="2026-08-01T10:00:00Z", metadata={"n": 1}, trust="external"))
    again = await post(service, said(id="a", created_at="2026-08-02T10:00:00Z", metadata={"n": 2}))
    assert again.status_code == 200
    [message] = await stored(service)
    assert (message["created_at"], message["metadata"], message["trust"]) == (
        "2026-08-01T10:00:00Z",
        {"n": 1},
        "external",
    )


@pytest.mark.parametrize(
    "other",
    [
        said("Hi there", id="a"),
        said("Hi", id="a", name="Ann"),
        {"role": "assistant", "content": "Hi", "id": "a"},
        {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "text", "text": ""}], "id": "a"},
    ],
)
async def test_other_content_under_a_known_id_conflicts_and_nothing_is_stored(
    service: Service, other: dict[str, Any]
) -> None:
    await post(service, said("Hi", id="a"))
    for of_a_resource in ({}, {"resource_id": "user-1"}):
        answer = await post(service, said("new", id="b"), other, **of_a_resource)
        refused = assert_problem(answer, 409, "message-conflict")
        assert "'a'" in refused["detail"]
        assert [error["pointer"] for error in refused["errors"]] == ["/messages/1/id"]
    assert [message["id"] for message in await stored(service)] == ["a"]
    assert (await service.get("/sessions/s1"))["resource_id"] is None


async def test_one_id_twice_in_a_request_is_refused(service: Service) -> None:
    answer = await post(service, said("a", id="x"), said("b"), said("a", id="x"))
    assert pointers(answer) == ["/messages/2/id"]
    assert (await service.client.get(MESSAGES)).status_code == 404


async def test_an_idempotency_key_names_the_messages_without_an_id(service: Service) -> None:
    body = {"messages": [said("a"), said("b", id="mine"), said("c")]}
    first, again = [
        await service.client.post(MESSAGES, json=body, headers={"Idempotency-Key": "turn/1"}) for _ in range(2)
    ]
    assert (first.status_code, again.status_code) == (201, 200)
    assert [message["id"] for message in first.json()["messages"]] == ["turn/1:0", "mine", "turn/1:2"]
    assert first.json()["messages"] == again.json()["messages"]
    assert len(await stored(service)) == 3

    for place, is_of_the_key in ((1, False), (0, True)):
        body["messages"][place] |= {"content": "another turn"}
        kept = await service.client.post(MESSAGES, json=body, headers={"Idempotency-Key": "turn/1"})
        told = assert_problem(kept, 409, "message-conflict")["detail"]
        assert told.endswith("place in the request: use a new key") is is_of_the_key


async def test_without_an_id_or_an_idempotency_key_a_message_sent_twice_is_two(service: Service) -> None:
    for _ in range(2):
        assert (await post(service, said())).status_code == 201
    assert len({message["id"] for message in await stored(service)}) == 2


@pytest.mark.parametrize("placeholder", ["__fake_id__", "FAKE_ID"])
async def test_an_id_that_stands_for_none_names_no_message(service: Service, placeholder: str) -> None:
    """OpenAI's Agents SDK gives it to all that a server of chat completions answers."""
    said = {
        "id": placeholder,
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Done."}],
    }
    called = {"id": placeholder, "type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}

    once = await service.append("s1", said, called)
    again = await service.append("s1", said)

    assert [message["seq"] for message in once["messages"] + again["messages"]] == [1, 2, 3]
    kept = (await service.get("/sessions/s1/messages"))["items"]
    assert placeholder not in str(kept)


async def test_a_request_has_one_to_a_hundred_messages(service: Service) -> None:
    assert pointers(await post(service)) == ["/messages"]
    assert pointers(await post(service, *[said()] * 101)) == ["/messages"]
    answer = await post(service, *[said()] * 100)
    assert [message["seq"] for message in answer.json()["messages"]] == list(range(1, 101))


async def test_keys_and_ids_have_up_to_200_of_their_characters(service: Service) -> None:
    key, message_id = "A-z.0_9:@~=+" + "k" * 188, "A-z.0_9:@~=+/" + "k" * 187
    assert (await post(service, said(id=message_id), key=key, resource_id=key)).status_code == 201
    assert (await service.get(f"/sessions/{key}/messages/{message_id}"))["id"] == message_id
    for wrong, what in {
        "a b": "' '",
        "ä": "'ä'",
        "a%00": r"'\x00'",
        "k" * 201: "201 characters",
        "a%0A": r"'\n'",
    }.items():
        refused = assert_problem(await service.client.get(f"/sessions/{wrong}/messages"), 422, "invalid")
        detail = f"1 to 200 characters of A-Za-z0-9._:@~=+- are expected, not {what}"
        assert refused["errors"] == [{"pointer": "key", "detail": detail}]


async def test_a_slash_in_a_key_is_told_of_where_no_path_is_found(service: Service) -> None:
    written = assert_problem(await service.client.get("/sessions/team%2fanna/context"), 404, "not-found")
    assert written["detail"].endswith("%2F counts as /, which only the id of a message may contain")
    assert (
        "%2F" not in assert_problem(await service.client.get("/sessions/team/anna/context"), 404, "not-found")["detail"]
    )


async def test_an_escaped_slash_leads_to_no_other_route(service: Service) -> None:
    """To delete the session `s/state/plan` a client asks for `/sessions/s%2Fstate%2Fplan`."""
    await post(service, said(id="a/b"), key="s")
    await service.client.put("/sessions/s/state/plan", json="pro")
    for method, path in (
        ("DELETE", "/sessions/s%2Fstate%2Fplan"),
        ("GET", "/sessions/s%2fstate"),
        ("GET", "/sessions/s%2Fmessages%2Fa%2Fb"),
        ("DELETE", "/sessions/s%2Fmessages/a/b"),
        ("PUT", "/sessions/s%2Fmessages%2Fa/b/c"),
    ):
        assert_problem(await service.client.request(method, path, json="x"), 404, "not-found")
    assert await service.get("/sessions/s/state") == {"plan": "pro"}
    for path in ("a%2Fb", "a/b"):
        assert (await service.get(f"/sessions/s/messages/{path}"))["id"] == "a/b"


@pytest.mark.parametrize("step", [".", ".."])
async def test_nothing_is_called_a_step_that_clients_take_out_of_a_path(service: Service, step: str) -> None:
    """RFC 3986, 5.2.4: to delete the message `..` of a session they ask for the session to be deleted."""
    for message_id in (step, f"a/{step}", f"{step}/a", f"a/{step}/b"):
        assert pointers(await post(service, said(id=message_id))) == ["/messages/0/id"]
    assert pointers(await post(service, said(), resource_id=step)) == ["/resource_id"]
    named = {"Idempotency-Key": f"a/{step}/b"}
    answer = await service.client.post(MESSAGES, json={"messages": [said()]}, headers=named)
    assert pointers(answer) == ["idempotency-key"]
    assert pointers(await put(service, resource_id=step)) == ["/resource_id"]
    await service.append("s1", said())
    assert pointers(await service.client.post("/sessions/s1/branch", json={"key": step})) == ["/key"]

    written = step.replace(".", "%2e")  # httpx2 leaves it, as no browser does
    for method, path, parameter in (
        ("POST", f"/sessions/{written}/messages", "key"),
        ("PUT", f"/sessions/{written}", "key"),
        ("PUT", f"/resources/{written}", "resource_id"),
        ("PUT", f"/sessions/s1/artifacts/{written}", "name"),
        ("DELETE", f"/sessions/s1/messages/{written}", "message_id"),
        ("GET", f"/sessions/{written}/context", "key"),
    ):
        answer = await service.client.request(method, path, json={"messages": [said()]} if method == "POST" else {})
        assert pointers(answer) == [parameter], path
    assert [session["session"] for session in (await service.get("/sessions"))["items"]] == ["s1"]


async def test_points_that_are_no_step_of_a_path_may_stand_in_a_name(service: Service) -> None:
    for name in ("...", ".a", "..a", "a.", "a.."):
        assert (await post(service, said(id=f"{name}/{name}"), key=name, resource_id=name)).status_code == 201
        assert (await service.get(f"/sessions/{name}/messages/{name}/{name}"))["seq"] == 1
    for key in (".", "..", "a/..", "..."):
        answer = await service.client.post(MESSAGES, json={"messages": [said()]}, headers={"Idempotency-Key": key})
        assert answer.json()["messages"][0]["id"] == f"{key}:0"


async def test_a_message_stored_under_such_an_id_before_is_still_listed(service: Service, database_url: str) -> None:
    await service.append("s1", said(id="m"))
    connection = await asyncpg.connect(database_url)
    await connection.execute("UPDATE messages SET id = '..'")
    await connection.close()

    assert [message["id"] for message in await stored(service)] == [".."]


def refused() -> dict[str, tuple[Any, str]]:
    """Bodies that are not taken, by what is wrong with them, and the pointer to it."""
    return {
        "no messages": ({}, "/messages"),
        "an unknown field": ({"messages": [said()], "mesages": []}, "/mesages"),
        "no object": ([], ""),
        "no message": ({"messages": ["Hi"]}, "/messages/0"),
        "no role": ({"messages": [{"content": "Hi"}]}, "/messages/0/role"),
        "an unknown role": ({"messages": [said(), {"role": "robot", "content": "Hi"}]}, "/messages/1/role"),
        "no content": ({"messages": [{"role": "user"}]}, "/messages/0/content"),
        "a NUL": ({"messages": [said("a\0b")]}, "/messages/0/content"),
        "a NUL in a name": ({"messages": [said(name="\0")]}, "/messages/0/name"),
        "a NUL in metadata": ({"messages": [said(metadata={"a": ["\0"]})]}, "/messages/0/metadata/a/0"),
        "a lone surrogate": ({"messages": [said("\ud800")]}, "/messages/0/content"),
        "a lone surrogate in an id": ({"messages": [said(id="\ud800")]}, "/messages/0/id"),
        "a lone surrogate as a key": ({"messages": [said(metadata={"\udfff": 1})]}, "/messages/0/metadata"),
        "not a number": ({"messages": [said(metadata={"a": float("nan")})]}, "/messages/0/metadata/a"),
        "a space in an id": ({"messages": [said(id="a b")]}, "/messages/0/id"),
        "a line break behind an id": ({"messages": [said(id="a\n")]}, "/messages/0/id"),
        "an empty id": ({"messages": [said(id="")]}, "/messages/0/id"),
        "an id too long": ({"messages": [said(id="k" * 201)]}, "/messages/0/id"),
        "a resource with a slash": ({"messages": [said()], "resource_id": "a/b"}, "/resource_id"),
        "a time without a zone": ({"messages": [said(created_at="2026-08-01T10:00:00")]}, "/messages/0/created_at"),
        "seconds since 1970": ({"messages": [said(created_at=1_785_578_400)]}, "/messages/0/created_at"),
        "these as text": ({"messages": [said(created_at="1785578400.5")]}, "/messages/0/created_at"),
        "no time": ({"messages": [said(created_at="yesterday")]}, "/messages/0/created_at"),
        "the first day": ({"messages": [said(created_at="0001-01-01T00:00:00+14:00")]}, "/messages/0/created_at"),
        "the last day": ({"messages": [said(created_at="9999-12-31T23:59:59-14:00")]}, "/messages/0/created_at"),
        "observe as a word": ({"messages": [said(observe="no")]}, "/messages/0/observe"),
        "observe as a number": ({"messages": [said(observe=0)]}, "/messages/0/observe"),
        "unknown trust": ({"messages": [said(trust="blind")]}, "/messages/0/trust"),
        "negative usage": ({"messages": [said()], "usage": {"output_tokens": -1}}, "/usage/output_tokens"),
        "usage that is true": ({"messages": [said()], "usage": {"input_tokens": True}}, "/usage/input_tokens"),
        "usage of no call": ({"messages": [said()], "usage": {"output_tokens": 2**40}}, "/usage/output_tokens"),
    }


async def test_what_cannot_be_stored_is_refused_with_a_pointer_to_it(service: Service) -> None:
    expected = {name: [pointer] for name, (_, pointer) in refused().items()}
    found = {}
    for name, (body, _) in refused().items():
        content = json.dumps(body)  # in ASCII: a lone surrogate as an escape
        answer = await service.client.post(MESSAGES, content=content, headers={"Content-Type": "application/json"})
        found[name] = pointers(answer)
    assert found == expected
    assert (await service.client.get("/sessions/s1")).status_code == 404


@pytest.mark.parametrize(
    ("field", "detail"),
    [
        ({"created_at": "yesterday"}, "a time in ISO 8601 with a zone is expected, such as 2026-08-03T08:12:00Z"),
        ({"created_at": "0001-01-01T00:00:00Z"}, "a time between the years 2 and 9998 is expected"),
        ({"content": None}, "a string or a list of parts is expected, not null"),
        ({"name": {"first": True}}, 'a string is expected, not {"first": true}'),
    ],
)
async def test_a_refusal_is_told_in_the_words_of_the_wire(service: Service, field: dict[str, Any], detail: str) -> None:
    [error] = assert_problem(await post(service, said() | field), 422, "invalid")["errors"]
    assert error["detail"] == detail


async def test_a_time_is_kept_as_the_moment_it_is(service: Service) -> None:
    await post(service, said(created_at="2026-08-01T10:00:00.123456+09:00"), said())
    sent, now = await stored(service)
    assert sent["created_at"] == "2026-08-01T01:00:00.123456Z"
    assert now["created_at"].endswith("Z")


async def test_messages_and_requests_have_a_size_limit_each(start_service: StartService) -> None:
    limits = {"sessions": {"message_bytes_max": 2_000}, "http": {"request_bytes_max": 5_000, "access_log": False}}
    async with start_service(**limits) as service:
        rest = len(json.dumps(said("")).replace(" ", ""))
        fits, too_large = said("x" * (2_000 - rest)), said("x" * (2_001 - rest))
        assert (await post(service, fits)).status_code == 201
        answer = await post(service, said(), too_large)
        assert assert_problem(answer, 413, "message-too-large")["errors"][0]["pointer"] == "/messages/1"
        assert_problem(await post(service, fits, fits, fits), 413, "too-large")
        assert_problem(await service.client.post(MESSAGES, content=chunks(5_001)), 413, "too-large")
        assert_problem(await service.client.put("/sessions/s1", content=chunks(5_001)), 413, "too-large")
        assert len(await stored(service)) == 1


async def test_a_message_that_would_be_many_times_as_large_in_neutral_parts_is_refused(service: Service) -> None:
    """A megabyte of empty texts in an item with a long id was stored, and shown in each context, as 79 megabytes."""
    item = {"type": "message", "role": "assistant", "id": f"msg_{'a' * 190}"}
    few, many = (item | {"content": [{"type": "output_text", "text": "So."}, *[""] * count]} for count in (200, 2_000))

    for answer in (
        await post(service, few | {"id": "msg_1"}, many),
        await service.client.post("/sessions/s1/context", json={"incoming": [few | {"id": "msg_1"}, many]}),
    ):
        [error] = assert_problem(answer, 413, "message-too-large")["errors"]
        assert error["pointer"] in {"/messages/1", "/incoming/1"}
        assert "over 4 times as large: send fewer and larger ones" in error["detail"]
    assert (await post(service, few)).status_code == 201


async def chunks(size: int) -> Any:
    """A body that does not declare its length."""
    for _ in range(size // 1_000):
        yield b" " * 1_000
    yield b" " * (size % 1_000)


async def test_a_session_is_of_one_resource(service: Service) -> None:
    assert (await post(service, said(id="a"), resource_id="user-1")).status_code == 201
    assert (await post(service, said(id="b"))).status_code == 201
    assert (await post(service, said(id="c"), resource_id="user-1")).status_code == 201
    for answer in (
        await post(service, said(id="d"), resource_id="user-2"),
        await post(service, said(id="a"), resource_id="user-2"),
        await service.client.put("/sessions/s1", json={"resource_id": "user-2"}),
    ):
        assert assert_problem(answer, 409, "resource-conflict")["errors"][0]["pointer"] == "/resource_id"
    assert [message["id"] for message in await stored(service)] == ["a", "b", "c"]


async def test_the_first_message_may_be_of_another_resource_than_was_said_before(service: Service) -> None:
    await put(service, resource_id="user-1")
    assert (await post(service, said(), resource_id="user-2")).status_code == 201
    assert (await service.get("/sessions/s1"))["resource_id"] == "user-2"


async def test_the_usage_of_the_agent_is_counted_turn_by_turn(service: Service) -> None:
    usage = {
        "input_tokens": 40,
        "cache_read_input_tokens": 150,
        "cache_creation_input_tokens": 10,
        "output_tokens": 80,
    }
    for turn in ("a", "b", "b"):  # the last one is a retry
        await post(service, said())  # by the user, who called no model
        await post(service, said(id=turn), usage=usage)
    assert (await service.memory("s1"))["usage"]["actor"] == {
        "turns": 2,
        "input_tokens": 400,
        "cached_input_tokens": 300,
        "cache_write_tokens": 20,
        "output_tokens": 160,
        "cost_usd": None,
        "cache_hit_ratio": 0.75,
    }


async def test_the_agents_calls_are_priced_each_by_its_own_model(service: Service) -> None:
    async def cost() -> float | None:
        found: float | None = (await service.memory("s1"))["usage"]["actor"]["cost_usd"]
        return found

    usage = {"input_tokens": 10_000, "cached_input_tokens": 6_000, "output_tokens": 500}
    models = ("of-ones-own-making", "claude-haiku-5-5", "gpt-6-luna", "of-ones-own-making")
    costs = []
    for number, model in enumerate(models):
        await post(service, said(id=f"m-{number}"), usage=usage | {"model": model})
        costs.append(await cost())
    counted = Usage(input_tokens=10_000, cached_input_tokens=6_000, output_tokens=500)
    first, second = cost_usd(Provider.ANTHROPIC, models[1], counted), cost_usd(Provider.OPENAI, models[2], counted)
    assert first is not None
    assert second is not None
    assert costs == [None, pytest.approx(first), pytest.approx(first + second), pytest.approx(first + second)]


async def test_an_append_may_wait_for_the_memory(service: Service) -> None:
    await service.configure("s1", message_tokens=1, buffer_every=None)
    answer = await service.append("s1", said("I moved to Lisbon."), wait_ms=50_000)
    assert (answer["memory"]["status"], answer["memory"]["pending_tokens"]) == ("idle", 0)
    assert answer["memory"]["observation_tokens"] > 0
    [message] = await stored(service)
    assert message["sealed"]


# Reading messages


async def fill(service: Service) -> None:
    """Ten messages at ten o'clock and later, the fifth a call of ``search``."""
    call = {"type": "tool_call", "id": "c1", "name": "search", "arguments": {}}
    messages = [said(str(n), id=f"m-{n}", created_at=f"2026-08-01T10:{n:02}:00Z") for n in range(1, 11)]
    messages[4] |= {"role": "assistant", "content": [call]}
    await service.append("s1", *messages)


async def test_messages_are_filtered(service: Service) -> None:
    await fill(service)
    cases: list[tuple[dict[str, Any], list[int]]] = [
        ({}, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        ({"after_seq": 8}, [9, 10]),
        ({"before_seq": 3}, [1, 2]),
        ({"after_seq": 3, "before_seq": 5}, [4]),
        ({"after_seq": 10}, []),
        ({"before_seq": 0}, []),
        ({"since": "2026-08-01T10:09:00Z"}, [9, 10]),
        ({"until": "2026-08-01T10:02:00Z"}, [1]),
        ({"since": "2026-08-01T19:03:00+09:00", "until": "2026-08-01T19:04:00+09:00"}, [3]),
        ({"since": "2026-08-01T19:03:00 09:00", "until": "2026-08-01T19:04:00.0 0900"}, [3]),  # a plus, not escaped
        ({"since": "2026-08-01T19:03:00+09", "until": "2026-08-01 19:04:00.0 09"}, [3]),  # as Postgres prints it
        ({"kind": "tool_call"}, [5]),
        ({"kind": "summary"}, []),
        ({"tool": "search"}, [5]),
        ({"tool": "fetch"}, []),
        ({"order": "desc", "limit": 2}, [10, 9]),
        ({"order": "desc", "after_seq": 7, "kind": "user_message"}, [10, 9, 8]),
    ]
    for parameters, seqs in cases:
        assert [message["seq"] for message in await stored(service, **parameters)] == seqs, parameters


async def test_to_find_a_tool_no_message_is_parsed_that_calls_none(service: Service, database_url: str) -> None:
    """The results that tools gave may be a megabyte each, and a page may look at ten thousand messages."""
    await fill(service)
    connection = await asyncpg.connect(database_url)
    unparsed = """UPDATE messages SET parts = '[{"type": "text", "text": "\\u0000"}]' WHERE kind <> 'tool_call'"""
    assert await connection.execute(unparsed) == "UPDATE 9"  # with what json holds, and jsonb refuses
    await connection.close()

    assert [message["seq"] for message in await stored(service, tool="search")] == [5]


async def pages(service: Service, **parameters: Any) -> list[list[int]]:
    """The seqs of one page after the other."""
    found: list[list[int]] = []
    cursor: dict[str, Any] = {}
    while not found or cursor:
        page = await service.get(MESSAGES, **parameters, **cursor)
        found.append([message["seq"] for message in page["items"]])
        cursor = {"cursor": page["next_cursor"]} if page["next_cursor"] else {}
    return found


@pytest.mark.parametrize("order", ["asc", "desc"])
async def test_pages_make_up_the_whole_in_either_order(service: Service, order: str) -> None:
    await fill(service)
    whole = sorted(range(1, 11), reverse=order == "desc")
    for limit in (1, 3, 5, 9, 10, 500):
        expected = [whole[at : at + limit] for at in range(0, 10, limit)]
        assert await pages(service, order=order, limit=limit) == expected


async def test_a_page_stays_within_its_filters(service: Service) -> None:
    await fill(service)
    assert await pages(service, after_seq=2, before_seq=6, limit=2) == [[3, 4], [5]]
    assert await pages(service, from_seq=3, to_seq=5, limit=2) == [[3, 4], [5]]
    assert await pages(service, from_seq=3, to_seq=5, limit=2, order="desc") == [[5, 4], [3]]
    assert await pages(service, from_seq=3, after_seq=3, to_seq=5, before_seq=5) == [[4]]


async def test_wrong_parameters_are_refused_by_their_name(service: Service) -> None:
    await fill(service)
    for name, wrong in {
        "limit": ["0", "501", "x"],
        "cursor": ["x", "", "MTA", "OTIyMzM3MjAzNjg1NDc3NTgwOA", "k" * 401],
        "order": ["up"],
        "kind": ["robot"],
        "after_seq": ["-1", str(2**63)],
        "since": ["2026-08-01T10:00:00", "2026-08-01 10:00", "2026-08-01T10:00:00 x", "0001-01-01T00:00:00+14:00"],
        "until": ["9999-12-31T23:59:59-14:00"],
        "tool": ["\0", "x" * 201],
    }.items():
        for value in wrong:
            if (name, value) != ("cursor", "MTA"):  # which is the cursor of 10
                assert pointers(await service.client.get(MESSAGES, params={name: value})) == [name], (name, value)


async def test_a_message_is_read_by_its_id_with_a_slash_too(service: Service) -> None:
    await service.append("s1", said("Hi", id="turn/1:0", name="Ann", metadata={"a": None}, observe=False))
    message = await service.get(f"{MESSAGES}/turn/1:0")
    assert (message.pop("created_at"), message.pop("tokens")) > ("2026", 0)
    assert message == {
        "id": "turn/1:0",
        "seq": 1,
        "kind": "user_message",
        "role": "user",
        "name": "Ann",
        "content": [{"type": "text", "text": "Hi"}],
        "metadata": {"a": None},
        "observe": False,
        "sealed": False,
        "trust": "user",
        "up_to_seq": None,
        "erased_at": None,
    }
    assert_problem(await service.client.get(f"{MESSAGES}/turn/1"), 404, "message-not-found")
    assert_problem(await service.client.get("/sessions/never/messages/turn/1:0"), 404, "session-not-found")
    assert_problem(await service.client.get("/sessions/never/messages"), 404, "session-not-found")


# Sessions


async def put(service: Service, **body: Any) -> httpx.Response:
    return await service.client.put("/sessions/s1", json=body)


@pytest.mark.parametrize("path", ["/sessions/s1", "/resources/user-1"])
async def test_metadata_is_bounded_as_a_whole(start_service: StartService, path: str) -> None:
    async with start_service(sessions={"metadata_bytes_max": 1_024}) as service:
        put = partial(service.client.put, path)
        assert (await put(json={"metadata": {"a": "x" * 900}})).status_code == 201
        answer = await put(json={"metadata": {"b": "x" * 200}})
        assert assert_problem(answer, 413, "metadata-too-large")["errors"][0]["pointer"] == "/metadata"
        assert (await put(json={"metadata": {"a": None, "b": "x" * 200}})).json()["metadata"] == {"b": "x" * 200}


@pytest.mark.parametrize("path", ["/sessions/s1", "/resources/r1"])
async def test_no_more_keys_are_unset_than_metadata_can_have(service: Service, path: str) -> None:
    unset = {"metadata": {f"k{number}": None for number in range(3_000)}}
    assert_problem(await service.client.put(path, json=unset), 413, "metadata-too-large")


@pytest.mark.parametrize("path", ["/sessions/s1", "/resources/user-1"])
async def test_metadata_may_be_as_large_as_its_limit_and_all_of_it_be_unset_at_once(
    start_service: StartService, path: str
) -> None:
    full = {f"k{number}": 1 for number in range(100, 213)} | {"k100": 1_234_567}
    assert len(json.dumps(full, separators=(",", ":"))) == 1_024
    async with start_service(sessions={"metadata_bytes_max": 1_024}) as service:
        put = partial(service.client.put, path)
        assert (await put(json={"metadata": full})).status_code == 201
        assert_problem(await put(json={"metadata": {"k100": 12_345_678}}), 413, "metadata-too-large")
        assert (await put(json={"metadata": dict.fromkeys(full)})).json()["metadata"] == {}


@pytest.mark.parametrize("path", ["/sessions/s1", "/resources/user-1"])
async def test_a_put_without_a_body_creates_and_then_changes_nothing(service: Service, path: str) -> None:
    assert (await service.client.put(path)).status_code == 201
    await service.client.put(path, json={"metadata": {"plan": "pro"}})
    again = await service.client.put(path)
    assert (again.status_code, again.json()["metadata"]) == (200, {"plan": "pro"})
    assert_problem(await service.client.put(path, content=b"metadata"), 422, "invalid")


async def test_a_session_is_created_and_then_merged_into(service: Service) -> None:
    new = await put(service, metadata={"plan": "pro", "n": 1}, config={"preset": "compact"}, resource_id="user-1")
    assert new.status_code == 201
    merged = await put(service, metadata={"n": {"a": None}}, config={"message_tokens": 500})
    assert merged.status_code == 200
    session = merged.json()
    assert session == await service.get("/sessions/s1")
    assert session["config"] == {"preset": "compact", "message_tokens": 500}
    assert session["metadata"] == {"plan": "pro", "n": {"a": None}}
    assert (session["session"], session["resource_id"], session["last_seq"], session["ended_at"]) == (
        "s1",
        "user-1",
        0,
        None,
    )


async def test_nothing_to_merge_changes_nothing(service: Service) -> None:
    first = (await put(service, metadata={"a": 1}, config={"preset": "compact"})).json()
    again = await put(service)
    assert (again.status_code, again.json()) == (200, first)


async def test_the_changes_of_a_config_are_listed_with_where_they_begin(service: Service) -> None:
    await put(service, config={"preset": "compact"})
    await service.append("s1", said(), wait_ms=50_000)
    await put(service, config={"keep_last": 3})
    await put(service, config={"keep_last": 3}, metadata={"a": 1})  # which changes nothing of it
    await put(service, config={"keep_last": None})
    first = await service.get("/sessions/s1/configs", limit=2)
    rest = await service.get("/sessions/s1/configs", limit=2, cursor=first["next_cursor"])
    changes = first["items"] + rest["items"]
    told = [(one["number"], one["from_seq"], one["memory_version"], one["config"]) for one in changes]
    assert told == [
        (1, 1, 0, {"preset": "compact"}),
        (2, 2, 0, {"preset": "compact", "keep_last": 3}),
        (3, 2, 0, {"preset": "compact"}),
    ]
    assert rest["next_cursor"] is None
    assert_problem(await service.client.get("/sessions/never/configs"), 404, "session-not-found")


async def test_a_null_unsets_its_key(service: Service) -> None:
    await put(service, metadata={"a": 1, "b": 2}, config={"preset": "compact", "message_tokens": 500})
    session = (await put(service, metadata={"a": None, "c": None}, config={"message_tokens": None})).json()
    assert (session["metadata"], session["config"]) == ({"b": 2}, {"preset": "compact"})
    assert (await service.memory("s1"))["thresholds"]["observe_at"] == 1_000


@pytest.mark.parametrize("path", ["/sessions/s1", "/resources/user-1"])
async def test_a_null_switches_buffering_off_from_the_beginning(service: Service, path: str) -> None:
    off = {"buffer_every": None}
    assert (await service.client.put(path, json={"config": off | {"keep_last": None}})).json()["config"] == off


async def test_a_config_that_a_session_is_made_with_is_its_first_change_and_none_is_none(service: Service) -> None:
    await put(service, metadata={"a": 1})
    assert (await service.get("/sessions/s1/configs"))["items"] == []
    await service.client.put("/sessions/s2", json={"config": {"buffer_every": None}})
    (change,) = (await service.get("/sessions/s2/configs"))["items"]
    assert (change["number"], change["config"]) == (1, {"buffer_every": None})


async def test_a_null_switches_buffering_off(service: Service) -> None:
    await put(service, config={"buffer_every": 0.5})
    assert (await service.memory("s1"))["thresholds"]["buffer_every"] == 8_000
    assert (await put(service, config={"buffer_every": None})).json()["config"] == {"buffer_every": None}
    assert (await service.memory("s1"))["thresholds"]["buffer_every"] is None


async def test_the_resource_may_change_until_there_are_messages(service: Service) -> None:
    await put(service, resource_id="user-1")
    assert (await put(service, resource_id="user-2")).json()["resource_id"] == "user-2"
    await service.append("s1", said())
    assert_problem(await put(service, resource_id="user-1"), 409, "resource-conflict")
    assert (await service.get("/sessions/s1"))["resource_id"] == "user-2"


async def test_a_wrong_config_or_metadata_is_refused_with_a_pointer_and_nothing_is_merged(service: Service) -> None:
    await put(service, metadata={"a": 1})
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({"config": {"mesage_tokens": 5, "preset": "compact"}}, ["/config/mesage_tokens"]),
        ({"config": {"preset": "huge", "reflect_to": 2}}, ["/config/preset", "/config/reflect_to"]),
        ({"config": {"timezone": "Mars/Olympus"}}, ["/config/timezone"]),
        ({"config": {"message_tokens": "1000", "keep_last": True}}, ["/config/message_tokens", "/config/keep_last"]),
        ({"config": {"enabled": "false", "buffer_every": False}}, ["/config/enabled", "/config/buffer_every"]),
        ({"config": {"instruction": "a\0b"}}, ["/config/instruction"]),
        ({"config": {"instruction": "x" * 8_001}}, ["/config/instruction"]),
        ({"config": []}, ["/config"]),
        ({"config": {"preset": "compact"}, "metadata": {"a": {"b": "\0"}}}, ["/metadata/a/b"]),
        ({"metadata": 5}, ["/metadata"]),
        ({"resource_id": "a/b"}, ["/resource_id"]),
        ({"confg": {}}, ["/confg"]),
    ]
    for body, expected in cases:
        assert pointers(await put(service, **body)) == expected
    session = await service.get("/sessions/s1")
    assert (session["config"], session["metadata"], session["resource_id"]) == ({}, {"a": 1}, None)


async def test_an_instruction_is_as_long_as_the_setting_says(start_service: StartService) -> None:
    async with start_service(sessions={"instruction_characters_max": 10}) as service:
        await put(service, config={"instruction": "x" * 10})
        for path in ("/sessions/s1", "/resources/r1"):
            answer = await service.client.put(path, json={"config": {"instruction": "x" * 11, "keep_last": 3}})
            [error] = assert_problem(answer, 422, "invalid")["errors"]
            assert error["pointer"] == "/config/instruction"
            assert "10 characters (DAYBOOK_SESSIONS__INSTRUCTION_CHARACTERS_MAX)" in error["detail"]
        assert (await service.get("/sessions/s1"))["config"] == {"instruction": "x" * 10}


async def test_sessions_are_found_by_a_part_of_their_key(service: Service) -> None:
    for key in ("chat-Lisbon-1", "chat-porto-2", "mail-lisbon"):
        await post(service, said(), key=key)
    found = await service.get("/sessions", search="LISBON")
    assert [session["session"] for session in found["items"]] == ["chat-Lisbon-1", "mail-lisbon"]
    assert (await service.get("/sessions", search="%"))["items"] == []


async def test_a_list_tells_where_each_memory_stands_and_finds_those_that_stand_so(
    start_service: StartService, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer() as models:
        for name, value in models.environment().items():
            monkeypatch.setenv(name, value)
        models.fail_next(Fault.UNAUTHORIZED, times=9)  # more than it tries, so that it stalls
        async with start_service(provider="openai", model="none") as service:
            for key in ("a", "b", "c"):
                await post(service, said(), key=key)
            await service.configure("c", enabled=False)
            await service.client.post("/sessions/b/memory/observe", params={"wait_ms": 500})
            await until_stalled(service, database_url, "b")
            for status, keys in ({"stalled": ["b"], "idle": ["a"], "disabled": ["c"], "observing": []}).items():
                await until(partial(keys_of, service, status), partial(operator.eq, keys))
            listed = {found["session"]: found["memory"] for found in (await service.get("/sessions"))["items"]}
    assert (listed["a"]["status"], listed["a"]["last_error"]) == ("idle", None)
    assert listed["a"]["pending_tokens"] > 0
    assert listed["b"]["last_error"]["step"] == "observe"


async def keys_of(service: Service, status: str) -> list[str]:
    return [found["session"] for found in (await service.get("/sessions", status=status))["items"]]


async def test_a_page_of_one_status_goes_on_behind_those_of_another(service: Service) -> None:
    for number in range(12):
        await post(service, said(), key=f"s{number:02}")
        if number % 2:
            await service.configure(f"s{number:02}", enabled=False)
    first = await service.get("/sessions", status="disabled", limit=4)
    rest = await service.get("/sessions", status="disabled", limit=4, cursor=first["next_cursor"])
    found = [session["session"] for session in first["items"] + rest["items"]]
    assert found == ["s01", "s03", "s05", "s07", "s09", "s11"]
    assert rest["next_cursor"] is None


@pytest.mark.parametrize("wanted", [{"search": "LAST"}, {"status": "disabled"}])
async def test_a_page_looks_at_so_many_sessions_and_tells_where_to_go_on(
    start_service: StartService, database_url: str, wanted: dict[str, str]
) -> None:
    await filling.fill(database_url, [f"s{number:04}" for number in range(1_300)], 1, observed=True, wake_tokens=6_000)
    pages: list[list[str]] = []
    async with start_service(sessions={"looked_max": 1_000}) as service:
        await post(service, said(), key="the-last")
        await service.configure("the-last", enabled=False)
        cursor: dict[str, str] = {}
        while len(pages) < 9:
            page = await service.get("/sessions", **wanted, **cursor)
            pages.append([found["session"] for found in page["items"]])
            if page["next_cursor"] is None:
                break
            cursor = {"cursor": page["next_cursor"]}
    assert pages == [[], ["the-last"]]


async def pages_of(service: Service, wanted: dict[str, Any]) -> list[list[int]]:
    """The seqs of each page of the list, by its cursors, nine at most."""
    found: list[list[int]] = []
    cursor: dict[str, str] = {}
    while len(found) < 9:
        page = await service.get("/sessions/s1/messages", **wanted, **cursor)
        found.append([message["seq"] for message in page["items"]])
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    return found


@pytest.mark.parametrize(
    ("wanted", "pages"),
    [
        ({"tool": "search"}, [[], [], [450]]),
        ({"kind": "tool_call", "order": "desc"}, [[450], [], []]),
        ({"kind": "tool_call", "order": "desc", "after_seq": 250}, [[450]]),
        ({"tool": "search", "before_seq": 401}, [[], []]),
        ({"until": "2000-01-01T00:00:00Z", "limit": 500}, [[], [], []]),
        ({"tool": "search", "after_seq": 449, "limit": 1}, [[450]]),
        ({"tool": "search", "after_seq": 450}, [[]]),
        ({"from_seq": 180, "to_seq": 182, "limit": 2}, [[180, 181], [182]]),
    ],
)
async def test_a_page_looks_at_so_many_messages_and_tells_where_to_go_on(
    start_service: StartService, wanted: dict[str, Any], pages: list[list[int]]
) -> None:
    call = {"role": "assistant", "content": [{"type": "tool_call", "id": "c1", "name": "search", "arguments": {}}]}
    async with start_service(sessions={"looked_max": 200, "messages_max": 500}, memory={"enabled": False}) as service:
        await post(service, *(said() for _ in range(449)), call)
        assert await pages_of(service, wanted) == pages


@pytest.mark.parametrize(
    ("wanted", "pages"),
    [
        ({}, [[1, 2], [3], [4, 5]]),
        ({"order": "desc"}, [[5, 4, 3], [2, 1]]),
        ({"limit": 1, "after_seq": 2}, [[3], [4], [5]]),
        ({"limit": 500, "kind": "user_message"}, [[1, 2], [4, 5]]),
        ({"after_seq": 3, "before_seq": 5}, [[4]]),
    ],
)
async def test_a_page_ends_with_the_message_that_brings_it_to_its_bytes(
    start_service: StartService, wanted: dict[str, Any], pages: list[list[int]]
) -> None:
    half, more = said("x" * 600), {"role": "assistant", "content": "y", "metadata": {"of": "z" * 5_000}}
    async with start_service(sessions={"page_bytes_max": 1_024}, memory={"enabled": False}) as service:
        await post(service, half, half, more, half, said("short"))
        assert await pages_of(service, wanted) == pages


def test_a_list_takes_every_word_that_a_memory_can_stand_by() -> None:
    assert {str(status) for status in MemoryStatus} <= set(get_args(StatusName))


async def test_sessions_are_listed_by_key_and_resource(service: Service) -> None:
    for key, resource in (("b", "r1"), ("c", "r2"), ("a", "r1"), ("d", None)):
        await post(service, said(), key=key, **({} if resource is None else {"resource_id": resource}))
    first = await service.get("/sessions", limit=3)
    rest = await service.get("/sessions", limit=3, cursor=first["next_cursor"])
    assert [session["session"] for session in first["items"] + rest["items"]] == ["a", "b", "c", "d"]
    assert rest["next_cursor"] is None
    of_one = await service.get("/sessions", resource_id="r1")
    assert [session["session"] for session in of_one["items"]] == ["a", "b"]
    for wrong in ({"resource_id": "\0"}, {"resource_id": "a b"}, {"cursor": "ImFcdTAwMDAi"}, {"limit": "0"}):
        assert pointers(await service.client.get("/sessions", params=wrong)) == list(wrong)
