"""Redacts what a worker has loaded, before a model is shown it. Pure.

What was stored before redaction was switched on stays stored as it was. Hashes and sizes stay those of the stored data,
by which a step is recorded.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from app.kit.days import parse_day
from app.memory.model import Item, Observation, Reflection
from app.memory.records import Loaded
from app.memory.rules import Rules
from app.redaction.model import Redact
from app.sessions.model import Message
from app.sessions.redacting import redacted_parts

C = TypeVar("C", Observation, Reflection)


def redacted_messages(messages: Sequence[Message], redact: Redact | None) -> tuple[Message, ...]:
    if redact is None:
        return tuple(messages)
    return tuple(replace(message, parts=redacted_parts(message.parts, redact)) for message in messages)


def redacted_memory(loaded: Loaded, rules: Rules, redact: Redact) -> tuple[Loaded, Rules]:
    """The log (live and buffered), the current task and the operator's instruction, redacted."""
    shown = replace(
        loaded,
        current_task=_told(loaded.current_task, redact),
        observations=tuple(_observation(chunk, redact) for chunk in loaded.observations),
        buffered=tuple(_observation(chunk, redact) for chunk in loaded.buffered),
        reflections=tuple(_chunk(chunk, redact) for chunk in loaded.reflections),
    )
    return shown, replace(rules, instruction=_told(rules.instruction, redact))


def _observation(chunk: Observation, redact: Redact) -> Observation:
    task, response = _told(chunk.current_task, redact), _told(chunk.suggested_response, redact)
    return replace(_chunk(chunk, redact), current_task=task, suggested_response=response)


def _chunk(chunk: C, redact: Redact) -> C:
    return replace(chunk, text=redact(chunk.text), items=tuple(_item(item, redact) for item in chunk.items))


def _item(item: Item, redact: Redact) -> Item:
    day = item.day if parse_day(item.day) else redact(item.day)  # a header without a date is text too
    return replace(item.revised(lambda text, cites: (redact(text), cites)), day=day)


def _told(text: str | None, redact: Redact) -> str | None:
    return None if text is None else redact(text)
