"""The session's tables (architecture.md section 3): the schema of record; SQL at run time is in the stores.

Sessions and messages are led by the session's id, so that they can be distributed by it. The rows an append updates
leave room on their page, and none of the columns it changes is indexed, so that the update stays on the page (HOT),
except when an ended session goes on.
"""

from datetime import date, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    Float,
    Index,
    Integer,
    LargeBinary,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSON, JSONB
from sqlmodel import Field, SQLModel

NOW = text("now()")
ZERO = text("0")


class SessionRow(SQLModel, table=True):
    """One conversation. ``id`` is uuid5 of tenant and key. ``next_seq`` is the seq the next message gets.

    ``activated_seq`` was the newest message when ``observed_seq`` and ``tail_from_seq`` last moved, at an activation.
    ``cold_at`` is when an append last found the provider's cache cold: after an idle gap, or a change of the model.
    ``summary_seq`` is the summary that the tail begins with; it covers the messages up to ``compacted_seq`` without the
    help of notes. A retention rule has removed the messages up to ``expired_seq``. ``facts_seq`` is the seq up to which
    facts of its resource were taken; the messages after it, up to ``facts_again_seq``, are to be read again.
    ``config_changes`` is the ``number`` of the newest ``session_configs``. A branch was copied from the session with
    the key ``branched_from``, up to ``branched_at_seq``. ``began_at`` is when the conversation began, which a branch
    has from its parent and an import from the exported session; NULL: at ``created_at``. ``waiting``: it shares its
    memory and needs a look: it has no message yet, unobserved messages, or facts to be taken. A memory finds these
    sessions by it.
    """

    __tablename__ = "sessions"
    __table_args__ = (
        Index("sessions_by_key", "tenant", "key"),
        Index("sessions_by_resource", "tenant", "resource_id", "key"),
        Index(
            "sessions_by_end",
            "tenant",
            "resource_id",
            "ended_at",
            postgresql_where=text("resource_id IS NOT NULL"),
        ),
        Index("sessions_by_memory", "memory_id"),
        Index("sessions_waiting", "memory_id", postgresql_where=text("waiting")),
        Index("sessions_by_parent", "tenant", "branched_from", postgresql_where=text("branched_from IS NOT NULL")),
        Index("sessions_ruled", "id", postgresql_where=text("config -> 'retention' IS NOT NULL")),
        {"postgresql_with": {"fillfactor": 60}},
    )

    id: UUID = Field(sa_column=Column(Uuid, primary_key=True))
    tenant: str = Field(sa_column=Column(Text(collation="C"), nullable=False))
    key: str = Field(sa_column=Column(Text(collation="C"), nullable=False))
    resource_id: str | None = Field(sa_column=Column(Text(collation="C")))
    memory_id: UUID = Field(sa_column=Column(Uuid, nullable=False))
    next_seq: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=text("1")))
    total_tokens: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    observed_seq: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    buffered_seq: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    activated_seq: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    tail_from_seq: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=text("1")))
    summary_seq: int | None = Field(sa_column=Column(BigInteger))
    compacted_seq: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    expired_seq: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    anchor_date: date = Field(sa_column=Column(Date, nullable=False, server_default=text("CURRENT_DATE")))
    cold_at: datetime | None = Field(sa_column=Column(DateTime(timezone=True)))
    last_active_at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False, server_default=NOW))
    actor_model: str | None = Field(sa_column=Column(Text))
    actor_turns: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    actor_input_tokens: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    actor_cached_tokens: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    actor_written_tokens: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    actor_output_tokens: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    actor_cost_usd: float | None = Field(sa_column=Column(Float))
    config: dict[str, Any] = Field(sa_column=Column(JSONB, nullable=False, server_default=text("'{}'")))
    facts_seq: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    facts_again_seq: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    config_changes: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=ZERO))
    meta: dict[str, Any] = Field(sa_column=Column("metadata", JSONB, nullable=False, server_default=text("'{}'")))
    created_at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False, server_default=NOW))
    began_at: datetime | None = Field(sa_column=Column(DateTime(timezone=True)))
    ended_at: datetime | None = Field(sa_column=Column(DateTime(timezone=True)))
    branched_from: str | None = Field(sa_column=Column(Text(collation="C")))
    branched_at_seq: int | None = Field(sa_column=Column(BigInteger))
    waiting: bool = Field(sa_column=Column(Boolean, nullable=False, server_default=text("false")))


