"""The short way of a frequent request and the framework's own: whatever is sent, both answer the same."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Service, StartService

SHORT, WHOLE = "application/json", "application/json; charset=utf-8"  # the second is left to the framework
MESSAGE = {"id": "m-1", "role": "user", "content": "hello"}

ODD = [  # messages of a body, as they stand between its brackets
    b'{"id": "m-1", "role": "user", "content": "hello"}',
    b"",
    b'{"id": "m-1", "role": "user", "content": "a", "content": "b"}',
    b'{"id": "m 1", "role": "user", "content": "hello"}',
    b'{"role": "user", "content": "no id", "created_at": "2026-08-01T10:00:00"}',
    b'{"id": "m-1", "role": "user", "content": "x", "created_at": "2026-08-01T10:00:00Z"}',
    b'{"id": "m-1", "role": "user", "content": "x", "metadata": {"n": 123456789012345678901234567890}}',
    b'{"id": "m-1", "role": "user", "content": "x", "metadata": {"n": NaN}}',
    b'{"id": "m-1", "role": "user", "content": "x", "metadata": {"n": 1e400}}',
    b'{"id": "m-1", "role": "user", "content": "\\ud800"}',
    b'{"id": "m-1", "role": "user", "content": "\\u0000"}',
    b'{"id": "m-1", "role": "user", "content": "\xff"}',
    b'{"id": "m-1", "role": "user", "content": ' + b"[" * 300 + b"]" * 300 + b"}",
]
BESIDE = [  # what stands behind the messages
    b', "resource_id": "r"',
    b', "messages": [{"id": "m-2", "role": "user", "content": "again"}]',
    b', "usage": {"input_tokens": 1.0, "output_tokens": "7"}',
    b', "usage": {"input_tokens": 1.5}',
    b', "unknown": 1',
]
BODIES = [
    *(b'{"messages": [' + messages + b"]}" for messages in ODD),
    *(b'{"messages": [' + ODD[0] + b"]" + beside + b"}" for beside in BESIDE),
    *(b'\xef\xbb\xbf{"messages": []}', b"[]", b"null", b'{"messages": ', b""),
]


async def answers(service: Service, path: str, body: bytes) -> list[tuple[int, Any]]:
    """Status and body by the short way and by the framework's; the same session, seen anew each time."""
    found = []
    for content_type in (SHORT, WHOLE):
        answer = await service.client.post(path, content=body, headers={"content-type": content_type})
        await service.client.delete("/sessions/s1")
        found.append((answer.status_code, answer.json()))
    return found


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
async def test_an_append_is_answered_the_same_by_both_ways(service: Service, body: bytes) -> None:
    short, whole = await answers(service, "/sessions/s1/messages", body)

    if short[0] < 300 and b'"id"' not in body:  # without an id each gets one of its own
        short[1]["messages"][0].pop("id")
        whole[1]["messages"][0].pop("id")
    assert short == whole


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
"""What Python writes as JSON: NaN, lone surrogates and integers of any size are in it."""
FIELDS = ("role", "content", "created_at", "metadata", "observe", "trust", "tool_calls", "name")


@settings(max_examples=25)
@given(field=st.sampled_from(FIELDS), value=JSON_VALUES)
async def test_whatever_a_message_holds_both_ways_answer_the_same(service: Service, field: str, value: Any) -> None:
    body = json.dumps({"messages": [{**MESSAGE, field: value}]}).encode()

    short, whole = await answers(service, "/sessions/s1/messages", body)

    assert short == whole


QUERIES = [
    "",
    "format=anthropic",
    "format=anthropic&explain=true",
    "format=openai&format=anthropic",
    "format=",
    "format=none",
    "unknown=1",
    "explain=maybe",
    "message_budget=1000&now=2026-08-01T10:00:00Z",
    "message_budget=1000&now=2026-08-01T10:00:00%2B02:00",
    "message_budget=%31000",
    "message_budget=+5",
    "max_reflections=1;max_observations=2",
    "&&",
    "a",
    "wait_ms=-1",
    "as_of_seq=7",
    "%ff=1",
]


@pytest.mark.parametrize("query", QUERIES)
async def test_a_context_is_answered_the_same_by_both_ways(service: Service, query: str) -> None:
    await service.append("s1", MESSAGE)
    path = f"/sessions/s1/context?{query}"

    short = await service.client.post(path, content=b"{}", headers={"content-type": SHORT})
    whole = await service.client.post(path, content=b"{}", headers={"content-type": WHOLE})

    assert short.status_code == whole.status_code
    assert _steady(short.json()) == _steady(whole.json())


def _steady(answer: dict[str, Any]) -> dict[str, Any]:
    """Without what tells of the call before."""
    changing = {"shared_with_previous_tokens", "break_reason"}
    return {**answer, "cache": {k: v for k, v in answer.get("cache", {}).items() if k not in changing}}


@pytest.mark.parametrize("key", ["a b", "a%0A", "%C3%A9", "a" * 201, "a%2Fb"])
@pytest.mark.parametrize("path", ["messages", "context"])
async def test_a_key_that_is_none_is_refused_by_the_short_way_too(service: Service, key: str, path: str) -> None:
    url = f"/sessions/{key}/{path}"

    short = await service.client.post(url, json={"messages": [MESSAGE]} if path == "messages" else {})

    assert short.status_code in {404, 422}


async def test_a_body_that_is_too_large_is_refused_by_the_short_way_too(start_service: StartService) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield b" " * 1_000

    async with start_service(http={"request_bytes_max": 2_000, "access_log": False}) as service:
        answer = await service.client.post("/sessions/s1/messages", content=chunks(), headers={"content-type": SHORT})

    assert answer.status_code == 413


async def test_what_is_not_said_to_be_json_is_not_taken_by_the_short_way(service: Service) -> None:
    """A page of any site may send it without asking."""
    said = b'{"messages": [{"role": "user", "content": "Hi"}]}'
    answer = await service.client.post("/sessions/s1/messages", content=said, headers={"content-type": "text/plain"})

    assert answer.status_code == 422
    assert (await service.client.get("/sessions/s1")).status_code == 404
