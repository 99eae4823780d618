"""The reflector that asks a model: a log in, a shorter one out (memory-rules.md section 5)."""

from app.llm.port import Model, ModelRequest, Usage
from app.llm.prices import estimated
from app.memory.drafting import block, drafted, task
from app.memory.log import day_label, render
from app.memory.model import Draft, ReflectorInput
from app.memory.prompts import Prompt, prompt
from app.memory.rules import COMPRESSION_SHARES
from app.memory.views import defused

# Room above the target: tokens are an estimate, and an answer over its target should be seen whole and tried again,
# not cut off.
OUTPUT_PER_TARGET = 1.5
OUTPUT_TOKENS_MIN = 1_000


class ModelReflector:
    """``small_model`` is asked where the input says so."""

    def __init__(self, model: Model, small_model: Model | None = None) -> None:
        self._model = model
        self._small_model = small_model or model

    @property
    def name(self) -> str:
        return self._model.provider.value

    async def reflect(self, source: ReflectorInput) -> Draft:
        """Raises ModelError where there is no answer, a refusal included."""
        model = self._small_model if source.small_model else self._model
        return await drafted(model, _request(source), prompt_version=reflector_instructions().version)

    async def estimate(self, source: ReflectorInput) -> Usage:
        return await estimated(self._model, _request(source))


def _request(source: ReflectorInput) -> ModelRequest:
    return ModelRequest(
        system=reflector_instructions().text,
        prompt=reflector_prompt(source),
        max_output_tokens=max(OUTPUT_TOKENS_MIN, round(source.target_tokens * OUTPUT_PER_TARGET)),
    )


def reflector_instructions() -> Prompt:
    """The reflector's rules with the observer's as background; the version names both."""
    own, background = prompt("reflector"), prompt("observer")
    return Prompt(f"{own.version}+{background.version}", f"{own.text}\n\n{block('rules', background.text)}")


def reflector_prompt(source: ReflectorInput) -> str:
    """All but the fixed instructions: the log, then how far to condense it."""
    tenths = round(COMPRESSION_SHARES[source.compression - 1] * 10)
    asked = (
        f"Condense this log. Keep about {tenths}/10 of the detail, in fewer words. "
        f"It has about {source.source_tokens:,} tokens; your text must have fewer than {source.target_tokens:,} tokens."
    )
    day = source.now.astimezone(source.timezone).date()
    today = f"Today is {day:%A}, {day_label(day)}."
    return "\n\n".join(
        (
            block("log", defused(render(source.items))),
            *task(f"{today} {asked}", source.instruction, source.rejected),
        )
    )
