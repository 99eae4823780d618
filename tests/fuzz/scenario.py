"""What callers do while the service dies: it reaches every statement, and every step of it can be repeated."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import httpx2 as httpx

from tests.journeys.looks import until

Step = Callable[[httpx.AsyncClient], Awaitable[None]]
Json = dict[str, Any]

KEY = "s"
SESSION = f"/sessions/{KEY}"
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
}
TOLD = (
    "On {day} May 2026 Ana paid invoice {n} of {n}20 euros for the shop in {city}. "
    "We decided to keep the lease until {n} June, because of the deposit of {n}500 euros."
)
CITIES = ("Porto", "Turin", "Osaka", "Quito")
WAIT: Json = {"wait_ms": 20_000}
EDITED = "The shops are Ana's."


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
    await _done(client.put(SESSION, json={"config": config}))


async def ask(step: str, client: httpx.AsyncClient) -> None:
    await _done(client.post(f"{SESSION}/memory/{step}", params=WAIT))


async def read(client: httpx.AsyncClient) -> None:
    for path in ("/sessions", SESSION, f"{SESSION}/messages", f"{SESSION}/messages/m-1"):
        await _done(client.get(path))


async def _done(request: Awaitable[httpx.Response]) -> None:
    answer = await request
    assert answer.status_code in {200, 201, 202}, answer.text


async def edit(notes: str, client: httpx.AsyncClient) -> None:
    """Edit the oldest live note, once."""
    live = (await client.get(f"{SESSION}/memory/{notes}", params={"status": "active"})).json()["items"]
    assert live, f"no live {notes} to edit"
    if EDITED not in live[0]["text"]:
        await _done(client.patch(f"{SESSION}/memory/{notes}/{live[0]['id']}", json={"text": f"* 🟡 {EDITED}"}))


async def delete_observations(client: httpx.AsyncClient) -> None:
    await _done(client.delete(f"{SESSION}/memory/observations"))


async def begin_to_reflect(client: httpx.AsyncClient) -> None:
    """Leave the memory in the middle of the reflection that follows, if the model hangs."""
    await _done(client.post(f"{SESSION}/memory/observe"))
    await until(partial(_status, client), {"reflecting", "idle"}.__contains__)


async def _status(client: httpx.AsyncClient) -> str:
    return str((await client.get(f"{SESSION}/memory")).json()["status"])


# One by one, so that what is observed together does not depend on who is faster.
STEPS: list[Step] = [
    partial(configure, CONFIG),
    partial(append, messages(1, 6)),  # over the threshold with nothing observed ahead
    *(partial(append, messages(number, number)) for number in range(7, 28)),
    partial(ask, "observe"),
    partial(edit, "observations"),
    partial(edit, "reflections"),
    delete_observations,
    read,
    partial(append, messages(28, 31)),
    begin_to_reflect,
]

# The reflector. At first it cannot make the log smaller; it ends with what hangs, in the first life only.
LINE = "* 🟡 [fact] Line {} of an answer that is longer than what it condenses. #1\n"
LONG = "".join(LINE.format(number) for number in range(90))
SHORT = "<observations>\nDate: May 2, 2026\n* 🟡 [fact] Ana pays the invoices of the shops. #1\n</observations>"
SOUND: list[Json] = [
    {"match": r"(?s)\A(?=.*invoice 2 of)(?!.*invoice 8 of)", "reply": f"<observations>\n{LONG}</observations>"},
    {"reply": SHORT},
]
FAULTY: list[Json] = [
    {"error": {"kind": "overloaded"}, "times": 1},
    {"match": "invoice 28 of", "reply": SHORT, "delay_ms": 600_000},
    *SOUND,
]
