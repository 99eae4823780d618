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
