"""Schemas of the answers about one memory (api.md, Memory)."""

from datetime import date, datetime
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from app.memory.rules import Kept
from app.memory.schemas import ObservationOut, ReflectionOut
from app.memory.spending import Rung


class CursorOut(BaseModel):
    observed_seq: int
    buffered_seq: int
    last_seq: int
    tail_from_seq: int


class PendingOut(BaseModel):
    messages: int
    tokens: int
    seconds: int = Field(description="Age of the oldest message not yet observed")


class ThresholdsOut(BaseModel):
    observe_at: int
    buffer_every: int | None
    reflect_at: int
    consolidate_at: int


class LogOut(BaseModel):
    version: int
    tokens: int
    chars: int
    observations: int
    reflections: int
    generation: int


class BufferedOut(BaseModel):
    observations: int
    tokens: int
    message_tokens: int


class IntervalOut(BaseModel):
    """Messages `from`..`to` and what stands for them."""

    first: int = Field(serialization_alias="from", validation_alias="first")
    last: int = Field(serialization_alias="to", validation_alias="last")
    by: str = Field(examples=["observation:41"])


class GapOut(BaseModel):
    first: int = Field(serialization_alias="from")
    last: int = Field(serialization_alias="to")


class CoverageOut(BaseModel):
    intervals: list[IntervalOut]
    gaps: list[GapOut]


class LeaseOut(BaseModel):
    owner: str
    epoch: int
    expires_at: datetime
    step: str | None


class ErrorOut(BaseModel):
    at: datetime
    step: str
    kind: str
    message: str
    session: str | None = Field(
        None,
        description="Only where several share the memory, and the step was about one of them",
        exclude_if=lambda found: found is None,
    )


class LastRunOut(BaseModel):
    at: datetime
    outcome: str
    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    latency_ms: int


class RoleUsageOut(BaseModel):
    model_config = ConfigDict(json_schema_serialization_defaults_required=True)  # answers always have all fields

    calls: int = 0
    input_tokens: int = 0
    cached_input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0


class ActorUsageOut(BaseModel):
    turns: int
    input_tokens: int
    cached_input_tokens: int
    cache_write_tokens: int
    output_tokens: int
    cost_usd: float | None = Field(description="Of the turns whose model has a known price; null: there is none")
    cache_hit_ratio: float | None


class UsageOut(BaseModel):
    observer: RoleUsageOut
    reflector: RoleUsageOut
    actor: ActorUsageOut


class RetentionOut(BaseModel):
    days: float
    keep: Kept
    expired_seq: int = Field(description="What was said up to there was removed; 0: nothing was")


class CompressionOut(BaseModel):
    source_tokens: int
    log_tokens: int
    ratio: float | None


class AmountOut(BaseModel):
    tokens: int
    cost_usd: float


class CapOut(BaseModel):
    """Per UTC day; null: no cap."""

    tokens: int | None
    cost_usd: float | None


class AccountOut(AmountOut):
    unpriced_tokens: int = Field(description="Of the tokens, those that no price is known for: no dollars are counted")
    reserved: AmountOut = Field(description="By calls under way, at most")
    cap: CapOut


class SpendingOut(BaseModel):
    """What the memory's model calls cost today, and what gives way because of it."""

    day: date
    rung: Rung = Field(description="full, small_model, larger_batches, or paused until the next day")
    session: AccountOut
    tenant: AccountOut


class MemoryOut(BaseModel):
    """Everything about one memory: where it stands, what it covers, what it cost."""

    session: str
    scope: str
    enabled: bool
    status: str
    observer: str
    reflector: str
    cursor: CursorOut
    pending: PendingOut
    thresholds: ThresholdsOut
    log: LogOut
    buffered: BufferedOut
    coverage: CoverageOut
    current_task: str | None
    suggested_response: str | None
    lease: LeaseOut | None
    attempts: int
    next_attempt_at: datetime | None
    last_error: ErrorOut | None
    last_observer_run: LastRunOut | None
    last_reflector_run: LastRunOut | None
    usage: UsageOut
    spending: SpendingOut | None = Field(description="Null where no cap is set: nothing is counted by day")
    compression: CompressionOut
    retention: RetentionOut | None = Field(description="Null: what is said stays for ever")


class LogTextOut(BaseModel):
    session: str
    version: int
    tokens: int
    chars: int
    text: str = Field(description="As the model sees it")


class VersionOut(BaseModel):
    """A version of the log: what made it, and where the session stood when it was recorded."""

    version: int
    cause: str = Field(examples=["observed", "activated", "reflected", "consolidated", "edited", "deleted"])
    at: datetime
    anchor_date: date = Field(description="Relative dates are told from this day")
    last_seq: int
    observed_seq: int
    tail_from_seq: int


class RunOut(BaseModel):
    id: int
    at: datetime
    kind: str
    session: str | None = Field(
        description="Whose messages it was about; null where several share the memory and it was of no one of them"
    )
    provider: str
    model: str
    prompt_version: str
    epoch: int
    from_seq: int | None
    to_seq: int | None
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int
    cost_usd: float | None
    latency_ms: int
    outcome: str
    error: str | None
    grounded_share: float | None
    rejected_output: str | None = Field(description="A refused output, kept for inspection")


class VersionPage(BaseModel):
    items: list[VersionOut]
    next_cursor: str | None


class ObservationPage(BaseModel):
    items: list[ObservationOut]
    next_cursor: str | None


class ReflectionPage(BaseModel):
    items: list[ReflectionOut]
    next_cursor: str | None


class RunPage(BaseModel):
    items: list[RunOut]
    next_cursor: str | None


Requested: TypeAlias = Literal["observe", "reflect", "redrive"]


class StepAsked(BaseModel):
    """202: it will be done; 200, with `wait_ms`: what the memory is after it."""

    session: str
    requested: Requested
    memory: MemoryOut | None = None
