"""Schemas of the answers about the service as a whole (api.md, Operation)."""

from datetime import date, datetime

from pydantic import BaseModel, Field

from app.diagnostics.schemas import AccountOut
from app.llm.guard import Circuit
from app.memory.spending import Rung
from app.memory.status import MemoryStatus


class HealthOut(BaseModel):
    status: str


class StandingOut(BaseModel):
    """The memories of one status."""

    status: MemoryStatus
    memories: int = Field(description="Number of memories")
    pending_tokens: int = Field(description="Tokens of messages not yet observed")
    oldest_seconds: float = Field(description="Age in seconds of the oldest message not yet observed")


class AgeOut(BaseModel):
    below_seconds: float | None = Field(description="Upper bound of the age in seconds; null: no bound")
    pending_tokens: int = Field(
        description="Unobserved tokens of the memories whose oldest unobserved message is of this age"
    )


class QueueOut(BaseModel):
    """The memories with work to do or to wait for, and their unobserved messages."""

    complete: bool = Field(description="false: there are more memories than were examined")
    memories: list[StandingOut] = Field(
        description="One entry per status that occurs; idle memories below all thresholds are not counted"
    )
    ages: list[AgeOut]
    late_seconds: float = Field(description="Seconds for which the first unclaimed memory has been due; 0: none is due")


class FailingOut(BaseModel):
    """A cause of failing steps, with the memories that have not recovered from it."""

    step: str
    kind: str
    message: str = Field(description="Error message of the memory with the most failures")
    memories: int = Field(description="Number of memories")
    attempts: int = Field(description="Most consecutive failures of one memory")
    last_at: datetime
    next_at: datetime = Field(description="Time of the first retry among them")
    sessions: list[str] = Field(description="Keys of some of the sessions, those with the most failures first")


class TenantSpendingOut(BaseModel):
    day: date
    rung: Rung = Field(description="Degree of saving by the tenant's caps alone; a session's own cap may call for more")
    tenant: AccountOut


class ModelRoleOut(BaseModel):
    """A model role. Its calls are those of this process since its start; null: there was none."""

    role: str = Field(examples=["observer"])
    provider: str
    model: str
    small_model: str | None
    circuit: Circuit | None = Field(
        description="State of the provider's circuit breaker; null: the role is built in and calls no provider"
    )
    failures: int = Field(description="Consecutive failures of the provider")
    next_try_seconds: float | None = Field(description="Seconds until the next call while the circuit is open")
    last_error: str | None = Field(description="Kind of the provider's last failure")
    last_error_seconds: float | None = Field(description="Seconds since the provider's last failure")
    answered_seconds: float | None = Field(description="Seconds since the provider last replied")


class ConnectionsOut(BaseModel):
    """Connections to the database; `waiting` counts requests for one."""

    size: int
    in_use: int
    waiting: int
    max: int


class IndexingOut(BaseModel):
    sessions: int = Field(description="Number of sessions waiting to be indexed, as far as this process knows")
    looked: int = Field(description="Number of those sessions that were examined")
    messages: int = Field(description="Number of unindexed messages in the examined sessions")


class VectorsOut(BaseModel):
    sessions: int = Field(description="Number of sessions waiting for vectors, as far as this process knows")
    messages: int | None = Field(
        description="Number of messages without a vector at the last sweep over all sessions; null: none is"
        " complete yet"
    )


class ProcessOut(BaseModel):
    """State of the process that answers, for all tenants."""

    name: str
    roles: list[ModelRoleOut]
    connections: ConnectionsOut
    indexing: IndexingOut
    vectors: VectorsOut | None = Field(description="null: recall searches by words alone")


class OverviewOut(BaseModel):
    """Queue, failures and spending of the tenant; with an admin key also the state of the answering process."""

    at: datetime
    queue: QueueOut
    failing: list[FailingOut]
    spending: TenantSpendingOut | None = Field(description="null: no cap is set, so daily spending is not counted")
    process: ProcessOut | None = Field(description="Only with an admin key, or in local mode")


class ReadyOut(BaseModel):
    status: str
    database: str = Field(description="Database in use")
    migration: str | None = Field(description="Last migration applied to the database")
    known: str = Field(
        description="Last migration that this version has; a lower number if a newer version has migrated the database"
    )
