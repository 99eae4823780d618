"""Embeds messages in the background, if embeddings are on: no request waits for it.

Sessions just indexed come first. A sweep over all sessions, a few at a time, finds what a crash, another process or
another model left undone; it begins at a random session, so that several processes seldom pay for the same. Messages
without a vector are found by their words.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias
from uuid import UUID, uuid4

import structlog

from app.kit.db import AWAY
from app.kit.repeating import Repeated
from app.llm.embedding import Vector
from app.llm.embedding_build import GuardedEmbedder
from app.llm.port import ModelError
from app.memory.policy import backoff
from app.memory.redacting import redacted_messages
from app.recall.indexing import message_text
from app.recall.metrics import VectorMetrics
from app.recall.vector_store import MessagesChanged, Unembedded, VectorStore
from app.redaction.model import Redaction
from app.sessions.model import BEFORE_ALL, Message

log = structlog.get_logger("daybook.recall")

FAILURES_MAX = 8  # in a row; then it is tried once in ten minutes
KNOWN_GOOD = "Hello."  # a text that no model refuses
# What a server may answer because of one text: Ollama cannot write a vector of no numbers, and says 500.
DOUBTFUL = frozenset({"server_error", "bad_reply"})

Embed: TypeAlias = Callable[[Sequence[str]], Awaitable[list[Vector | None]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorConfig:
    """``share``: of the time, at most. ``characters_max``: the first characters of a message that are embedded.

    ``searched_max``: the newest messages that a query is compared with.
    """

    batch_messages: int = 32
    characters_max: int = 1_000
    share: float = 0.5
    look_seconds: float = 1.0
    sweep_sessions: int = 500
    searched_max: int = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorBacklog:
    """Sessions known to wait for vectors, and the messages without one in the last whole sweep; None: none yet."""

    sessions: int
    messages: int | None


class Vectorizing:
    def __init__(
        self,
        *,
        store: VectorStore,
        embedder: GuardedEmbedder,
        config: VectorConfig,
        redaction: Redaction,
        metrics: VectorMetrics,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._config = config
        self._redaction = redaction
        self._metrics = metrics
        self._asked: dict[UUID, None] = {}
        self._swept = uuid4()
        self._lacking: int | None = None  # in this round so far; None in the first one, which begins anywhere
        self._lacked: int | None = None  # in the last whole round
        self._failures = 0
        self._repeated = Repeated(self._try, seconds=config.look_seconds, name="daybook-recall-vectors")

    def start(self) -> None:
        self._repeated.start()

    async def stop(self) -> None:
        await self._repeated.stop()

    def ask(self, session: UUID) -> None:
        """Queue a session with messages to embed. Never waits, never fails."""
        self._asked[session] = None

    def backlog(self) -> VectorBacklog:
        return VectorBacklog(sessions=len(self._asked), messages=self._lacked)

    async def embed(self, session: UUID) -> bool:
        """Make the next vectors of a session, up to a batch. Answers whether there is more to do. Raises ModelError."""
        found = await self._store.unembedded(session, self._config.batch_messages)
        if found is None:
            return False
        # A call may wait for its place, or for a provider that fails: what was erased meanwhile is not sent.
        embed = partial(self._embedder.passages, before_sending=partial(self._store.check, session, found))
        try:
            vectors = await self._vectors(found, embed)
        except MessagesChanged:
            return True
        self._metrics.embedded(await self._store.add(session, found, vectors))
        return found.more

    async def sweep(self) -> None:
        """Look at the next few sessions, and queue those that lack vectors."""
        found = await self._store.behind(self._swept, self._config.sweep_sessions)
        if self._lacking is not None:
            self._lacking += found.messages
        if found.last is None:
            self._told(self._lacking)
            self._lacking = 0
        self._swept = found.last or BEFORE_ALL
        for session in found.behind:
            self.ask(session)

    def _told(self, lacking: int | None) -> None:
        if lacking is not None:
            self._metrics.lacking(lacking)
            self._lacked = lacking

    async def _try(self) -> None:
        """Work once; if the model fails, wait as long as the memory would after a failed step."""
        try:
            await self._work()
            self._failures = 0
        except ModelError as error:
            self._failures += 1
            log.warning("vectors_left", kind=error.kind)  # what a provider says may quote a message
            await asyncio.sleep(_pause(error, self._failures))

    async def _work(self) -> None:
        """Embed the queued sessions, then sweep."""
        while self._asked:
            session = next(iter(self._asked))
            del self._asked[session]
            started = time.monotonic()
            try:
                if await self.embed(session):
                    self.ask(session)
            except (ModelError, *AWAY):
                self.ask(session)
                raise
            await asyncio.sleep((time.monotonic() - started) * (1 / self._config.share - 1))
        await self.sweep()

    async def _vectors(self, found: Unembedded, embed: Embed) -> list[Vector | None]:
        """The vector of each message; None for one without text."""
        redact = self._redaction.of(found.tenant)
        messages = await asyncio.to_thread(redacted_messages, found.messages, redact)
        texts = [embedded_text(message, self._config.characters_max) for message in messages]
        made = iter(await self._made([text for text in texts if text], embed))
        return [next(made) if text else None for text in texts]

    async def _made(self, texts: Sequence[str], embed: Embed) -> list[Vector | None]:
        """The vector of each text; None for one that the model refuses, which would hold up all that come after it.

        None too for a text at which the model fails twice, but not at others: a server with a hiccup has two tries.
        """
        if not texts:
            return []
        try:
            return await embed(texts)
        except ModelError as error:
            doubted = await self._doubted(error)
            if len(texts) == 1 and doubted:
                return [await self._tried_again(texts[0], embed)]
            if len(texts) == 1:
                log.warning("text_not_embedded", kind=error.kind)
                return [None]
        return [vector for text in texts for vector in await self._made([text], embed)]

    async def _tried_again(self, text: str, embed: Embed) -> Vector | None:
        try:
            return (await embed([text]))[0]
        except ModelError as error:
            await self._doubted(error)
            log.warning("text_not_embedded", kind=error.kind)
            return None

    async def _doubted(self, error: ModelError) -> bool:
        """Whether the error may have another reason than the text. Raises ModelError if it surely has."""
        if error.retryable and error.kind not in DOUBTFUL:
            raise error
        await self._embedder.passages([KNOWN_GOOD])  # raises if the text is not the reason
        return error.retryable


def embedded_text(message: Message, characters_max: int) -> str:
    """The text to embed of a message, after its speaker's name; "" if it has none."""
    text = message_text(message).strip()
    return f"{message.name}: {text}"[:characters_max] if message.name and text else text[:characters_max]


def _pause(error: ModelError, failures: int) -> float:
    """Seconds, as the memory waits after a step that failed."""
    jitter = random.random()  # noqa: S311 - spreads retries, guards nothing
    return backoff(failures, attempts_max=FAILURES_MAX, retry_after=error.retry_after, jitter=jitter)
