"""The table of the state (architecture.md section 3): the schema of record; SQL at run time is in store.py."""

from typing import Any

from sqlalchemy import BigInteger, Column, Text, text
from sqlalchemy.dialects.postgresql import JSON
from sqlmodel import Field, SQLModel


class StateEntryRow(SQLModel, table=True):
    """One value. ``owner`` is the session's key, its resource's id, or "" for the tenant, as ``scope`` says.

    ``version`` is drawn from one sequence at every write, so that no two values ever had the same: a name that was
    deleted and set again is not mistaken for what it was. ``value`` is json as messages' parts are (decision 0010).
    """

    __tablename__ = "state_entries"

    tenant: str = Field(sa_column=Column(Text(collation="C"), primary_key=True))
    scope: str = Field(sa_column=Column(Text, primary_key=True))
    owner: str = Field(sa_column=Column(Text(collation="C"), primary_key=True))
    name: str = Field(sa_column=Column(Text(collation="C"), primary_key=True))
    value: Any = Field(sa_column=Column(JSON, nullable=False))
    version: int = Field(sa_column=Column(BigInteger, nullable=False, server_default=text("nextval('state_versions')")))
