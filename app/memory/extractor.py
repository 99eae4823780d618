"""The extractor that asks a model: a log, or messages, in; what is worth knowing after them out (docs/facts.md)."""

import asyncio

from app.llm.port import Model, ModelRequest, Usage
from app.llm.prices import estimated
from app.memory.drafting import block, drafted, task
from app.memory.log import render
from app.memory.model import Draft, ExtractorInput
from app.memory.prompts import prompt
from app.memory.views import defused, messages_view

OUTPUT_TOKENS_MAX = 2_000


class ModelExtractor:
    """``small_model`` is asked where the input says so."""

    def __init__(self, model: Model, small_model: Model | None = None) -> None:
        self._model = model
        self._small_model = small_model or model

    @property
    def name(self) -> str:
        return self._model.provider.value

    async def extract(self, source: ExtractorInput) -> Draft:
        """Raises ModelError where there is no answer, a refusal included."""
        model = self._small_model if source.small_model else self._model
        return await drafted(model, await self._request(source), prompt_version=prompt("extractor").version)

    async def estimate(self, source: ExtractorInput) -> Usage:
        return await estimated(self._model, await self._request(source))

    async def _request(self, source: ExtractorInput) -> ModelRequest:
        # In a thread: messages may hold megabytes, and counting them would hold up every other request.
        question = await asyncio.to_thread(extractor_prompt, source)
        return ModelRequest(system=prompt("extractor").text, prompt=question, max_output_tokens=OUTPUT_TOKENS_MAX)


def extractor_prompt(source: ExtractorInput) -> str:
    """All but the fixed instructions: what is read, then the task."""
    view = messages_view(source.messages, zone=source.timezone, limit_tokens=source.input_tokens)
    read = block("notes", defused(render(source.items))) if source.items else block("conversation", view)
    return "\n\n".join(
        (read, *task("Write down what is worth knowing next time.", source.instruction, source.rejected))
    )
