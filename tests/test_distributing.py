"""The schema keeps the rules of Citus, for whoever distributes it one day; today's service does not run there.

The rules: https://docs.citusdata.com, "Unique constraints" and "Foreign keys": a constraint that the shards cannot
check by themselves is refused. Why the service does not run there: docs/decisions/0054.
"""

import importlib
from pathlib import Path

import pytest
from sqlalchemy import Table, UniqueConstraint
from sqlmodel import SQLModel
from typer.testing import CliRunner

from app.cli import commands

for declared in (Path(__file__).parents[1] / "app").glob("*/tables.py"):
    importlib.import_module(f"app.{declared.parent.name}.tables")
TABLES = SQLModel.metadata.tables

# By which column rows would be distributed; what grows with a session by the session's or its memory's id.
GROWING = {
    "sessions": "id",
    "memories": "id",
    "messages": "session_id",
    "message_terms": "session_id",
    "message_vectors": "session_id",
    "session_configs": "session_id",
    "artifacts": "session_id",
    "memory_versions": "memory_id",
    "session_cursors": "memory_id",
    "observations": "memory_id",
    "reflections": "memory_id",
    "runs": "memory_id",
    "spending": "memory_id",
}
OTHERS = {"state_entries": "owner", "facts": "resource_id", "resources": "id", "tenant_spending": "tenant"}
EVERYWHERE = {"api_keys"}  # a copy on every node: small, and read by all


def _unique(table: Table) -> list[list[str]]:
    """The columns of each thing that is to be unique, the primary key first."""
    constraints = [found.columns for found in table.constraints if isinstance(found, UniqueConstraint)]
    indexes = [found.columns for found in table.indexes if found.unique]
    return [[column.name for column in columns] for columns in (table.primary_key.columns, *constraints, *indexes)]


def test_every_table_has_its_column() -> None:
    assert sorted([*GROWING, *OTHERS, *EVERYWHERE]) == sorted(TABLES)


@pytest.mark.parametrize(("name", "column"), (GROWING | OTHERS).items())
def test_what_is_unique_is_so_within_one_shard(name: str, column: str) -> None:
    assert all(column in columns for columns in _unique(TABLES[name]))


@pytest.mark.parametrize(("name", "column"), GROWING.items())
def test_what_grows_with_a_session_is_read_by_the_column_that_places_it(name: str, column: str) -> None:
    assert {columns[0] for columns in _unique(TABLES[name])} == {column}


def test_what_grows_with_a_session_is_placed_by_the_same_type() -> None:
    assert len({str(TABLES[name].c[column].type) for name, column in GROWING.items()}) == 1


@pytest.mark.parametrize("name", TABLES)
def test_no_row_refers_to_one_that_may_be_on_another_node(name: str) -> None:
    assert not TABLES[name].foreign_keys


def test_the_command_says_that_the_service_would_not_run_there(tmp_path: Path) -> None:
    done = CliRunner().invoke(commands, ["migrate", "--distribute", "--data-dir", str(tmp_path)])

    assert done.exit_code == 2
    assert done.stderr.startswith("daybook: nothing was changed: Citus refuses")
    assert not list(tmp_path.iterdir())
