"""The schema keeps the rules of Citus, which is not installed here; what ``migrate --distribute`` does without it.

The rules: https://docs.citusdata.com, "Unique constraints" and "Foreign keys": a constraint that the shards cannot
check by themselves is refused.
"""

import importlib
from pathlib import Path

import pytest
from sqlalchemy import Table, UniqueConstraint
from sqlmodel import SQLModel
from typer.testing import CliRunner

from app.cli import commands
from app.distributing import DISTRIBUTIONS, Distribution, Place, distribute, statement
from app.kit.db import DatabaseConfig
from app.kit.errors import StartError

for declared in (Path(__file__).parents[1] / "app").glob("*/tables.py"):
    importlib.import_module(f"app.{declared.parent.name}.tables")
TABLES = SQLModel.metadata.tables
DISTRIBUTED = [one for one in DISTRIBUTIONS if one.column is not None]
BY_TABLE = {one.table: one for one in DISTRIBUTIONS}


def _unique(table: Table) -> list[list[str]]:
    """The columns of each thing that is to be unique, the primary key first."""
    constraints = [found.columns for found in table.constraints if isinstance(found, UniqueConstraint)]
    indexes = [found.columns for found in table.indexes if found.unique]
    return [[column.name for column in columns] for columns in (table.primary_key.columns, *constraints, *indexes)]


def test_every_table_has_its_place() -> None:
    assert sorted(BY_TABLE) == sorted(TABLES)


@pytest.mark.parametrize("one", DISTRIBUTED, ids=lambda one: one.table)
def test_what_is_unique_is_so_within_one_shard(one: Distribution) -> None:
    primary, *others = _unique(TABLES[one.table])

    assert one.column in primary
    assert all(one.column in columns for columns in others)


@pytest.mark.parametrize(
    "one", [one for one in DISTRIBUTED if one.place is Place.BY_SESSION], ids=lambda one: one.table
)
def test_what_grows_with_a_session_is_read_by_the_column_that_places_it(one: Distribution) -> None:
    for columns in _unique(TABLES[one.table]):
        assert columns[0] == one.column


def test_tables_that_are_placed_alike_are_placed_by_the_same_type() -> None:
    types = {str(TABLES[one.table].c[str(one.column)].type) for one in DISTRIBUTED if one.place is Place.BY_SESSION}

    assert len(types) == 1


@pytest.mark.parametrize("name", TABLES)
def test_no_row_refers_to_one_that_may_be_on_another_node(name: str) -> None:
    assert not TABLES[name].foreign_keys


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("sessions", "SELECT create_distributed_table('sessions', 'id', colocate_with => 'none')"),
        ("messages", "SELECT create_distributed_table('messages', 'session_id', colocate_with => 'sessions')"),
        ("state_entries", "SELECT create_distributed_table('state_entries', 'owner', colocate_with => 'none')"),
        ("api_keys", "SELECT create_reference_table('api_keys')"),
    ],
)
def test_a_table_is_distributed_by_one_call(table: str, expected: str) -> None:
    assert statement(BY_TABLE[table]) == expected


def test_the_table_that_others_are_placed_with_comes_first() -> None:
    assert DISTRIBUTIONS[0].table == Place.BY_SESSION


async def test_without_citus_it_says_so_and_changes_nothing(database_url: str) -> None:
    with pytest.raises(StartError, match="no Citus extension"):
        await distribute(DatabaseConfig(url=database_url))


@pytest.mark.parametrize("beside", [["--dry-run"], ["--distribute", "--row-level-security", "daybook_app"]])
def test_what_would_mean_something_else_is_refused(beside: list[str]) -> None:
    assert CliRunner().invoke(commands, ["migrate", *beside]).exit_code == 2


def test_the_command_shows_what_it_would_do() -> None:
    done = CliRunner().invoke(commands, ["migrate", "--distribute", "--dry-run"])

    assert done.exit_code == 0
    assert done.stdout.splitlines() == [f"{statement(one)};" for one in DISTRIBUTIONS]
