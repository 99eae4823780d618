"""The interface of the memory for the rest of the service: rules, status, wake-ups and requested steps."""

from collections.abc import Iterable
from functools import partial
from typing import Any
from uuid import UUID

from pydantic import ValidationError

from app.kit.errors import FieldError, Invalid, json_pointer
from app.kit.invalid import invalid_detail, too_many_errors
from app.kit.repeating import polled
from app.llm.guard import Guard
from app.memory.engine import Engine
from app.memory.policy import first_wake_tokens
from app.memory.queue_store import QueueStore
from app.memory.rules import EARLY_TOKENS_MIN, MemoryConfig, Rules
from app.memory.status import memory_status
from app.memory.steps import Request
from app.sessions.model import MemoryCounters, MemoryDefaults


class MemoryService:
    """Implements the message log's ``MemoryPort``; ``service_rules`` are ``MemoryConfig.values()`` of the settings.

    ``attempts_max``: failures in a row at which a memory has stalled.
    """

    def __init__(
        self,
        *,
        queue: QueueStore,
        engine: Engine,
        service_rules: dict[str, Any],
        attempts_max: int,
        instruction_characters_max: int,
        guards: Iterable[Guard] = (),
    ) -> None:
        self._queue = queue
        self._engine = engine
        self._guards = tuple(guards)
        self._service_rules = service_rules
        self.attempts_max = attempts_max
        self._instruction_characters_max = instruction_characters_max
        self._rules = rules = Rules.resolve(service_rules, {})
        self.defaults = MemoryDefaults(
            wake_tokens=first_wake_tokens(rules),
            early_tokens=EARLY_TOKENS_MIN,
            cache_ttl=rules.cache_ttl,
            timezone=rules.timezone,
            scope=rules.scope,
        )

    def rules(self, config: dict[str, Any]) -> Rules:
        """The rules of a session with this config."""
        return Rules.resolve(self._service_rules, config) if config else self._rules

    def summary(self, counters: MemoryCounters) -> dict[str, Any]:
        rules = self.rules(counters.config)
        return {
            "status": memory_status(counters.queue, enabled=rules.enabled, attempts_max=self.attempts_max),
            "pending_tokens": counters.pending_tokens,
            "observe_at": rules.message_tokens,
            "observation_tokens": counters.observation_tokens,
            "reflect_at": rules.observation_tokens,
        }

    def check_config(self, config: dict[str, Any]) -> dict[str, Any]:
        """A session's config, read. Raises Invalid naming each wrong key."""
        read = read_config(config)
        limit = self._instruction_characters_max
        if len(read.get("instruction") or "") > limit:
            detail = f"it may have at most {limit} characters (DAYBOOK_SESSIONS__INSTRUCTION_CHARACTERS_MAX)"
            raise Invalid.at("/config/instruction", detail)
        return read

    def wake(self, memory_id: UUID) -> None:
        self._engine.wake(memory_id)

    async def request(self, memory_id: UUID, request: Request) -> None:
        """Request a step now, below any threshold. A stalled memory is tried again.

        So is a provider that this process has given up for a while: the caller may have repaired it.
        """
        if await self._queue.request(memory_id, request):
            for guard in self._guards:
                guard.try_now()
            self._engine.wake(memory_id)

    async def idle(self, memory_id: UUID, wait_ms: int) -> bool:
        """Wait until there is nothing to do for this memory, on whichever replica; False when the time ran out."""
        return await polled(partial(self._queue.idle, memory_id), seconds=wait_ms / 1000)


def read_config(config: dict[str, Any]) -> dict[str, Any]:
    """A session's config, as JSON has it. Raises Invalid naming each wrong key."""
    try:
        read = MemoryConfig.model_validate(config, strict=True)  # settings are texts, JSON has types
    except ValidationError as error:
        if too_many := too_many_errors(error.error_count()):
            raise Invalid.at("/config", too_many) from error
        fields = [FieldError(json_pointer("config", *found["loc"]), invalid_detail(found)) for found in error.errors()]
        raise Invalid.naming(*fields) from error
    return read.model_dump(include=read.model_fields_set)
