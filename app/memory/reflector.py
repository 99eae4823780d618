"""The reflector that asks a model: a log in, a shorter one out (memory-rules.md section 5)."""

from app.kit.days import day_label
from app.memory.drafting import ModelRole, Question, task
from app.memory.log import render
from app.memory.model import ReflectorInput
from app.memory.parsing import block
from app.memory.prompts import Prompt, prompt
from app.memory.rules import COMPRESSION_SHARES
from app.memory.views import defused

# Room above the target: tokens are an estimate, and an answer over its target should be seen whole and tried again,
# not cut off.
OUTPUT_PER_TARGET = 1.5
OUTPUT_TOKENS_MIN = 1_000


class ModelReflector(ModelRole[ReflectorInput]):
    @property
    def target_tokens_max(self) -> int | None:
        """The largest target whose room above it is within the model's output limit."""
        most = self.output_tokens_max
        return None if most is None else int(most / OUTPUT_PER_TARGET)

    @staticmethod
    def question(source: ReflectorInput) -> Question:
        return Question(
            instructions=reflector_instructions(),
            prompt=reflector_prompt(source),
            output_tokens_max=max(OUTPUT_TOKENS_MIN, round(source.target_tokens * OUTPUT_PER_TARGET)),
        )


def reflector_instructions() -> Prompt:
    """The reflector's rules with the observer's as background; the version names both."""
    own, background = prompt("reflector"), prompt("observer")
    return Prompt(f"{own.version}+{background.version}", f"{own.text}\n\n{block('rules', background.text)}")


def reflector_prompt(source: ReflectorInput) -> str:
    """The prompt after the fixed instructions: the log, then how far to condense it."""
    tenths = round(COMPRESSION_SHARES[source.compression - 1] * 10)
    share = round(100 * source.target_tokens / max(1, source.source_tokens))
    asked = (
        f"Condense this log to less than {share}% of its length: it has about {source.source_tokens:,} tokens, your"
        f" text must have fewer than {source.target_tokens:,}. Keep about {tenths}/10 of what it tells:"
        " merge lines and save words before you leave anything out."
    )
    day = source.now.astimezone(source.timezone).date()
    today = f"Today is {day:%A}, {day_label(day)}."
    return "\n\n".join(
        (
            block("log", defused(render(source.items))),
            *task(f"{today} {asked}", source),
        )
    )
