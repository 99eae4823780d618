"""Appends to a session turn by turn, and reads the context after each."""

from typing import Any

from tests.conftest import Service

KEY = "s1"
FACTS = ("I moved to Lisbon.", "I work at a bank in Porto.", "My dog is called Rex.")
NOW = "2099-01-01T10:00:00Z"  # later than any anchor date


def alone(context: dict[str, Any]) -> dict[str, Any]:
    """The answer without its comparison with the last call."""
    cache = {name: context["cache"][name] for name in ("epoch", "prefix_sha256", "stable_tokens")}
    return {**context, "cache": cache}


async def say(service: Service, text: str, **fields: Any) -> dict[str, Any]:
    """Append a message; returns the context after it."""
    await service.append(KEY, {"role": "user", "content": text, **fields})
    return alone(await service.context(KEY, now=NOW))


async def observe(service: Service) -> dict[str, Any]:
    await service.observe(KEY)
    return alone(await service.context(KEY, now=NOW))
