"""A model that answers from a file, for tests and demos.

The file is a JSON list of rules, or JSONL with one rule per line. The first rule whose ``match`` (a regular expression,
searched in the instructions and the prompt) matches answers; a rule without ``match`` matches everything:

    {"match": "<messages>", "reply": "<observations>...", "stop": "end", "delay_ms": 0, "times": 3}
    {"match": "<log>", "error": {"kind": "rate_limited", "retryable": true, "retry_after": 2}}
"""

import asyncio
import json
import re
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from app.kit.tokens import text_tokens
from app.llm.calls import ModelSetupError
from app.llm.port import ModelError, ModelReply, ModelRequest, Provider, Stop, Usage


class Failure(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: str = "server_error"
    retryable: bool = True
    retry_after: float | None = None


class Rule(BaseModel):
    """``times`` is how often the rule answers before it is used up, None for ever."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    match: re.Pattern[str] = re.compile("")
    reply: str | None = None
    stop: Stop = Stop.END
    error: Failure | None = None
    delay_ms: int = Field(0, ge=0)
    times: int | None = Field(None, ge=1)

    @model_validator(mode="after")
    def _answers(self) -> Self:
        if (self.reply is None) == (self.error is None):
            raise ValueError("a rule must have either a reply or an error")
        return self


RULES = TypeAdapter(list[Rule])


class ScriptedModel:
    provider = Provider.SCRIPTED
    reasoning_tokens = 0
    output_tokens_max = None

    def __init__(self, path: Path) -> None:
        """Raises ModelSetupError, in one line, if the file cannot be read or is no script."""
        self.name = str(path)
        self._rules = read_script(path)
        self._used = [0] * len(self._rules)

    async def complete(self, request: ModelRequest) -> ModelReply:
        rule = self._take(f"{request.system}\n{request.prompt}")
        await asyncio.sleep(rule.delay_ms / 1000)
        if rule.error is not None:
            raise ModelError(
                rule.error.kind,
                f"the script answers with {rule.error.kind}",
                retryable=rule.error.retryable,
                retry_after=rule.error.retry_after,
            )
        text = rule.reply or ""
        usage = Usage(
            input_tokens=text_tokens(request.system) + text_tokens(request.prompt), output_tokens=text_tokens(text)
        )
        return ModelReply(text=text, stop=rule.stop, usage=usage, model=self.name)

    async def close(self) -> None:
        """Nothing to close."""

    def _take(self, text: str) -> Rule:
        for index, rule in enumerate(self._rules):
            left = rule.times is None or self._used[index] < rule.times
            if left and rule.match.search(text):
                self._used[index] += 1
                return rule
        raise ModelError("bad_request", "no rule of the script fits this prompt", retryable=False)


def read_script(path: Path) -> list[Rule]:
    try:
        return RULES.validate_python(_entries(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        raise ModelSetupError(f"model script {path}: cannot be read ({type(error).__name__})") from error
    except json.JSONDecodeError as error:
        raise ModelSetupError(f"model script {path}: line {error.lineno} is not JSON: {error.msg}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(step) for step in first["loc"])
        raise ModelSetupError(f"model script {path}: rule {where}: {first['msg']}") from error


def _entries(text: str) -> Any:
    """The parsed JSON list, or the lines of JSONL. Blank lines count for line numbers only."""
    if text.lstrip().startswith("["):
        return json.loads(text)
    return [_entry(line, number) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]


def _entry(line: str, number: int) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        # The decoder derives the line from the newlines before the position: so many make it the line of the file.
        raise json.JSONDecodeError(error.msg, "\n" * (number - 1) + line, number - 1 + error.pos) from error
