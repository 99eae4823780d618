"""The interface of embedding models: texts in, vectors out. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import hypot, isfinite
from typing import Protocol, TypeAlias

Vector: TypeAlias = tuple[float, ...]
"""A vector of length 1, so that the dot product of two is their cosine."""


class EmbeddingProvider(StrEnum):
    OPENAI = "openai"
    LOCAL = "local"  # the extra local-embeddings: no network
    SCRIPTED = "scripted"  # hashed words


class Use(StrEnum):
    """The role of a text in a comparison: some models embed queries and passages differently."""

    QUERY = "query"
    PASSAGE = "passage"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingConfig:
    """``model`` None is the provider's default, ``dimensions`` None the model's own.

    ``timeout_seconds`` bounds a call for passages, ``reply_bytes_max`` the bytes read of a reply. ``query_seconds`` is
    how long a search waits for a place among the calls, and then again for its vector. The prefixes are those that the
    model was trained with.
    """

    provider: EmbeddingProvider
    model: str | None = None
    dimensions: int | None = None
    timeout_seconds: float = 60.0
    reply_bytes_max: int = 32 * 1024 * 1024
    query_seconds: float = 1.0
    query_prefix: str = ""
    passage_prefix: str = ""


class Embedder(Protocol):
    """An embedding model. ``embed`` raises ModelError and nothing else."""

    @property
    def provider(self) -> EmbeddingProvider: ...

    @property
    def name(self) -> str: ...

    async def embed(self, texts: Sequence[str], use: Use, *, timeout_seconds: float) -> list[Sequence[float]]:
        """One vector for each text, in order."""

    async def close(self) -> None: ...


def unit(numbers: Sequence[float]) -> Vector | None:
    """The vector scaled to length 1. None if it has no direction: it is empty, zero, or not finite."""
    largest = max(map(abs, numbers), default=0.0)
    if not largest or not isfinite(hypot(*numbers)):
        return None
    near_one = [number / largest for number in numbers]  # squares near the ends of a float's range lose precision
    length = hypot(*near_one)
    return tuple(number / length for number in near_one)
