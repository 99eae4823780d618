"""Search by dense vectors: the messages nearest to a query. It never fails or takes long: words alone are enough."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

import structlog

from app.llm.embedding_build import GuardedEmbedder
from app.llm.port import ModelError
from app.recall.fusion import Likeness, Near, by_likeness
from app.recall.metrics import VectorMetrics
from app.recall.model import Place, Search, Searched, Span
from app.recall.vector_store import ExtensionGone, VectorStore
from app.recall.vectorizing import VectorConfig
from app.redaction.hook import RedactionFailed
from app.redaction.model import Redaction

log = structlog.get_logger("daybook.recall")

FOUND = "found"
_KINDS: Final[dict[type[Exception], str]] = {RedactionFailed: "redaction_failed", ExtensionGone: "no_extension"}


class VectorSearch:
    def __init__(
        self,
        *,
        store: VectorStore,
        embedder: GuardedEmbedder,
        redaction: Redaction,
        metrics: VectorMetrics,
        config: VectorConfig,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._redaction = redaction
        self._metrics = metrics
        self._config = config

    async def ranking(self, sessions: Sequence[Searched], search: Search, *, named: Span | None) -> Near:
        """The messages nearest to the query, which names the time ``named``; none if no model answers."""
        redact = self._redaction.of(sessions[0].tenant)
        try:
            text = search.query if redact is None else await asyncio.to_thread(redact, search.query)
            vector = await self._embedder.query(text[: self._config.characters_max])
            after = newest(sessions, self._config.searched_max, before_seq=search.before_seq)
            found: Mapping[Place, Likeness] = {}
            if vector is not None:
                before = search.before_seq
                found = await self._store.near(after, search.span, vector, before_seq=before, named=named)
        except (ModelError, RedactionFailed, ExtensionGone) as error:
            kind = error.kind if isinstance(error, ModelError) else _KINDS[type(error)]
            log.warning("searched_without_vectors", kind=kind)  # what a provider says may quote the query
            self._metrics.searched(kind)
            return Near()
        self._metrics.searched(FOUND)
        return await asyncio.to_thread(by_likeness, found)


def newest(sessions: Sequence[Searched], messages_max: int, *, before_seq: int) -> dict[UUID, int]:
    """The seq after which each session is searched, for ``messages_max`` in all; the first sessions come first."""
    after: dict[UUID, int] = {}
    left = messages_max
    for session in sessions:
        if left <= 0:
            break
        last_seq = min(session.last_seq, before_seq - 1)
        after[session.id] = max(0, last_seq - left)
        left -= last_seq
    return after
