"""A message that no observation holds yet is replaced over HTTP (api.md, Messages)."""

import json
from datetime import timedelta
from typing import Any

import asyncpg
import httpx2 as httpx
import pytest

from app.sessions.store import session_id
from tests.conftest import Service, StartService
from tests.sessions.test_routes import said
from tests.test_problems import assert_problem

MESSAGES = "/sessions/s1/messages"
LONG = "The invoice of May over 420 euros was paid in Porto. " * 20
CALL: dict[str, Any] = {
    "role": "assistant",
    "content": [{"type": "tool_call", "id": "c1", "name": "search", "arguments": {}}],
}


async def put(service: Service, name: str, body: dict[str, Any]) -> httpx.Response:
    return await service.client.put(f"{MESSAGES}/{name}", json=body)


async def replaced(service: Service, name: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = await put(service, name, body)
    assert answer.status_code == 200, answer.text
    message: dict[str, Any] = answer.json()
    return message


async def shown(service: Service) -> list[str]:
    context = await service.context("s1")
    return [part["text"] for message in context["payload"]["messages"] for part in message["content"]]


async def test_a_replaced_message_keeps_its_place_and_its_time(service: Service) -> None:
    at = "2026-08-01T10:00:00Z"
    await service.append("s1", said("I mo", id="a/1", created_at=at), said("later"))
    answer = await replaced(service, "a/1", {"role": "assistant", "content": "I moved", "metadata": {"final": True}})
    assert answer == await service.get(f"{MESSAGES}/a/1")
    assert (answer["seq"], answer["kind"], answer["created_at"]) == (1, "assistant_message", at)
    assert (answer["content"], answer["metadata"]) == ([{"type": "text", "text": "I moved"}], {"final": True})
    assert await shown(service) == ["I moved", "later"]


async def test_a_replaced_message_may_become_another_kind_at_another_time(service: Service) -> None:
    await service.append("s1", said(id="a"))
    answer = await replaced(service, "a", {**CALL, "created_at": "2026-09-01T00:00:00Z", "observe": False})
    assert (answer["kind"], answer["created_at"]) == ("tool_call", "2026-09-01T00:00:00Z")
    assert (answer["observe"], answer["trust"]) == (False, "operator")


async def test_all_that_is_counted_follows_the_new_size(service: Service) -> None:
    await service.append("s1", said("one", id="a"), said("two", id="b"), said("three", id="c"))
    grown = await replaced(service, "a", said(LONG))
    await replaced(service, "b", said("two", observe=False))
    stored = (await service.get(MESSAGES))["items"]
    pending = sum(message["tokens"] for message in stored if message["observe"])
    assert stored[0]["tokens"] == grown["tokens"] > 100
    assert (await service.memory("s1"))["pending"]["tokens"] == pending
    fits = sum(message["tokens"] for message in stored[1:])
    context = await service.context("s1", message_budget=fits)  # found by the running sums
    assert (context["tokens"]["messages"], context["omitted"]["messages"]) == (fits, 1)


async def test_the_id_then_stands_for_the_new_content(service: Service) -> None:
    await service.append("s1", said("I mo", id="a"))
    await replaced(service, "a", said("I moved"))
    assert (await service.append("s1", said("I moved", id="a")))["replayed"] == 1
    again = await service.client.post(MESSAGES, json={"messages": [said("I mo", id="a")]})
    assert_problem(again, 409, "message-conflict")


async def test_replacing_with_the_same_is_answered_the_same(service: Service) -> None:
    await service.append("s1", said("one", id="a"))
    first = await replaced(service, "a", said("two"))
    assert await replaced(service, "a", said("two", id="a")) == first


@pytest.mark.parametrize("other", [True, 1.0])
async def test_a_value_that_python_calls_equal_is_another(service: Service, other: Any) -> None:
    def turn(paid: Any, final: Any) -> dict[str, Any]:
        call = CALL["content"][0] | {"arguments": {"paid": paid}}
        return {"role": "assistant", "content": [call], "metadata": {"final": final}}

    await service.append("s1", turn(1, 1) | {"id": "a"})
    for paid, final in ((1, other), (other, other)):
        answer = await replaced(service, "a", turn(paid, final))
        told = [answer["content"][0]["arguments"]["paid"], answer["metadata"]["final"]]
        assert json.dumps(told) == json.dumps([paid, final])


TOLD = {"name": "ann", "metadata": {"final": True}, "created_at": "2026-08-01T10:00:00Z", "trust": "external"}


async def test_what_is_sent_again_after_a_lost_answer_is_answered_as_stored_though_it_was_observed_since(
    service: Service,
) -> None:
    turns = {"a": said(LONG, **TOLD), "b": said("two", observe=False), "c": CALL}
    for name, turn in turns.items():
        await service.append("s1", said("one", id=name))
        await replaced(service, name, turn)
    await service.observe("s1")
    again = [await replaced(service, name, turn) for name, turn in turns.items()]
    assert again[0]["sealed"]
    assert again == (await service.get(MESSAGES))["items"]


async def test_what_is_sealed_may_be_sent_again_as_another_version_of_an_sdk_dumps_it(service: Service) -> None:
    turn = {"role": "model", "parts": [{"text": LONG, "thoughtSignature": "-_8="}]}
    other = {"role": "model", "parts": [{"text": LONG, "thought_signature": "+/8", "thought": None}]}
    await service.append("s1", turn | {"id": "a"}, said("new"))
    await service.observe("s1")
    stored = await service.get(f"{MESSAGES}/a")
    assert stored["sealed"]
    assert await replaced(service, "a", other) == stored
    assert_problem(await put(service, "a", other | {"metadata": {"final": True}}), 409, "message-sealed")


@pytest.mark.parametrize(
    "change",
    [
        {"content": "other"},
        {"role": "assistant"},
        {"name": None},
        {"metadata": None},
        {"trust": "user"},
        {"observe": False},
        {"created_at": "2026-08-01T10:00:01Z"},
    ],
    ids=str,
)
async def test_what_is_observed_is_sealed_against_any_change(service: Service, change: dict[str, Any]) -> None:
    await service.append("s1", said(LONG, id="a", **TOLD), said("new"))
    await service.observe("s1")
    stored = await service.get(f"{MESSAGES}/a")
    assert_problem(await put(service, "a", said(LONG, **TOLD) | change), 409, "message-sealed")
    assert stored["sealed"]
    assert await service.get(f"{MESSAGES}/a") == stored


@pytest.mark.parametrize("config", [{"buffer_every": None}, {"buffer_every": 0.2, "message_tokens": 400}])
async def test_what_is_observed_or_buffered_is_sealed(service: Service, config: dict[str, Any]) -> None:
    await service.configure("s1", **{"message_tokens": 100, "keep_last": 0, **config})
    await service.append("s1", said(LONG[:530], id="a"), said("new", id="b"), wait_ms=50_000)
    sealed = (await service.get(f"{MESSAGES}/a"))["sealed"]
    refused = await put(service, "a", said("other"))
    assert sealed
    assert_problem(refused, 409, "message-sealed")
    assert (await service.get(f"{MESSAGES}/a"))["content"] == [{"type": "text", "text": LONG[:530]}]
    assert (await replaced(service, "b", said("newer")))["sealed"] is False


async def test_a_message_that_is_not_there_is_404(service: Service) -> None:
    assert_problem(await put(service, "a", said()), 404, "session-not-found")
    await service.append("s1", said(id="a"))
    assert_problem(await put(service, "b", said()), 404, "message-not-found")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (said(id="b"), "/id"),
        (said(metadata={"a": "\x00"}), "/metadata/a"),
        ({"role": "nobody", "content": "Hi"}, "/role"),
        ({"role": "tool", "content": "Hi"}, "/content"),
        ({"role": "user", "kind": "summary", "content": "Hi"}, "/kind"),
    ],
)
async def test_a_body_that_is_no_message_is_refused_with_its_pointer(
    service: Service, body: dict[str, Any], pointer: str
) -> None:
    await service.append("s1", said(id="a"))
    answer = await put(service, "a", body)
    assert [error["pointer"] for error in assert_problem(answer, 422, "invalid")["errors"]] == [pointer]


