"""Prometheus counters of appended messages, the tokens that agents report, erasures and removals by retention."""

from typing import Literal, TypeAlias

from prometheus_client import CollectorRegistry, Counter

from app.sessions.model import ActorUsage

Erasable: TypeAlias = Literal["message", "session", "resource"]


class SessionMetrics:
    """Without a registry the counters are not exported."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self._messages = Counter("daybook_messages_appended", "Messages stored", registry=registry)
        self._tokens = Counter(
            "daybook_actor_tokens",
            "Tokens of the agents' own model calls: input (cached ones included), cached, output",
            ["kind"],
            registry=registry,
        )
        self._erasures = Counter(
            "daybook_erasures", "What callers had erased: message, session, resource", ["what"], registry=registry
        )
        self._expired = Counter(
            "daybook_expired", "Removed by a retention rule: messages, sessions", ["what"], registry=registry
        )

    def erased(self, what: Erasable) -> None:
        self._erasures.labels(what).inc()

    def expired(self, *, messages: int, sessions: int) -> None:
        self._expired.labels("messages").inc(messages)
        self._expired.labels("sessions").inc(sessions)

    def appended(self, *, messages: int, usage: ActorUsage | None) -> None:
        self._messages.inc(messages)
        if usage is not None:
            self._tokens.labels("input").inc(usage.input_tokens)
            self._tokens.labels("cached").inc(usage.cached_input_tokens)
            self._tokens.labels("output").inc(usage.output_tokens)
