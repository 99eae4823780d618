"""The tables of the search index: the schema of record. Their rows can be made anew from the messages."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import REAL, BigInteger, Column, DateTime, Index, Integer, Text, Uuid
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TSVECTOR
from sqlmodel import Field, SQLModel

# The newest rows are in GIN's pending list, which each word of a query reads to its end: of Postgres's own 4 MB, the
# work of two thousand messages, in milliseconds (docs/benchmarks/profile.md).
PENDING_KILOBYTES = 512


class MessageTermsRow(SQLModel, table=True):
    """The index row of a message, written in the background; a session's rows have no gap from seq 1 on.

    ``terms``: those of the message, and two for its session and its resource, so that a search reads only their
    messages. ``repeated``: the counts of terms that occur more than once. ``length``: the sum of all counts;
    ``length_before``: that of the session's messages before it, both as they were when the message was indexed.
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
    """The vector of a message by a model; the table is empty if embeddings are off (docs/decisions/0039).

    The rows of a session and a model have no gap from seq 1 on, and follow those of ``message_terms``, from which they
    copy ``segment`` and ``created_at``. ``vector`` has length 1; NULL: the message has no text, or was erased.
    """

    __tablename__ = "message_vectors"

    session_id: UUID = Field(sa_column=Column(Uuid, primary_key=True))
    model: str = Field(sa_column=Column(Text, primary_key=True))
    seq: int = Field(sa_column=Column(BigInteger, primary_key=True, autoincrement=False))
    segment: int = Field(sa_column=Column(Integer, nullable=False))
    created_at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False))
    vector: list[float] | None = Field(sa_column=Column(ARRAY(REAL)))
