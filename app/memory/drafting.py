"""The common part of the observer, reflector and extractor that ask a model: prompts, and calls for drafts."""

import asyncio
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Generic

from app.llm.port import UNHEARD, Check, Model, ModelError, ModelRequest, Stop, Usage
from app.llm.prices import estimated, reckoned, unanswered
from app.memory.model import Call, Draft, Source
from app.memory.prompts import Prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A prompt: the fixed instructions, then ``prompt``, and the output limit in tokens.

    Tokens that the model spends on thinking come on top (``LlmConfig``).
    """

    instructions: Prompt
    prompt: str
    output_tokens_max: int

    @property
    def request(self) -> ModelRequest:
        return ModelRequest(system=self.instructions.text, prompt=self.prompt, max_output_tokens=self.output_tokens_max)


class ModelRole(ABC, Generic[Source]):
    """A role that a provider's model plays. ``small_model`` is called if the source asks for it."""

    def __init__(self, model: Model, small_model: Model | None = None) -> None:
        self._model = model
        self._small_model = small_model or model

    @property
    def name(self) -> str:
        return self._model.provider.value

    @property
    def output_tokens_max(self) -> int | None:
        """The lowest output limit of its models, thinking included; None if no provider has reported one."""
        told = (self._model.output_tokens_max, self._small_model.output_tokens_max)
        return min((tokens for tokens in told if tokens is not None), default=None)

    async def estimate(self, source: Source) -> Usage:
        return await estimated(self._model, (await self._asked(source)).request)

    @staticmethod
    @abstractmethod
    def question(source: Source) -> Question:
        """Pure, and called in a thread."""

    async def draft(self, source: Source, before_sending: Check | None = None, /) -> Draft:
        """Raises ModelError if there is no answer, or a refusal; and what ``before_sending`` raises."""
        question = await self._asked(source)
        model = self._small_model if source.small_model else self._model
        request = replace(question.request, before_sending=before_sending)
        return await _drafted(model, request, prompt_version=question.instructions.version)

    async def _asked(self, source: Source) -> Question:
        # In a thread: a source may hold megabytes, and counting them would hold up every other request.
        return await asyncio.to_thread(self.question, source)


async def _drafted(model: Model, request: ModelRequest, *, prompt_version: str) -> Draft:
    """The model's answer with what the call cost. Raises ModelError, for a refusal too."""
    started = time.monotonic()
    try:
        reply = await model.complete(request)
    except ModelError as error:
        error.model = model.name
        if error.kind in UNHEARD and not error.usage.is_told:
            error.usage = await unanswered(model, request)
        raise
    reply = replace(reply, model=reply.model or model.name)  # not every server names it
    if not reply.usage.is_told:
        reply = replace(reply, usage=await reckoned(model, request, reply.text))
    if reply.stop is Stop.REFUSAL:
        raise ModelError("refused", f"{model.provider} refused to answer", retryable=False, reply=reply)
    call = Call(
        provider=model.provider.value,
        model=reply.model,
        prompt_version=prompt_version,
        usage=reply.usage,
        latency_ms=round((time.monotonic() - started) * 1000),
    )
    return Draft(text=reply.text, call=call, cut_off=reply.stop is Stop.LENGTH)


def task(asked: str, source: Source) -> list[str]:
    """The paragraphs a prompt ends with: the task, what the operator adds to it, why the last try was refused."""
    paragraphs = [asked]
    if source.instruction:
        paragraphs.append(f"The operator of this memory adds: {source.instruction}")
    if source.rejected:
        paragraphs.append(f"Your last answer to this was not accepted: {source.rejected}. Avoid that this time.")
    return paragraphs
