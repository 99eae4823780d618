"""The extractor that asks a model: a log, or messages, in; what is worth knowing after them out (docs/facts.md)."""

from app.memory.drafting import ModelRole, Question, task
from app.memory.log import render
from app.memory.model import ExtractorInput
from app.memory.parsing import block
from app.memory.prompts import prompt
from app.memory.views import defused, messages_view

OUTPUT_TOKENS_MAX = 2_000


class ModelExtractor(ModelRole[ExtractorInput]):
    @staticmethod
    def question(source: ExtractorInput) -> Question:
        return Question(
            instructions=prompt("extractor"),
            prompt=extractor_prompt(source),
            output_tokens_max=OUTPUT_TOKENS_MAX,
        )


def extractor_prompt(source: ExtractorInput) -> str:
    """The prompt after the fixed instructions: what is read, then the task."""
    view = messages_view(source.messages, zone=source.timezone, limit_tokens=source.input_tokens, tools=source.tools)
    read = block("notes", defused(render(source.items))) if source.items else block("conversation", view)
    return "\n\n".join((read, *task("Write down what is worth knowing next time.", source)))
