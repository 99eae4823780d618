"""A scripted model provider for the journeys, and the adapters that are led to it."""

import os
from collections.abc import Iterator

import pytest
import structlog

from tests.journeys.looks import Json
from tests.model_server import ModelServer


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """The model server, with the variables both SDKs read set to it."""
    with ModelServer() as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture(params=["anthropic", "openai"])
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def at_length() -> bool:
    """Whether there is time: `make fuzz` sets LONG, CI does not."""
    return bool(os.environ.get("LONG"))


@pytest.fixture
def lines() -> Iterator[list[Json]]:
    """Every line the service logs, with what is bound to it, before it is rendered."""
    found: list[Json] = []

    def keep(_logger: object, _method: str, event: structlog.types.EventDict) -> structlog.types.EventDict:
        found.append({**event, "traceback": structlog.processors.format_exc_info(None, "", dict(event))})
        raise structlog.DropEvent

    before = structlog.get_config()["processors"]
    structlog.configure(processors=[structlog.contextvars.merge_contextvars, keep])
    yield found
    structlog.configure(processors=before)
