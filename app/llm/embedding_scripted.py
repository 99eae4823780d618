"""Embeddings of hashed words, for tests and demos. Texts are similar as far as they share words."""

from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from re import findall

from app.llm.embedding import EmbeddingProvider, Use

DIMENSIONS = 64


class ScriptedEmbedder:
    provider = EmbeddingProvider.SCRIPTED

    def __init__(self, name: str, *, dimensions: int | None) -> None:
        self.name = name
        self._dimensions = dimensions or DIMENSIONS

    async def embed(self, texts: Sequence[str], use: Use, *, timeout_seconds: float) -> list[Sequence[float]]:  # noqa: ARG002 - it is asked for nothing
        return [hashed(findall(r"\w+", text.lower()), self._dimensions) for text in texts]

    async def close(self) -> None:
        """Nothing to close."""


def hashed(words: Sequence[str], dimensions: int) -> list[float]:
    counts = Counter(blake2b(word.encode(), digest_size=4).digest() for word in words)
    numbers = [0.0] * dimensions
    for word, count in counts.items():
        numbers[int.from_bytes(word) % dimensions] += count
    return numbers
