"""The search index: the schema of record. What is in it follows from the messages, and can be made anew from them."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import REAL, BigInteger, Column, DateTime, Index, Integer, Text, Uuid
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TSVECTOR
from sqlmodel import Field, SQLModel

# What was indexed last is in a list that each word of a query reads to its end: of Postgres's own 4 MB, the work of two
# thousand messages, in milliseconds (docs/benchmarks/profile.md).
PENDING_KILOBYTES = 512


class MessageTermsRow(SQLModel, table=True):
    """What search knows of a message; those of a session have no gap from seq 1 on, and are written in the background.

    ``terms`` are those of the message, and two that name its session and its resource, so that the index leads to
    their messages alone. ``repeated`` has how often a term occurs that does so more than once. ``length`` is the sum,
    ``length_before`` that of the session's messages before it, both as they were when the message was indexed.
    """

    __tablename__ = "message_terms"
    __table_args__ = (
        Index(
            "message_terms_by_term",
            "terms",
            postgresql_using="gin",
            postgresql_with={"gin_pending_list_limit": PENDING_KILOBYTES},
        ),
    )

    session_id: UUID = Field(sa_column=Column(Uuid, primary_key=True))
    seq: int = Field(sa_column=Column(BigInteger, primary_key=True, autoincrement=False))
    segment: int = Field(sa_column=Column(Integer, nullable=False))
    length: int = Field(sa_column=Column(Integer, nullable=False))
    length_before: int = Field(sa_column=Column(BigInteger, nullable=False))
    role: str = Field(sa_column=Column(Text, nullable=False))
    speaker: str | None = Field(sa_column=Column(Text))
    created_at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False))
    terms: Any = Field(sa_column=Column(TSVECTOR, nullable=False))
    repeated: dict[str, int] | None = Field(sa_column=Column(JSONB))


class MessageVectorRow(SQLModel, table=True):
    """The vector of a message by a model; empty where no embeddings are switched on (docs/decisions/0039).

    Those of a session and a model have no gap from seq 1 on, and follow the rows of ``message_terms``, of which they
    have ``segment`` and ``created_at``. ``vector`` has length 1; NULL: the message says nothing, or was erased.
    """

    __tablename__ = "message_vectors"

    session_id: UUID = Field(sa_column=Column(Uuid, primary_key=True))
    model: str = Field(sa_column=Column(Text, primary_key=True))
    seq: int = Field(sa_column=Column(BigInteger, primary_key=True, autoincrement=False))
    segment: int = Field(sa_column=Column(Integer, nullable=False))
    created_at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False))
    vector: list[float] | None = Field(sa_column=Column(ARRAY(REAL)))
