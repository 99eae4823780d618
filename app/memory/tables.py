"""The memory's tables (architecture.md section 3): the schema of record; SQL at run time is in the stores."""

from datetime import date, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, Boolean, Column, Date, DateTime, Float, Identity, Index, Integer, Text, Uuid, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlmodel import Field, SQLModel

NOW = text("now()")
ZERO = text("0")
REMEMBERED = text("status <> 'retired' OR retired_by = 'deleted'")  # the notes whose messages count as covered
EMPTY_LIST = text("'[]'")


class MemoryRow(SQLModel, table=True):
    """One observational memory; in session scope its id is the session's.

    ``due_at`` is queue and lease in one (architecture.md 1.2): NULL is nothing to do, the past is claimable, the future
    is claimed (``lease_owner`` set) or waiting. ``wake_tokens`` is the ``pending_tokens`` (of which ``buffered_tokens``
    were observed ahead) at which an append makes it due; ``steps.UNFINISHED`` from when a part of a span is observed
    until the rest is, so that any worker goes on with it. ``requested`` is a requested look (``steps.Request``).
    ``paused``: the next step waits until ``due_at`` because of a cap on cost. ``last_error`` is ``{at, step, kind,
    message}`` of the last of ``attempts`` failures in a row, with how often which kind of them ``failed``
    (narrowing.py); in a shared memory also the key of the ``session`` that the step concerned, if one. ``rebuilding``
    are ranges of seqs to observe again because their notes were erased, in a shared memory with the session behind.
    """

    __tablename__ = "memories"
    __table_args__ = (
        Index("memories_due", "tenant", "due_at", postgresql_where=text("due_at IS NOT NULL")),
        {"postgresql_with": {"fillfactor": 60}},
    )

    id: UUID = Field(sa_column=Column(Uuid, primary_key=True))
    tenant: str = Field(sa_column=Column(Text(collation="C"), nullable=False))
    scope: str = Field(sa_column=Column(Text, nullable=False, server_default=text("'session'")))
    pending_tokens: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    wake_tokens: int = Field(sa_column=Column(BigInteger, nullable=False))
    buffered_tokens: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    observation_tokens: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    reflection_tokens: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    log_version: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    generation: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    due_at: datetime | None = Field(sa_column=Column(DateTime(timezone=True)))
    lease_epoch: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    lease_owner: str | None = Field(sa_column=Column(Text))
    lease_step: str | None = Field(sa_column=Column(Text))
    requested: str | None = Field(sa_column=Column(Text))
    requested_at: datetime | None = Field(sa_column=Column(DateTime(timezone=True)))
    attempts: int = Field(sa_column=Column(Integer, nullable=False, server_default=ZERO))
    last_error: dict[str, Any] | None = Field(sa_column=Column(JSONB))
    reflected_at: datetime | None = Field(sa_column=Column(DateTime(timezone=True)))
    unhelped_tokens: int | None = Field(sa_column=Column(BigInteger))
    current_task: str | None = Field(sa_column=Column(Text))
    suggested_response: str | None = Field(sa_column=Column(Text))
    usage: dict[str, Any] = Field(sa_column=Column(JSONB, nullable=False, server_default=text("'{}'")))
    paused: bool = Field(sa_column=Column(Boolean, nullable=False, server_default=text("false")))
    rebuilding: list[list[int]] = Field(sa_column=Column(JSONB, nullable=False, server_default=EMPTY_LIST))


class MemoryVersionRow(SQLModel, table=True):
    """One version of the log, beside its observations and reflections.

    ``cursors`` has the cursor of the session, by its id; sessions that share a memory have ``SessionCursorRow``
    instead.
    """

    __tablename__ = "memory_versions"

    memory_id: UUID = Field(sa_column=Column(Uuid, primary_key=True))
    version: int = Field(sa_column=Column(BigInteger, primary_key=True, autoincrement=False))
    cause: str = Field(sa_column=Column(Text, nullable=False))
    at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False, server_default=NOW))
    anchor_date: date = Field(sa_column=Column(Date, nullable=False))
    current_task: str | None = Field(sa_column=Column(Text))
    suggested_response: str | None = Field(sa_column=Column(Text))
    cursors: dict[str, Any] = Field(sa_column=Column(JSONB, nullable=False))