async def test_a_message_may_not_grow_past_its_limit(start_service: StartService) -> None:
    async with start_service(sessions={"message_bytes_max": 1_024}) as service:
        await service.append("s1", said(id="a"))
        assert_problem(await put(service, "a", said("x" * 1_024)), 413, "message-too-large")
        assert (await replaced(service, "a", said("x" * 900)))["tokens"] > 100


async def test_growing_past_a_threshold_has_the_memory_observe(service: Service) -> None:
    await service.configure("s1", message_tokens=100, buffer_every=None, retain_tokens=0)
    await service.append("s1", said("one", id="a"), said("two"), wait_ms=50_000)
    await replaced(service, "a", said(LONG))
    memory = await service.get("/sessions/s1/context", min_seq=2, wait_ms=50_000)
    assert memory["memory_version"] == 1


async def test_a_call_that_turns_into_words_holds_nothing_up_any_more(service: Service) -> None:
    await service.configure("s1", message_tokens=100, buffer_every=None, retain_tokens=0, block_after=100_000)
    await service.append("s1", CALL | {"id": "call"}, {"role": "assistant", "content": LONG}, wait_ms=50_000)
    waiting = await service.memory("s1")
    await replaced(service, "call", {"role": "assistant", "content": "No."})
    await service.context("s1", min_seq=2, wait_ms=50_000)
    assert (waiting["log"]["version"], waiting["status"]) == (0, "idle")
    assert (await service.memory("s1"))["log"]["version"] == 1


