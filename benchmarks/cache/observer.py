"""The benchmark's observer and reflector: answers as long as a model's, computed from the prompt without a model.

The extractive memory chooses the lines and its reflector reduces them to an eighth of the messages, the share that is
usual for models (issue "context compiler", the simulation it quotes). Prompt and answer are counted as a model's.
"""

import re
from datetime import UTC, datetime

from app.kit.tokens import text_tokens
from app.memory.extractive.observer import observations
from app.memory.extractive.reflector import reflections
from app.memory.log import render
from app.memory.model import Item, ObserverInput, ReflectorInput
from app.memory.parsing import parse
from app.sessions.model import Kind, Message, Role
from benchmarks.cache.evidence import items_of
from tests.model_replies import Asked, Said, block, messages

COMPRESSION = 8
DAY_FORMAT = "%b %d, %Y %H:%M"
REFLECTED_TO = re.compile(r"your text must have fewer than ([\d,]+) tokens")
KINDS = {Role.USER: Kind.USER, Role.ASSISTANT: Kind.ASSISTANT, Role.TOOL: Kind.TOOL_RESULT, Role.SYSTEM: Kind.SYSTEM}


def observed(asked: Asked) -> str:
    span = tuple(_message(said) for said in messages(block(asked.prompt, "messages") or ""))
    earlier = items_of(block(asked.prompt, "earlier-observations") or "")
    lines = parse(observations(ObserverInput(messages=span, earlier=earlier))).items
    said_tokens = sum(message.tokens for message in span)
    return _condensed(lines, target_tokens=said_tokens // COMPRESSION)


def reflected(asked: Asked) -> str:
    lines = items_of(block(asked.prompt, "log") or "")
    found = REFLECTED_TO.search(asked.prompt)
    target = int(found[1].replace(",", "")) if found else text_tokens(render(lines)) // 2
    return _condensed(lines, target_tokens=target)


def _condensed(lines: tuple[Item, ...], *, target_tokens: int) -> str:
    # The reflector takes at most 8/10 of its source, whatever the target: that share is the target here.
    source = ReflectorInput(
        items=lines, source_tokens=round(target_tokens / 0.8) + 1, target_tokens=target_tokens, now=datetime.now(UTC)
    )
    return reflections(source)


def _message(said: Said) -> Message:
    role = Role(said.role)
    return Message(
        seq=said.seq,
        id=f"m-{said.seq}",
        kind=KINDS[role],
        role=role,
        parts=({"type": "text", "text": said.text},),
        tokens=text_tokens(said.text) + 4,
        created_at=datetime.strptime(f"{said.day} {said.time}", DAY_FORMAT).replace(tzinfo=UTC),
    )
