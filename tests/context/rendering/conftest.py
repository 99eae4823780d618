"""Fixtures shared by the tests with the providers' own clients."""

from collections.abc import Iterator

import pytest

from tests.context.rendering.capture import Capture


@pytest.fixture(scope="module")
def provider() -> Iterator[Capture]:
    """Keeps what a client sends, and answers it."""
    with Capture() as capture:
        yield capture
