"""The table of artifacts (architecture.md section 3): the schema of record; SQL at run time is in store.py."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, Column, DateTime, LargeBinary, Text, Uuid, text
from sqlmodel import Field, SQLModel

NOW = text("now()")


class ArtifactRow(SQLModel, table=True):
    """One immutable version of a payload: its bytes, or the key they have in the object store.

    The newest row of a deleted artifact stays, emptied, so that no later version has the number of an earlier one.
    """

    __tablename__ = "artifacts"
    __table_args__ = (
        CheckConstraint(
            "(content IS NOT NULL)::int + (object_key IS NOT NULL)::int + (deleted_at IS NOT NULL)::int = 1",
            name="artifacts_bytes_are_in_one_place",
        ),
    )

    session_id: UUID = Field(sa_column=Column(Uuid, primary_key=True))
    name: str = Field(sa_column=Column(Text(collation="C"), primary_key=True))
    version: int = Field(sa_column=Column(BigInteger, primary_key=True, autoincrement=False))
    media_type: str = Field(sa_column=Column(Text, nullable=False))
    size: int = Field(sa_column=Column(BigInteger, nullable=False))
    sha256: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    content: bytes | None = Field(sa_column=Column(LargeBinary))
    object_key: str | None = Field(sa_column=Column(Text))
    created_at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False, server_default=NOW))
    deleted_at: datetime | None = Field(sa_column=Column(DateTime(timezone=True)))
