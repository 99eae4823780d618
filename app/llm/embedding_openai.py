"""The adapter of OpenAI's embeddings API, which Ollama, vLLM, LM Studio and Infinity have too.

Key and endpoint are the SDK's own variables (OPENAI_API_KEY, OPENAI_BASE_URL).
"""

import asyncio
import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from openai import omit

from app.llm.calls import answered, understood
from app.llm.complaints import answer_in
from app.llm.embedding import EmbeddingConfig, EmbeddingProvider, Use
from app.llm.openai import ERRORS, client


class OpenAIEmbedder:
    provider = EmbeddingProvider.OPENAI

    def __init__(self, name: str, config: EmbeddingConfig) -> None:
        self.name = name
        self._dimensions = config.dimensions
        self._client = client(config.timeout_seconds, reply_bytes_max=config.reply_bytes_max)

    async def embed(self, texts: Sequence[str], use: Use, *, timeout_seconds: float) -> list[Sequence[float]]:  # noqa: ARG002 - the API knows no use
        """Asks for plain numbers, because not every server knows base64, the SDK's default.

        The body is parsed in a thread, not by the SDK: 100,000 numbers would hold up every request for 0.3 s.
        """
        call = self._client.embeddings.with_raw_response.create(
            input=list(texts),
            model=self.name,
            dimensions=omit if self._dimensions is None else self._dimensions,
            encoding_format="float",
            timeout=timeout_seconds,
        )
        reply = await answered(call, provider=self.provider, errors=ERRORS, timeout_seconds=timeout_seconds)
        read = partial(read_vectors, number=len(texts))
        return await asyncio.to_thread(understood, reply.content, read, provider=self.provider)

    async def close(self) -> None:
        await self._client.close()


def read_vectors(body: bytes, *, number: int) -> list[Sequence[float]]:
    """The texts' vectors, in order. Raises ValueError if one is missing, or is not made of numbers.

    TypeError or LookupError for a body of another shape; Complained if it is an error. Gemini leaves out the index of
    the first vector, some servers all. llama.cpp writes NaN as null, which makes a vector without a direction.
    """
    data = answer_in(json.loads(body), "data")["data"]
    found = {
        _index(one, at): [float("nan" if value is None else value) for value in _numbers(one)]
        for at, one in enumerate(data)
    }
    if sorted(found) != list(range(number)):
        raise ValueError("not one vector for each text")
    return [found[index] for index in range(number)]


def _index(one: Any, at: int) -> Any:
    index = one.get("index")
    return at if index is None else index


def _numbers(one: Any) -> Any:
    numbers = one["embedding"]
    if isinstance(numbers, str):  # whose characters could be read as numbers
        raise TypeError("an embedding is no list")
    return numbers
