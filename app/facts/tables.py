"""The table of facts (architecture.md section 3): the schema of record; SQL at run time is in the stores."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, Column, DateTime, Identity, SmallInteger, Text, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlmodel import Field, SQLModel

NOW = text("now()")
EMPTY_LIST = text("'[]'")
LEAST = text("1")


class FactRow(SQLModel, table=True):
    """One fact of a resource. ``sources`` are ``model.Source``, with a session's id beside its key: keys are reused.

    ``worded_at``: when its words last changed, or somebody changed it by hand. ``confirmed_at``: since when it rests on
    more than one source. ``worth`` and ``passes_at`` follow from its words (``worth.py``). A row by the extractor
    without a text is no fact, but a refusal or a correction (``rereading.py``).
    """

    __tablename__ = "facts"
    __table_args__ = (
        CheckConstraint(
            "trust IN ('user', 'operator') OR category NOT IN ('decision', 'preference', 'profile')",
            name="facts_of_whose_word",
        ),
    )

    tenant: str = Field(sa_column=Column(Text(collation="C"), primary_key=True))
    resource_id: str = Field(sa_column=Column(Text(collation="C"), primary_key=True))
    id: int = Field(sa_column=Column(BigInteger, Identity(), primary_key=True))
    text: str = Field(sa_column=Column(Text, nullable=False))
    category: str = Field(sa_column=Column(Text, nullable=False))
    trust: str = Field(sa_column=Column(Text, nullable=False))
    author: str = Field(sa_column=Column(Text, nullable=False))
    sources: list[dict[str, Any]] = Field(sa_column=Column(JSONB, nullable=False, server_default=EMPTY_LIST))
    valid_from: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False))
    valid_to: datetime | None = Field(sa_column=Column(DateTime(timezone=True)))
    replaced_by: int | None = Field(sa_column=Column(BigInteger))
    created_at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False, server_default=NOW))
    updated_at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False, server_default=NOW))
    worded_at: datetime = Field(sa_column=Column(DateTime(timezone=True), nullable=False, server_default=NOW))
    worth: int = Field(sa_column=Column(SmallInteger, nullable=False, server_default=LEAST))
    passes_at: datetime | None = Field(sa_column=Column(DateTime(timezone=True)))
    confirmed_at: datetime | None = Field(sa_column=Column(DateTime(timezone=True)))
