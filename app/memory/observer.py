"""The observer that asks a model: messages in, lines of the log out (memory-rules.md section 4)."""

import asyncio

from app.llm.port import Model, ModelRequest, Usage
from app.llm.prices import estimated
from app.memory.drafting import block, drafted, task
from app.memory.log import render
from app.memory.model import Draft, ObserverInput
from app.memory.prompts import prompt
from app.memory.views import defused, messages_view

OUTPUT_TOKENS_MAX = 4_000


class ModelObserver:
    """``max_output_tokens`` bounds the answer; what the model spends on thinking comes on top (``LlmConfig``).

    ``small_model`` is asked where the input says so.
    """

    def __init__(
        self, model: Model, small_model: Model | None = None, *, max_output_tokens: int = OUTPUT_TOKENS_MAX
    ) -> None:
        self._model = model
        self._small_model = small_model or model
        self._max_output_tokens = max_output_tokens

    @property
    def name(self) -> str:
        return self._model.provider.value

    async def observe(self, source: ObserverInput) -> Draft:
        """Raises ModelError where there is no answer, a refusal included."""
        model = self._small_model if source.small_model else self._model
        return await drafted(model, await self._request(source), prompt_version=prompt("observer").version)

    async def estimate(self, source: ObserverInput) -> Usage:
        return await estimated(self._model, await self._request(source))

    async def _request(self, source: ObserverInput) -> ModelRequest:
        # In a thread: a span may hold megabytes, and counting them would hold up every other request.
        question = await asyncio.to_thread(observer_prompt, source)
        return ModelRequest(system=prompt("observer").text, prompt=question, max_output_tokens=self._max_output_tokens)


def observer_prompt(source: ObserverInput) -> str:
    """All but the fixed instructions, the steadier before the newer, the task last."""
    view = messages_view(source.messages, zone=source.timezone, limit_tokens=source.input_tokens)
    return "\n\n".join(
        (
            block("earlier-observations", defused(render(source.earlier)) or "(none)"),
            block("current-task", defused(source.current_task or "") or "(none)"),
            block("messages", view),
            *task("Write down what has to stay known of these messages.", source.instruction, source.rejected),
        )
    )
