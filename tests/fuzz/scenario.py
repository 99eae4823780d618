"""The scenario of callers while the service dies: it reaches every writing statement, and every step is repeatable.

A step is repeated when the service dies in it, so it must not do anything twice. Between two steps the memory becomes
idle, so that the batches that are observed do not depend on timing. To add a point for a new statement, add a step to
``STEPS`` that makes the service execute it, and add its effect on answers, if any, to ``crashes.outline``; the tables
are compared anyway.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import httpx2 as httpx

from tests.journeys.looks import until

Step = Callable[[httpx.AsyncClient], Awaitable[None]]
Json = dict[str, Any]

KEY = "s"
SESSION = f"/sessions/{KEY}"
FACTS = "/resources/ana/facts"
CONFIG: Json = {
    "message_tokens": 300,
    "buffer_every": 0.3,
    "retain_tokens": 60,
    "observation_tokens": 200,
    "reflect_keep": 0.7,
    "memory_budget": 700,
    "message_budget": 2_000,
    "consolidate_at": 2,
    "keep_last": 2,
}
SETTINGS: Json = {
    "http": {"access_log": False},
    "observer": {"provider": "extractive"},
    "pool": {"min": 1, "max": 3},
    "caps": {"session_tokens_per_day": 10**9},  # never reached, but counted
    "engine": {"lease_seconds": 1, "sweep_seconds": 0.05, "grace_seconds": 0.1},
    "retention": {"sweep_seconds": 0.05},
    "recall": {"index_quiet_seconds": 0, "index_look_seconds": 0.05, "index_share": 0.5},
    "embeddings": {"provider": "scripted", "dimensions": 8, "look_seconds": 0.05, "share": 0.5},
}
TOLD = (
    "On {day} May 2026 Ana paid invoice {n} of {n}20 euros for the shop in {city}. "
    "We decided to keep the lease until {n} June, because of the deposit of {n}500 euros."
)
CITIES = ("Porto", "Turin", "Osaka", "Quito")
WAIT: Json = {"wait_ms": 20_000}
REST_SECONDS = 120.0
AT_ONCE: Json = {"days": 1e-9}
TOLD_AT = "2026-05-04T09:00:00Z"
EDITED = "The shops are Ana's."
STREAMED: Json = {"role": "assistant", "content": "I will", "created_at": "2026-05-04T10:00:00Z"}


def messages(first: int, last: int) -> list[Json]:
    return [_message(number) for number in range(first, last + 1)]


def _message(number: int) -> Json:
    told = TOLD.format(day=number % 28 + 1, n=number, city=CITIES[number % len(CITIES)])
    role = "user" if number % 2 else "assistant"
    at = f"2026-05-{number % 28 + 1:02}T10:00:00Z"
    return {"id": f"m-{number}", "role": role, "content": told, "created_at": at}


async def append(sent: Sequence[Json], client: httpx.AsyncClient) -> None:
    await _done(client.post(f"{SESSION}/messages", json={"messages": list(sent)}, params=WAIT))


async def configure(config: Json, client: httpx.AsyncClient) -> None:
    await _done(client.put(SESSION, json={"config": config, "resource_id": "ana"}))


async def ask(step: str, client: httpx.AsyncClient) -> None:
    await _done(client.post(f"{SESSION}/memory/{step}", params=WAIT))


async def end(client: httpx.AsyncClient) -> None:
    await _done(client.post(f"{SESSION}/end"))


async def read(client: httpx.AsyncClient) -> None:
    for path in ("/sessions", SESSION, f"{SESSION}/messages", f"{SESSION}/messages/m-1"):
        await _done(client.get(path))


async def _done(request: Awaitable[httpx.Response]) -> None:
    answer = await request
    assert answer.status_code in {200, 201, 202}, answer.text


async def edit(notes: str, client: httpx.AsyncClient) -> None:
    """Edit the oldest live note, once."""
    path = f"{SESSION}/memory/{notes}"
    found = (await client.get(path, params={"limit": 500})).json()["items"]
    if not any(note["retired_by"] == "edited" for note in found):
        live = next(note["id"] for note in found if note["status"] == "active")
        await _done(client.patch(f"{path}/{live}", json={"text": f"* 🟡 {EDITED}"}))


async def replace(message: str, replacement: Json, client: httpx.AsyncClient) -> None:
    await _done(client.put(f"{SESSION}/messages/{message}", json=replacement))


async def put_resource(metadata: Json, client: httpx.AsyncClient) -> None:
    await _done(client.put("/resources/ana", json={"metadata": metadata}))


async def share(client: httpx.AsyncClient) -> None:
    """Let sessions join and leave a shared memory; then branch one, delete the other, and delete their resource."""
    shared = {"resource_id": "clara", "config": {"scope": "resource", "message_tokens": 60, "buffer_every": None}}
    for config in ({}, {"scope": "session"}):
        await _done(client.put("/sessions/alone", json={"resource_id": "clara", "config": config}))
        await _done(client.put("/sessions/alone", json=shared))
    for key in ("left", "right"):
        await _done(client.put(f"/sessions/{key}", json=shared))
        await _done(client.post(f"/sessions/{key}/messages", json={"messages": messages(1, 3)}, params=WAIT))
    await _done(client.put("/resources/clara", json={"config": {"message_tokens": 90}}))
    answer = await client.post("/sessions/left/branch", json={"key": "apart"})
    assert answer.status_code in {201, 409}, answer.text
    await _done(client.delete("/sessions/right"))
    await _done(client.delete("/resources/clara"))


async def keep(artifact: str, content: bytes, client: httpx.AsyncClient) -> None:
    await _done(client.put(f"{SESSION}/artifacts/{artifact}", content=content))


async def set_state(values: Json, client: httpx.AsyncClient) -> None:
    await _done(client.patch(f"{SESSION}/state", json=values))


async def delete(path: str, client: httpx.AsyncClient) -> None:
    await _done(client.delete(f"{SESSION}/{path}"))


async def compact(up_to_seq: int, summary: str | None, client: httpx.AsyncClient) -> None:
    await _done(client.post(f"{SESSION}/compact", json={"up_to_seq": up_to_seq, "summary": summary}))


async def branch(key: str, at_seq: int, client: httpx.AsyncClient) -> None:
    """Branch the session, once, and wait until the branch is idle."""
    answer = await client.post(f"{SESSION}/branch", json={"key": key, "at_seq": at_seq})
    assert answer.status_code in {201, 409}, answer.text
    await until(partial(_status, client, f"/sessions/{key}"), "idle".__eq__, seconds=REST_SECONDS)


async def note(fact: str, seq: int, client: httpx.AsyncClient) -> None:
    body = {"text": fact, "category": "insight", "sources": [{"session": KEY, "cites": [seq]}]}
    await _done(client.post(FACTS, json=body))


async def correct(fact: str, client: httpx.AsyncClient) -> None:
    """Reword the newest fact."""
    newest = (await client.get(FACTS)).json()["items"][-1]["id"]
    await _done(client.patch(f"{FACTS}/{newest}", json={"text": fact}))


async def delete_another(client: httpx.AsyncClient) -> None:
    """Make and delete a resource and a session."""
    await _done(client.post("/resources/boris/facts", json={"text": "Boris pays too.", "category": "insight"}))
    await _done(client.put("/resources/boris", json={"config": {"preset": "compact"}}))
    await _done(client.delete("/resources/boris"))
    await _done(client.post("/sessions/another/messages", json={"messages": messages(1, 2)}))
    await _done(client.put("/sessions/another/state/page", json="billing"))
    await _done(client.delete("/sessions/another"))


async def expire(client: httpx.AsyncClient) -> None:
    """Wait until a retention rule has removed the messages before the tail."""
    memory = (await client.get(f"{SESSION}/memory")).json()
    old = memory["cursor"]["tail_from_seq"] - 1
    await until(partial(_expired, client), old.__eq__, seconds=REST_SECONDS)


async def _expired(client: httpx.AsyncClient) -> int:
    return int((await client.get(f"{SESSION}/memory")).json()["retention"]["expired_seq"])


async def fall_silent(client: httpx.AsyncClient) -> None:
    """Wait until a retention rule has deleted a silent session."""
    await _done(client.post("/sessions/silent/messages", json={"messages": messages(1, 2)}))
    await _done(client.put("/sessions/silent", json={"config": {"retention": AT_ONCE | {"keep": "nothing"}}}))

    async def status() -> int:
        return (await client.get("/sessions/silent")).status_code

    await until(status, (404).__eq__, seconds=REST_SECONDS)


async def delete_between(client: httpx.AsyncClient) -> None:
    """Delete a session that has a parent and a branch, then these."""
    await _done(client.post("/sessions/upper/messages", json={"messages": messages(1, 2)}))
    for parent, key in (("upper", "between"), ("between", "lower")):
        answer = await client.post(f"/sessions/{parent}/branch", json={"key": key})
        assert answer.status_code in {201, 409}, answer.text
    for key in ("between", "lower", "upper"):
        await _done(client.delete(f"/sessions/{key}"))


async def inherit(client: httpx.AsyncClient) -> None:
    """Delete a session of which facts were noted and corrected that its branch inherits; then the branch."""
    said = [{"id": "told", "role": "user", "content": "I prefer a window seat.", "created_at": TOLD_AT}]
    body = {"messages": said, "resource_id": "dora"}
    await _done(client.post("/sessions/elder/messages", json=body, params=WAIT))
    await _done(client.post("/sessions/elder/end"))
    await until(partial(_status, client, "/sessions/elder"), "idle".__eq__, seconds=REST_SECONDS)
    answer = await client.post("/sessions/elder/branch", json={"key": "younger"})
    assert answer.status_code in {201, 409}, answer.text
    for fact in (await client.get("/resources/dora/facts")).json()["items"]:
        await _done(client.patch(f"/resources/dora/facts/{fact['id']}", json={"category": "insight"}))
    for key in ("elder", "younger"):
        await _done(client.delete(f"/sessions/{key}"))


async def rest(client: httpx.AsyncClient) -> None:
    """Wait until the memory is idle."""
    await until(partial(_status, client), "idle".__eq__, seconds=REST_SECONDS)


async def begin_to_reflect(client: httpx.AsyncClient) -> None:
    """Leave the memory in the middle of the reflection that follows, if the model hangs."""
    await _done(client.post(f"{SESSION}/memory/observe"))
    await until(partial(_status, client), {"reflecting", "idle"}.__contains__)


async def _status(client: httpx.AsyncClient, session: str = SESSION) -> str:
    return str((await client.get(f"{session}/memory")).json()["status"])


STEPS: list[Step] = [
    partial(configure, CONFIG),
    partial(append, messages(1, 6)),
    *(partial(append, messages(number, number)) for number in range(7, 28)),
    partial(ask, "observe"),
    partial(edit, "observations"),
    partial(edit, "reflections"),
    partial(delete, "memory/observations"),
    *(partial(keep, "plan", content) for content in (b"first", b"second")),
    partial(keep, "draft", b"to be deleted"),
    partial(delete, "artifacts/draft"),
    partial(set_state, {"page": "billing", "app:plan": "free", "draft": 1}),
    partial(set_state, {"page": "orders", "draft": None}),
    partial(put_resource, {"plan": "pro"}),
    partial(note, "Ana pays by transfer.", 23),
    partial(note, "Ana pays late.", 24),
    partial(correct, "Ana pays when she can."),
    read,
    end,
    delete_another,
    delete_between,
    share,
    inherit,
    partial(branch, "branched", 20),
    partial(compact, 26, None),
    partial(compact, 26, "Ana pays the invoices of the shops."),
    partial(delete, "messages/m-24"),
    partial(configure, {"retention": AT_ONCE}),
    expire,
    partial(configure, {"retention": None}),
    fall_silent,
    partial(append, messages(28, 31)),
    partial(append, [{"id": "told", "role": "user", "content": "I prefer a window seat.", "created_at": TOLD_AT}]),
    end,
    partial(delete, "messages/told"),
    partial(append, [{"id": "streamed", **STREAMED}]),
    partial(replace, "streamed", STREAMED | {"content": "I will pay invoice 28."}),
]
LAST: Step = begin_to_reflect

# Statements that are only executed if the reflector fails or hangs.
OF_FAULTS = frozenset({"fail", "count_usage", "give_back"})

# The reflector. At first it cannot make the log smaller. In the first life, and to reach OF_FAULTS, it also fails once,
# and hangs in the last step.
LINE = "* 🟡 [fact] Line {} of an answer that is longer than what it condenses. #1\n"
LONG = "".join(LINE.format(number) for number in range(90))
SHORT = "<observations>\nDate: May 2, 2026\n* 🟡 [fact] Ana pays the invoices of the shops. #1\n</observations>"
SOUND: list[Json] = [
    {"match": r"(?s)\A(?=.*invoice 2 of)(?!.*invoice 8 of)", "reply": f"<observations>\n{LONG}</observations>"},
    {"reply": SHORT},
]
FAULTY: list[Json] = [
    {"match": "invoice 28 of", "reply": SHORT, "delay_ms": 600_000},
    {"error": {"kind": "overloaded"}, "times": 1},
    *SOUND,
]
