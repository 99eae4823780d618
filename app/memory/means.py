"""The dependencies that all steps of a memory share."""

from dataclasses import dataclass

from opentelemetry.trace import Tracer

from app.kit.db import Database
from app.kit.tracing import UNTRACED
from app.memory.charging import Charging
from app.memory.store import MemoryStore
from app.redaction.model import OFF, Redaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    database: Database
    store: MemoryStore
    charging: Charging
    redaction: Redaction = OFF
    tracer: Tracer = UNTRACED
