"""The built-in observer, reflector and extractor as roles; large work is done in the helper process."""

import time
from collections.abc import Callable
from typing import ClassVar, Final, Generic

from app.kit.offload import aside
from app.llm.port import Check, Provider, Usage
from app.memory.extractive.extractor import extracts
from app.memory.extractive.observer import observations
from app.memory.extractive.reflector import reflections
from app.memory.model import Call, Draft, ExtractorInput, ObserverInput, ReflectorInput, Source

VERSION: Final = "extractive-1"
FREE: Final = Usage(cost_usd=0.0)  # no model is called


class Extractive(Generic[Source]):
    name: ClassVar[str] = Provider.EXTRACTIVE.value
    reply: ClassVar[Callable[..., str]]

    async def estimate(self, _source: Source) -> Usage:
        return FREE

    async def draft(self, source: Source, _before_sending: Check | None = None, /) -> Draft:
        started = time.monotonic()
        text = await aside(self.reply, source)
        elapsed = round((time.monotonic() - started) * 1000)
        call = Call(provider=Provider.EXTRACTIVE, model=VERSION, prompt_version=VERSION, usage=FREE, latency_ms=elapsed)
        return Draft(text=text, call=call)


class ExtractiveObserver(Extractive[ObserverInput]):
    reply = staticmethod(observations)


class ExtractiveReflector(Extractive[ReflectorInput]):
    reply = staticmethod(reflections)
    target_tokens_max: ClassVar[None] = None


class ExtractiveExtractor(Extractive[ExtractorInput]):
    reply = staticmethod(extracts)
