"""What observer and reflector share: the shape of a prompt, and asking a model for a draft."""

import time

from app.llm.port import TIMEOUT, Model, ModelError, ModelReply, ModelRequest, Stop
from app.llm.prices import unanswered
from app.memory.model import Call, Draft


async def drafted(model: Model, request: ModelRequest, *, prompt_version: str) -> Draft:
    """The model's answer with what the call cost. Raises ModelError, for a refusal too."""
    started = time.monotonic()
    try:
        reply = await model.complete(request)
    except ModelError as error:
        error.model = model.name
        if error.kind == TIMEOUT:
            error.usage = await unanswered(model, request)
        raise
    if reply.stop is Stop.REFUSAL:
        raise ModelError("refused", f"{model.provider} refused to answer", retryable=False, reply=reply)
    return Draft(
        text=reply.text,
        call=_call(model, reply, prompt_version=prompt_version, seconds=time.monotonic() - started),
        cut_off=reply.stop is Stop.LENGTH,
    )


def _call(model: Model, reply: ModelReply, *, prompt_version: str, seconds: float) -> Call:
    return Call(
        provider=model.provider.value,
        model=reply.model,
        prompt_version=prompt_version,
        usage=reply.usage,
        latency_ms=round(seconds * 1000),
    )


def block(tag: str, text: str) -> str:
    return f"<{tag}>\n{text}\n</{tag}>"


def task(asked: str, instruction: str | None, rejected: str | None) -> list[str]:
    """The paragraphs a prompt ends with: the task, what the operator adds to it, why the last try was refused."""
    paragraphs = [asked]
    if instruction:
        paragraphs.append(f"The operator of this memory adds: {instruction}")
    if rejected:
        paragraphs.append(f"Your last answer to this was not accepted: {rejected}. Avoid that this time.")
    return paragraphs