class SessionCursorRow(SQLModel, table=True):
    """The cursor of a session of a shared memory from a version of the log on, until its next row."""

    __tablename__ = "session_cursors"

    memory_id: UUID = Field(sa_column=Column(Uuid, primary_key=True))
    session_id: UUID = Field(sa_column=Column(Uuid, primary_key=True))
    version: int = Field(sa_column=Column(BigInteger, primary_key=True, autoincrement=False))
    last_seq: int = Field(sa_column=Column(BigInteger, nullable=False))
    observed_seq: int = Field(sa_column=Column(BigInteger, nullable=False))
    activated_seq: int = Field(sa_column=Column(BigInteger, nullable=False))
    tail_from_seq: int = Field(sa_column=Column(BigInteger, nullable=False))
    summary_seq: int | None = Field(sa_column=Column(BigInteger))
    compacted_seq: int = Field(sa_column=Column(BigInteger, nullable=False))
    anchor_date: date = Field(sa_column=Column(Date, nullable=False))


class ObservationRow(SQLModel, table=True):
    """One chunk of the log. No two that are live, buffered or deleted begin at the same message.

    ``erased_at``: when its text was erased, with that of a message that it may quote; its range stays.
    """

    __tablename__ = "observations"
    __table_args__ = (
        Index(
            "observations_live",
            "memory_id",
            "session_id",
            "from_seq",
            unique=True,
            postgresql_where=REMEMBERED,
        ),
        Index("observations_by_session", "memory_id", "session_id", "id"),
    )

    memory_id: UUID = Field(sa_column=Column(Uuid, primary_key=True))
    id: int = Field(sa_column=Column(BigInteger, Identity(), primary_key=True))
    ordinal: int = Field(sa_column=Column(BigInteger, nullable=False))
    status: str = Field(sa_column=Column(Text, nullable=False))
    text: str = Field(sa_column=Column(Text, nullable=False))
    items: list[dict[str, Any]] = Field(sa_column=Column(JSONB, nullable=False))
    tokens: int = Field(sa_column=Column(Integer, nullable=False))
    message_tokens: int = Field(sa_column=Column(BigInteger, nullable=False))
    session_id: UUID = Field(sa_column=Column(Uuid, nullable=False))
    from_seq: int = Field(sa_column=Column(BigInteger, nullable=False))
    to_seq: int = Field(sa_column=Column(BigInteger, nullable=False))
    covers: list[list[int]] = Field(sa_column=Column(JSONB, nullable=False))
    current_task: str | None = Field(sa_column=Column(Text))
    suggested_response: str | None = Field(sa_column=Column(Text))
    born_version: int | None = Field(sa_column=Column(BigInteger))
    retired_version: int | None = Field(sa_column=Column(BigInteger))
    retired_by: str | None = Field(sa_column=Column(Text))
    created_at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False, server_default=NOW))
    erased_at: datetime | None = Field(sa_column=Column(DateTime(timezone=True)))