class ResourceRow(SQLModel, table=True):
    """The owner of sessions, e.g. a user; not every resource has a row (``resource_store.RESOURCE``)."""

    __tablename__ = "resources"

    tenant: str = Field(sa_column=Column(Text(collation="C"), primary_key=True))
    id: str = Field(sa_column=Column(Text(collation="C"), primary_key=True))
    config: dict[str, Any] = Field(sa_column=Column(JSONB, nullable=False, server_default=text("'{}'")))
    meta: dict[str, Any] = Field(sa_column=Column("metadata", JSONB, nullable=False, server_default=text("'{}'")))
    created_at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False, server_default=NOW))
    updated_at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False, server_default=NOW))


class SessionConfigRow(SQLModel, table=True):
    """One change of a session's config, and its value from then on. Before the first change it is empty.

    At the change ``from_seq`` was the seq of the next message, ``version`` that of the memory's log.
    """

    __tablename__ = "session_configs"

    session_id: UUID = Field(sa_column=Column(Uuid, primary_key=True))
    number: int = Field(sa_column=Column(BigInteger, primary_key=True, autoincrement=False))
    changed_at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False))
    from_seq: int = Field(sa_column=Column(BigInteger, nullable=False))
    version: int = Field(sa_column=Column(BigInteger, nullable=False))
    config: dict[str, Any] = Field(sa_column=Column(JSONB, nullable=False))


class MessageRow(SQLModel, table=True):
    """One message. ``tokens_before`` is the running sum of the session's tokens before it: a budget cut is a seek.

    A summary is not in that sum, for it is shown wherever the tail is cut. It replaces the messages up to
    ``up_to_seq``; no note covers the ranges of them in ``covers``. Other messages have neither column.

    ``parts`` is json, as jsonb reorders the keys of objects: a context shows what was sent, so that a prefix that the
    provider has cached stays valid. ``anchor_date`` is the session's as it was with this message the newest. A message
    erased at ``erased_at`` is a tombstone without content; ``observe`` is False if its notes were removed too.
    """

    __tablename__ = "messages"
    __table_args__ = (
        UniqueConstraint("session_id", "id", name="messages_by_id"),
        # For the list of large parts (app/artifacts), none of which has fewer bytes than this.
        Index("messages_large", "session_id", "seq", postgresql_where=text("octet_length(parts::text) > 4096")),
        Index("messages_summaries", "session_id", "seq", postgresql_where=text("kind = 'summary'")),
        Index("messages_erased", "session_id", "seq", postgresql_where=text("erased_at IS NOT NULL AND NOT observe")),
    )

    session_id: UUID = Field(sa_column=Column(Uuid, primary_key=True))
    seq: int = Field(sa_column=Column(BigInteger, primary_key=True, autoincrement=False))
    id: str = Field(sa_column=Column(Text(collation="C"), nullable=False))
    kind: str = Field(sa_column=Column(Text, nullable=False))
    role: str = Field(sa_column=Column(Text, nullable=False))
    name: str | None = Field(sa_column=Column(Text))
    parts: list[dict[str, Any]] = Field(sa_column=Column(JSON, nullable=False))
    tokens: int = Field(sa_column=Column(Integer, nullable=False))
    tokens_before: int = Field(sa_column=Column(BigInteger, nullable=False))
    content_hash: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    created_at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False))
    ingested_at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False, server_default=NOW))
    meta: dict[str, Any] | None = Field(sa_column=Column("metadata", JSONB))
    observe: bool = Field(sa_column=Column(Boolean, nullable=False))
    trust: str = Field(sa_column=Column(Text, nullable=False))
    anchor_date: date = Field(sa_column=Column(Date, nullable=False))
    up_to_seq: int | None = Field(sa_column=Column(BigInteger))
    covers: list[list[int]] | None = Field(sa_column=Column(JSONB))
    erased_at: datetime | None = Field(sa_column=Column(DateTime(timezone=True)))
