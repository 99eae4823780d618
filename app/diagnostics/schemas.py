"""Diagnostics on the wire (api.md, Memory)."""

from datetime import date, datetime
from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from app.llm.guard import Circuit
from app.memory.rules import Kept
from app.memory.schemas import ObservationOut, ReflectionOut
from app.memory.spending import Rung
from app.memory.status import MemoryStatus


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
    model_config = ConfigDict(json_schema_serialization_defaults_required=True)  # all of it is always answered

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


class HealthOut(BaseModel):
    status: str


class StandingOut(BaseModel):
    status: MemoryStatus
    memories: int
    pending_tokens: int = Field(description="Not observed yet")
    oldest_seconds: float = Field(description="Age of the oldest message not observed yet")


class AgeOut(BaseModel):
    below_seconds: float | None = Field(description="Null: older than all")
    pending_tokens: int = Field(description="Of the memories whose oldest message not observed yet is so old")


class QueueOut(BaseModel):
    """The memories that have something to do or to wait for, with what they have not observed."""

    complete: bool = Field(description="False: there are more than were looked at")
    memories: list[StandingOut] = Field(description="Of each status that there is, but for idle below all thresholds")
    ages: list[AgeOut]
    late_seconds: float = Field(description="For how long the first has been due that nobody has claimed; 0: none is")


class FailingOut(BaseModel):
    """A cause for which steps fail, of memories that have not recovered."""

    step: str
    kind: str
    message: str = Field(description="Of the memory that failed most often")
    memories: int
    attempts: int = Field(description="The most in a row")
    last_at: datetime
    next_at: datetime = Field(description="When the first of them is tried again")
    sessions: list[str] = Field(description="Some of them, those that failed most often first")


class TenantSpendingOut(BaseModel):
    day: date
    rung: Rung = Field(description="Of the tenant alone: a session may stand further down by a cap of its own")
    tenant: AccountOut


class ModelRoleOut(BaseModel):
    """Who does a part of the work. Of calls tells this process, from its start; `null`: there was none."""

    role: str = Field(examples=["observer"])
    provider: str
    model: str
    small_model: str | None
    circuit: Circuit | None = Field(description="Null: built in, it calls nobody")
    failures: int = Field(description="Of the provider, in a row")
    next_try_seconds: float | None = Field(description="While the circuit is open")
    last_error: str | None = Field(description="The kind of the last call to the provider that failed")
    last_error_seconds: float | None
    answered_seconds: float | None = Field(description="Since the provider last answered")


class ConnectionsOut(BaseModel):
    """To the database; `waiting` are those who wait for one."""

    size: int
    in_use: int
    waiting: int
    max: int


class IndexingOut(BaseModel):
    sessions: int = Field(description="That wait to be indexed, as far as this process knows")
    looked: int = Field(description="Of those, how many were looked at")
    messages: int = Field(description="That the index lacks of these")


class VectorsOut(BaseModel):
    sessions: int = Field(description="That wait for vectors, as far as this process knows")
    messages: int | None = Field(description="That lacked one when all sessions had last been looked at; null: not yet")


class ProcessOut(BaseModel):
    """Of the process that was asked, for all tenants."""

    name: str
    roles: list[ModelRoleOut]
    connections: ConnectionsOut
    indexing: IndexingOut
    vectors: VectorsOut | None = Field(description="Null: recall is by words alone")


class OverviewOut(BaseModel):
    """What of the tenant waits, works and fails, and with an admin key how the process is that answers."""

    at: datetime
    queue: QueueOut
    failing: list[FailingOut]
    spending: TenantSpendingOut | None = Field(description="Null where no cap is set: nothing is counted by day")
    process: ProcessOut | None = Field(description="With an admin key, or in local mode")


class ReadyOut(BaseModel):
    status: str
    database: str = Field(description="Which database is in use")
    migration: str | None = Field(description="The last migration of the database")
    known: str = Field(description="The last that this version has: a lower number where a newer version has migrated")


Requested: TypeAlias = Literal["observe", "reflect", "redrive"]


class StepAsked(BaseModel):
    """202: it will be done; 200, with `wait_ms`: what the memory is after it."""

    session: str
    requested: Requested
    memory: MemoryOut | None = None