class ReflectionRow(SQLModel, table=True):
    """One condensed note. ``sources`` are observation ids at level 1, reflection ids above (and in a rewrite both).

    A ``buffered`` one was made ahead: its sources are still live, and it is in no version.
    """

    __tablename__ = "reflections"
    __table_args__ = (
        Index("reflections_live", "memory_id", "level", "from_seq", postgresql_where=REMEMBERED),
        Index("reflections_ahead", "memory_id", unique=True, postgresql_where=text("status = 'buffered'")),
    )

    memory_id: UUID = Field(sa_column=Column(Uuid, primary_key=True))
    id: int = Field(sa_column=Column(BigInteger, Identity(), primary_key=True))
    level: int = Field(sa_column=Column(Integer, nullable=False))
    generation: int = Field(sa_column=Column(BigInteger, nullable=False))
    status: str = Field(sa_column=Column(Text, nullable=False))
    text: str = Field(sa_column=Column(Text, nullable=False))
    items: list[dict[str, Any]] = Field(sa_column=Column(JSONB, nullable=False))
    tokens: int = Field(sa_column=Column(Integer, nullable=False))
    source_tokens: int = Field(sa_column=Column(BigInteger, nullable=False))
    from_seq: int = Field(sa_column=Column(BigInteger, nullable=False))
    to_seq: int = Field(sa_column=Column(BigInteger, nullable=False))
    covers: dict[str, list[list[int]]] = Field(sa_column=Column(JSONB, nullable=False))
    sources: dict[str, list[int]] = Field(sa_column=Column(JSONB, nullable=False))
    born_version: int | None = Field(sa_column=Column(BigInteger))
    retired_version: int | None = Field(sa_column=Column(BigInteger))
    retired_by: str | None = Field(sa_column=Column(Text))
    created_at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False, server_default=NOW))
    erased_at: datetime | None = Field(sa_column=Column(DateTime(timezone=True)))


class RunRow(SQLModel, table=True):
    """One call of observer, reflector or extractor, with any outcome. ``rejected_output`` is kept for inspection.

    ``session_id``: in a shared memory, the session whose messages the call was shown, if they are of one.
    """

    __tablename__ = "runs"
    __table_args__ = (Index("runs_by_kind", "memory_id", "kind", "id"),)

    memory_id: UUID = Field(sa_column=Column(Uuid, primary_key=True))
    id: int = Field(sa_column=Column(BigInteger, Identity(), primary_key=True))
    at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False, server_default=NOW))
    kind: str = Field(sa_column=Column(Text, nullable=False))
    provider: str = Field(sa_column=Column(Text, nullable=False))
    model: str = Field(sa_column=Column(Text, nullable=False))
    prompt_version: str = Field(sa_column=Column(Text, nullable=False))
    epoch: int = Field(sa_column=Column(BigInteger, nullable=False))
    session_id: UUID | None = Field(sa_column=Column(Uuid))
    from_seq: int | None = Field(sa_column=Column(BigInteger))
    to_seq: int | None = Field(sa_column=Column(BigInteger))
    input_tokens: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    cached_input_tokens: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    output_tokens: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    cost_usd: float | None = Field(sa_column=Column(Float))
    latency_ms: int = Field(sa_column=Column(Integer, nullable=False, server_default=ZERO))
    outcome: str = Field(sa_column=Column(Text, nullable=False))
    error: str | None = Field(sa_column=Column(Text))
    grounded_share: float | None = Field(sa_column=Column(Float))
    rejected_output: str | None = Field(sa_column=Column(Text))


class SpendingRow(SQLModel, table=True):
    """What the model calls of one memory cost on one UTC day, if a cap is set; ``unpriced_tokens`` have no price.

    ``reserved_*`` is of the call under way; it counts while ``reserved_epoch`` is the epoch of a lease that is held.
    """

    __tablename__ = "spending"
    __table_args__ = (Index("spending_reserved", "tenant", "day", postgresql_where=text("reserved_epoch IS NOT NULL")),)

    memory_id: UUID = Field(sa_column=Column(Uuid, primary_key=True))
    day: date = Field(sa_column=Column(Date, primary_key=True))
    tenant: str = Field(sa_column=Column(Text(collation="C"), nullable=False))
    tokens: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    cost_usd: float = Field(sa_column=Column(Float, nullable=False, server_default=ZERO))
    unpriced_tokens: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    reserved_epoch: int | None = Field(sa_column=Column(BigInteger))
    reserved_tokens: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    reserved_usd: float = Field(sa_column=Column(Float, nullable=False, server_default=ZERO))


class TenantSpendingRow(SQLModel, table=True):
    """The same for all memories of a tenant together."""

    __tablename__ = "tenant_spending"

    tenant: str = Field(sa_column=Column(Text(collation="C"), primary_key=True))
    day: date = Field(sa_column=Column(Date, primary_key=True))
    tokens: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    cost_usd: float = Field(sa_column=Column(Float, nullable=False, server_default=ZERO))
    unpriced_tokens: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
