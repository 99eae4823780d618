"""Schemas of the answers about one memory (api.md, Memory)."""

from datetime import date, datetime
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from app.memory.rules import Kept
from app.memory.schemas import ObservationOut, ReflectionOut
from app.memory.spending import Rung


class CursorOut(BaseModel):
    observed_seq: int = Field(description="`seq` of the last message observed")
    buffered_seq: int = Field(description="`seq` of the last message observed ahead")
    last_seq: int = Field(description="`seq` of the newest message")
    tail_from_seq: int = Field(description="`seq` of the first message of the message tail")


class PendingOut(BaseModel):
    """Messages not yet observed."""

    messages: int
    tokens: int
    seconds: int = Field(description="Age in seconds of the oldest message not yet observed")


class ThresholdsOut(BaseModel):
    """Thresholds of the memory's steps, in tokens; `consolidate_at` in reflections of one level."""

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
    """Messages `from` to `to`, and what stands for them, such as a note, a summary or the tail."""

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
        description="Only in a shared memory: key of the session that the step was about",
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
    cost_usd: float | None = Field(
        description="US dollars of the turns whose model has a known price; null: there is none"
    )
    cache_hit_ratio: float | None


class UsageOut(BaseModel):
    observer: RoleUsageOut
    reflector: RoleUsageOut
    actor: ActorUsageOut


class RetentionOut(BaseModel):
    days: float = Field(description="Age in days at which messages are removed")
    keep: Kept
    expired_seq: int = Field(description="`seq` of the last message removed; 0: none was")


class CompressionOut(BaseModel):
    source_tokens: int
    log_tokens: int
    ratio: float | None


class AmountOut(BaseModel):
    tokens: int
    cost_usd: float


class CapOut(BaseModel):
    """Spending caps per UTC day; null: no cap."""

    tokens: int | None
    cost_usd: float | None


class AccountOut(AmountOut):
    unpriced_tokens: int = Field(description="Tokens of models without a known price, which are not counted in dollars")
    reserved: AmountOut = Field(description="Maximum amount of the calls in progress")
    cap: CapOut


class SpendingOut(BaseModel):
    """Today's spending on the memory's model calls, and the savings that it causes."""

    day: date
    rung: Rung = Field(description="full: no saving; small_model; larger_batches; paused: no call until the next day")
    session: AccountOut
    tenant: AccountOut


class MemoryOut(BaseModel):
    """State, coverage and usage of one memory."""

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
    spending: SpendingOut | None = Field(description="Null: no cap is set, so daily spending is not counted")
    compression: CompressionOut
    retention: RetentionOut | None = Field(description="Null: messages are kept forever")


class LogTextOut(BaseModel):
    session: str
    version: int
    tokens: int
    chars: int
    text: str = Field(description="The log as the model sees it")


class VersionOut(BaseModel):
    """A version of the log: its cause, and the session's cursor when it was recorded."""

    version: int
    cause: str = Field(examples=["observed", "activated", "reflected", "consolidated", "edited", "deleted"])
    at: datetime
    anchor_date: date = Field(description="Day that the relative dates of this version refer to")
    last_seq: int
    observed_seq: int
    tail_from_seq: int


class RunOut(BaseModel):
    id: int
    at: datetime
    kind: str
    session: str | None = Field(
        description="Key of the session whose messages the call was about; null: in a shared memory, no single session"
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
    rejected_output: str | None = Field(description="Output of the model that was rejected, kept for inspection")


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
    """202: the step is scheduled; 200, with `wait_ms`: it is done, and `memory` is the state after it."""

    session: str
    requested: Requested
    memory: MemoryOut | None = None
