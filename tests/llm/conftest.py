from collections.abc import Iterator

import pytest

from tests.model_server import ModelServer


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A scripted provider, to which both SDKs' variables point; it answers every prompt with one sentence."""
    with ModelServer(other=lambda _asked: "Lisbon, of course.") as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        yield server
