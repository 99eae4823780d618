"""The built-in extractor: picks the sentences that decide, prefer, promise, or tell of the speaker's life.

It reads the lines of a log, or messages that were not observed.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from app.kit.days import day_label
from app.kit.patterns import lazy_pattern
from app.memory.extractive.dates import resolved
from app.memory.extractive.lasting import lasting_tag
from app.memory.extractive.observer import line
from app.memory.extractive.selection import candidates, is_machine, is_ours
from app.memory.extractive.sentences import sentences
from app.memory.log import render
from app.memory.model import ExtractorInput, Item, ObserverInput, Priority
from app.memory.parsing import OBSERVATIONS, block
from app.sessions.model import Message

TYPED_CHARACTERS_MAX: Final = 1_500
NAME_WORDS_MAX: Final = 3
_ASSISTANT: Final = lazy_pattern(r"(?:assistant|system|tool|external source)\b", re.IGNORECASE)


def extracts(source: ExtractorInput) -> str:
    """The reply in the format of memory-rules.md section 4."""
    noted = [fact for item in source.items for fact in _facts_of(item)]
    return block(OBSERVATIONS, render([*noted, *_facts_said(source)]))


def _facts_said(source: ExtractorInput) -> Iterator[Item]:
    """A line for each sentence of the messages that is worth keeping.

    Messages of a tool or a stranger are left out, and so are pasted ones.
    """
    own = tuple(message for message in source.messages if not message.is_foreign and not _is_pasted(message))
    for sentence in candidates(ObserverInput(messages=own)):
        message = sentence.message
        said_on = message.created_at.astimezone(source.timezone).date()
        tag = lasting_tag(resolved(sentence.said.text, said_on), ours=is_ours(message))
        if tag is not None:
            yield replace(line([sentence], source.timezone), tag=tag, day=day_label(said_on))


def _is_pasted(message: Message) -> bool:
    """Whether the message is too long to be typed: it is a document, or what others said."""
    return sum(len(str(part.get("text") or "")) for part in message.parts) > TYPED_CHARACTERS_MAX


def _facts_of(item: Item) -> Iterator[Item]:
    """A line for each of its sentences that is worth keeping; none of a foreign, uncertain or minor line."""
    if item.origin or item.uncertain or item.priority is Priority.LOW:
        return
    speaker, colon, words = item.text.partition(": ")
    named = bool(colon) and len(speaker.split()) <= NAME_WORDS_MAX
    ours = _ASSISTANT.match(item.text) is not None or (named and is_machine(speaker))
    for sentence in sentences(words if colon else item.text):
        tag = lasting_tag(sentence, ours=ours)
        if tag is not None:
            yield replace(item, text=f"{speaker}: {sentence}" if colon else sentence, tag=tag, details=())
