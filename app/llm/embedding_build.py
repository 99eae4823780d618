"""The factory of embedding models, and their guard: limited concurrency, a circuit breaker, bounded waits of searches.

Importing an SDK takes one to three seconds, so an adapter is imported only when it is built.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import assert_never

from app.llm.calls import bad_reply
from app.llm.embedding import Embedder, EmbeddingConfig, EmbeddingProvider, Use, Vector, unit
from app.llm.guard import Guard
from app.llm.port import Check

DEFAULT_MODELS: Mapping[EmbeddingProvider, str] = {
    EmbeddingProvider.OPENAI: "text-embedding-3-small",
    EmbeddingProvider.SCRIPTED: "words",
}


class GuardedEmbedder:
    """An embedding model behind its guard. Only vectors with the same ``label`` (model, dimensions) are comparable."""

    def __init__(self, embedder: Embedder, guard: Guard, config: EmbeddingConfig) -> None:
        self._embedder = embedder
        self._guard = guard
        self._config = config
        self.label = _label(embedder, config)

    async def passages(self, texts: Sequence[str], *, before_sending: Check | None = None) -> list[Vector | None]:
        """The vector of each text, None for one without a direction. Raises ModelError.

        ``before_sending`` is as that of a ModelRequest.
        """
        prefixed = [self._config.passage_prefix + text for text in texts]
        seconds = self._config.timeout_seconds
        return await self._made(prefixed, Use.PASSAGE, timeout_seconds=seconds, before_sending=before_sending)

    async def query(self, text: str) -> Vector | None:
        """The vector of a query, or ModelError, within twice ``query_seconds``."""
        bound = self._config.query_seconds
        return (await self._made([self._config.query_prefix + text], Use.QUERY, timeout_seconds=bound, wait=bound))[0]

    async def close(self) -> None:
        await self._embedder.close()

    async def _made(
        self,
        texts: Sequence[str],
        use: Use,
        *,
        timeout_seconds: float,
        wait: float | None = None,
        before_sending: Check | None = None,
    ) -> list[Vector | None]:
        async def sent() -> list[Sequence[float]]:
            if before_sending is not None:
                await before_sending()
            return await self._embedder.embed(texts, use, timeout_seconds=timeout_seconds)

        found = await self._guard.passed(self._embedder.provider, sent, wait_seconds=wait)
        wanted = self._config.dimensions or len(found[0])
        if any(len(numbers) != wanted for numbers in found):
            raise bad_reply(self._embedder.provider)
        return await asyncio.to_thread(lambda: [unit(numbers) for numbers in found])


def _label(embedder: Embedder, config: EmbeddingConfig) -> str:
    """The model, its dimensions and its passage prefix, which changes the vectors."""
    dimensions = f" {config.dimensions}" if config.dimensions else ""
    prefix = f" {config.passage_prefix!r}" if config.passage_prefix else ""
    return f"{embedder.provider} {embedder.name}{dimensions}{prefix}"


def build_embedder(config: EmbeddingConfig) -> Embedder:
    """The configured adapter. Raises ModelSetupError, in one line for the operator, if it cannot be built."""
    name = config.model or DEFAULT_MODELS.get(config.provider, "")
    match config.provider:
        case EmbeddingProvider.OPENAI:
            from app.llm.embedding_openai import OpenAIEmbedder

            return OpenAIEmbedder(name, config)
        case EmbeddingProvider.LOCAL:
            from app.llm.embedding_local import LocalEmbedder

            return LocalEmbedder()
        case EmbeddingProvider.SCRIPTED:
            from app.llm.embedding_scripted import ScriptedEmbedder

            return ScriptedEmbedder(name, dimensions=config.dimensions)
    assert_never(config.provider)
