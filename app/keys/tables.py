"""The table of keys (architecture.md section 3): the schema of record; SQL at run time is in store.py."""

from datetime import datetime

from sqlalchemy import Column, DateTime, LargeBinary, Text, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlmodel import Field, SQLModel


class ApiKeyRow(SQLModel, table=True):
    """One key, hashed. ``id`` is the part of it that is shown; a revoked one stays, so that its id is never another's.

    ``last_used_at`` is written a while after the use.
    """

    __tablename__ = "api_keys"

    id: str = Field(sa_column=Column(Text(collation="C"), primary_key=True))
    tenant: str = Field(sa_column=Column(Text(collation="C"), nullable=False))
    name: str = Field(sa_column=Column(Text, nullable=False))
    scopes: list[str] = Field(sa_column=Column(ARRAY(Text), nullable=False))
    hash: bytes = Field(sa_column=Column(LargeBinary, nullable=False))
    created_at: datetime = Field(
        sa_column=Column(DateTime(timezone=True), nullable=False, server_default=text("now()"))
    )
    expires_at: datetime | None = Field(sa_column=Column(DateTime(timezone=True)))
    revoked_at: datetime | None = Field(sa_column=Column(DateTime(timezone=True)))
    last_used_at: datetime | None = Field(sa_column=Column(DateTime(timezone=True)))
