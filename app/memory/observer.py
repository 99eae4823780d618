"""The observer that asks a model: messages in, lines of the log out (memory-rules.md section 4)."""

from app.memory.drafting import ModelRole, Question, task
from app.memory.log import render
from app.memory.model import ObserverInput
from app.memory.parsing import block
from app.memory.prompts import prompt
from app.memory.views import defused, messages_view


class ModelObserver(ModelRole[ObserverInput]):
    @staticmethod
    def question(source: ObserverInput) -> Question:
        return Question(
            instructions=prompt("observer"),
            prompt=observer_prompt(source),
            output_tokens_max=source.output_tokens,
        )


def observer_prompt(source: ObserverInput) -> str:
    """The prompt after the fixed instructions: stable parts before newer ones, the task last."""
    view = messages_view(source.messages, zone=source.timezone, limit_tokens=source.input_tokens, tools=source.tools)
    return "\n\n".join(
        (
            block("earlier-observations", defused(render(source.earlier)) or "(none)"),
            block("current-task", defused(source.current_task or "") or "(none)"),
            block("messages", view),
            *task("Write down what has to stay known of these messages.", source),
        )
    )
