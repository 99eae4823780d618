"""Fixtures of the journeys: each provider in turn, whether to run at length, the lines of the log."""

import os
from collections.abc import Iterator

import pytest
import structlog

from tests.journeys.looks import Json


@pytest.fixture(params=["anthropic", "openai"])
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def at_length() -> bool:
    """Whether to run at length: `make fuzz` sets LONG, CI does not."""
    return bool(os.environ.get("LONG"))


@pytest.fixture
def lines() -> Iterator[list[Json]]:
    """Every log event of the service, with its bound values, before it is rendered."""
    found: list[Json] = []

    def keep(_logger: object, _method: str, event: structlog.types.EventDict) -> structlog.types.EventDict:
        found.append({**event, "traceback": structlog.processors.format_exc_info(None, "", dict(event))})
        raise structlog.DropEvent

    before = structlog.get_config()["processors"]
    structlog.configure(processors=[structlog.contextvars.merge_contextvars, keep])
    yield found
    structlog.configure(processors=before)
