"""Holds conversations and ends them, so that facts are noted of them."""

from typing import Any

from tests.conftest import Service
from tests.journeys.looks import WAIT_MS, Json

FACTS = "/resources/ana/facts"
LATER, LATEST = "2100-01-01T00:00:00Z", "2101-01-01T00:00:00Z"
SMALL = {"message_tokens": 60, "buffer_every": None, "retain_tokens": 0, "keep_last": 0, "observation_tokens": 10_000}


async def say(service: Service, *texts: str, key: str = "s1", resource: str | None = "ana", **fields: Any) -> None:
    said = [{"role": "user", "content": text} | fields for text in texts]
    body = {"messages": said, "resource_id": resource}
    answer = await service.client.post(f"/sessions/{key}/messages", json=body, params={"wait_ms": WAIT_MS})
    assert answer.status_code == 201, answer.text


async def end(service: Service, key: str = "s1") -> None:
    """End the session, and wait until its memory is idle."""
    answer = await service.client.post(f"/sessions/{key}/end")
    assert answer.status_code == 200, answer.text
    await service.context(key, min_seq=1, wait_ms=WAIT_MS)


async def facts(service: Service, **parameters: Any) -> list[Json]:
    found: list[Json] = (await service.get(FACTS, **parameters))["items"]
    return found


async def texts(service: Service, **parameters: Any) -> list[str]:
    return [fact["text"] for fact in await facts(service, **parameters)]


def lines(*said: str) -> str:
    return "\n".join(["<observations>", "Date: Aug 1, 2026", *said, "</observations>"])
