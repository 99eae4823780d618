"""Removes a model's thinking that a server leaves before the answer. Pure."""

import re
from typing import Final

from app.kit.patterns import lazy_pattern

# The tags of Qwen and DeepSeek, of Gemini by its OpenAI endpoint ("thought"), of Seed; Mistral's is in brackets.
_OPENS: Final = lazy_pattern(r"\s*(?:<(think|thinking|thoughts?|reasoning|seed:think)>|\[(THINK)\])", re.IGNORECASE)
_HARMONY: Final = lazy_pattern(r"\s*<\|(?:start|channel)\|>")
_FINAL: Final = "<|channel|>final<|message|>"
_HARMONY_ENDS: Final = lazy_pattern(r"<\|(?:end|return)\|>")
_BARE_HARMONY: Final = lazy_pattern(r"\s*analysis(?=\S).*assistantfinal", re.DOTALL)


def without_thinking(text: str) -> str:
    """The answer alone, "" if there is none: unclosed thinking was cut off, whatever the finish reason.

    DeepSeek's and Qwen's templates put the opening tag into the prompt, so that the reply has only the closing one, on
    a line of its own. gpt-oss writes channels (OpenAI's harmony format), whose special tokens a server may drop.
    """
    if _HARMONY.match(text):
        return _HARMONY_ENDS.split(text.rpartition(_FINAL)[2], maxsplit=1)[0] if _FINAL in text else ""
    if bare := _BARE_HARMONY.match(text):
        return text[bare.end() :]
    opened = _OPENS.match(text)
    if opened is None:
        thought, tag, answer = text.partition("</think>")
        return answer if tag and thought.endswith("\n") and answer.startswith("\n") else text
    while opened is not None:
        closing = f"</{opened[1]}>" if opened[1] else "[/THINK]"
        closed = re.search(re.escape(closing), text, re.IGNORECASE)
        text = text[closed.end() :] if closed else ""
        opened = _OPENS.match(text)
    return text