async def test_a_result_that_becomes_that_of_the_call_lets_it_be_observed(service: Service) -> None:
    await service.configure("s1", message_tokens=100, buffer_every=None, retain_tokens=0, block_after=100_000)
    output = {"type": "tool_result", "output": LONG}
    other, own = ({"role": "tool", "content": [{**output, "tool_call_id": call}]} for call in ("c9", "c1"))
    await service.append("s1", CALL, other | {"id": "result"}, wait_ms=50_000)
    waiting = await service.memory("s1")
    await replaced(service, "result", own)
    await service.context("s1", min_seq=2, wait_ms=50_000)
    assert (waiting["log"]["version"], waiting["status"]) == (0, "idle")
    assert (await service.memory("s1"))["log"]["version"] == 1


async def test_what_an_error_quoted_of_a_replaced_message_is_told_no_more(service: Service, database_url: str) -> None:
    await service.append("s1", said(LONG, id="m-1"))
    connection = await asyncpg.connect(database_url)
    await connection.execute(
        "UPDATE memories SET attempts = 1, due_at = now() + interval '1 hour', last_error = jsonb_build_object("
        "'at', now(), 'step', 'observe', 'kind', 'bad_request', 'message', $1::text)",
        LONG,
    )
    await connection.close()
    quoted = (await service.memory("s1"))["last_error"]
    await replaced(service, "m-1", said("It was another."))
    assert quoted["message"] == LONG
    assert (await service.memory("s1"))["last_error"] == quoted | {"message": ""}


@pytest.mark.parametrize(("column", "kept"), [("rejected_output", None), ("error", "failed")])
async def test_what_was_refused_before_it_came_or_of_another_session_stays(
    service: Service, database_url: str, column: str, kept: str | None
) -> None:
    """Of the runs only the last of s1 came after the message that is replaced."""
    for text in ("The first", "The second", "The third"):
        await service.append("s1", said(f"{text} is this one: {LONG}"), said("Fine."))
        await service.observe("s1")
    await service.append("s1", said("It was one.", id="m-1"))
    connection = await asyncpg.connect(database_url)
    later = "at = now() + interval '1 minute'"
    await connection.execute(
        f"UPDATE runs SET {later} WHERE id = (SELECT max(id) FROM runs)"  # noqa: S608 - our own text
    )
    await service.append("s2", said(LONG), said("Fine."))
    await service.observe("s2")
    await connection.execute(f"UPDATE runs SET {column} = 'failed: It was one.'")  # noqa: S608 - our own text
    error = "jsonb_build_object('at', now() + $2, 'step', 'observe', 'kind', 'failed', 'message', 'It was one.')"
    for key, since in (("s1", timedelta(days=-1)), ("s2", timedelta(days=1))):
        statement = f"UPDATE memories SET attempts = 1, due_at = now() + interval '1 hour', last_error = {error}"  # noqa: S608
        await connection.execute(f"{statement} WHERE id = $1", session_id("default", key), since)
    await connection.close()
    await replaced(service, "m-1", said("It was another."))
    runs = {key: (await service.get(f"/sessions/{key}/memory/runs"))["items"] for key in ("s1", "s2")}
    left = {key: [run[column] for run in found] for key, found in runs.items()}
    assert left == {"s1": [kept, *2 * ["failed: It was one."]], "s2": ["failed: It was one."]}
    for key in ("s1", "s2"):
        assert (await service.memory(key))["last_error"]["message"] == "It was one."


async def test_what_a_message_that_shrinks_took_of_a_budget_is_free_again(service: Service) -> None:
    await service.append("s1", *(said(f"Number {n} was seen.") for n in range(60)))
    await service.append("s1", said("word " * 2_000, id="m-1"), said("And now?"))
    await replaced(service, "m-1", said("A word."))
    assert str(await service.context("s1", message_budget=1_000)).count("was seen") == 60


async def test_a_message_that_shrinks_puts_off_nothing_that_comes_behind_it(service: Service) -> None:
    """What waits for a call is looked at with the next message, whatever was waiting before."""
    await service.configure("s1", message_tokens=100, buffer_every=None, retain_tokens=0, block_after=100_000)
    await service.append("s1", CALL, {"role": "assistant", "content": LONG * 2, "id": "a"}, wait_ms=50_000)
    await replaced(service, "a", {"role": "assistant", "content": LONG})
    await service.append("s1", said("Never mind."), wait_ms=50_000)
    assert (await service.memory("s1"))["log"]["version"] == 1
