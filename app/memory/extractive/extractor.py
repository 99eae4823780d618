"""The extractor that needs no model: of the lines of a log the sentences that decide, prefer, promise or tell of us.

Of messages that nobody has observed the lines are those that the built-in observer makes of them.
"""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from app.kit.offload import aside
from app.llm.port import Provider, Usage
from app.memory.extractive import cues
from app.memory.extractive.observer import extractive_call, observations
from app.memory.extractive.sentences import sentences
from app.memory.log import render
from app.memory.model import Draft, ExtractorInput, Item, ObserverInput, Priority, Tag
from app.memory.parsing import parse

WANTED: Final = frozenset({Tag.DECISION, Tag.PREFERENCE, Tag.NEXT_STEP})
# What speaks of the speaker for longer than today, in English, Chinese, Japanese and Korean.
_PROFILE: Final = re.compile(
    r"\b(?:my name is|call me|i(?:'m| am) (?:an?|from|based|married|single|divorced|vegan|vegetarian|allergic|\d+)"
    r"|i(?:'ve)? (?:just )?(?:live|lived|moved|work|worked|study|studied|grew up|was born|own|have an?|have \d+|speak)"
    r"|my (?:wife|husband|partner|son|daughter|mother|father|mom|mum|dad|brother|sister|dog|cat|boss|job|birthday"
    r"|address|phone|e-?mail|company|team|kids?|children)|we have (?:an?|two|three|\d+))\b"
    r"|我叫|我是|我住|我在.{1,8}工作|我的(?:妻子|丈夫|儿子|女儿|狗|猫|生日|电话|地址)|我有"
    r"|私は|僕は|俺は|住んで|働いて|出身|제 이름|저는|나는|살고|일하고|다니고",
    re.IGNORECASE,
)
_ASSISTANT: Final = re.compile(r"(?:assistant|system|tool|external source)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractiveExtractor:
    """``count`` is the service's token estimator."""

    count: Callable[[str], int]

    @property
    def name(self) -> str:
        return Provider.EXTRACTIVE.value

    async def extract(self, source: ExtractorInput) -> Draft:
        started = time.monotonic()
        return Draft(text=await aside(self._facts, source), call=extractive_call(started))

    async def estimate(self, _source: ExtractorInput) -> Usage:
        return Usage()

    def _facts(self, source: ExtractorInput) -> str:
        lines = source.items
        if source.messages:
            observed = ObserverInput(messages=source.messages, timezone=source.timezone)
            lines = parse(observations(observed, count=self.count)).items
        return f"<observations>\n{render([fact for item in lines for fact in _facts_of(item)])}\n</observations>"


def _facts_of(item: Item) -> Iterator[Item]:
    """A line for each of its sentences that is worth knowing later; none of a line that is not the user's or ours."""
    if item.origin or item.uncertain or item.priority is Priority.LOW:
        return
    speaker, colon, words = item.text.partition(": ")
    ours = _ASSISTANT.match(item.text) is not None
    for sentence in sentences(words if colon else item.text):
        tag = _tag(sentence, ours=ours)
        if tag is not None:
            yield replace(item, text=f"{speaker}: {sentence}" if colon else sentence, tag=tag, details=())


def _tag(sentence: str, *, ours: bool) -> Tag | None:
    if cues.is_question(sentence) or cues.is_reaction(sentence) or cues.is_pleasantry(sentence):
        return None
    tag = cues.tag_of(sentence)
    if tag in WANTED and not (ours and tag is Tag.PREFERENCE):
        return tag
    return Tag.FACT if not ours and _PROFILE.search(sentence) else None
