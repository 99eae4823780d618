"""Tell the planner how long a session is (docs/decisions/0044).

Of a session that it does not know it expects the mean, which in a table of many short ones is a row or two: all of a
session then looks as cheap to read as one row by its key, also of the one that is long. Said once, it holds whatever
the sessions are.
"""

from collections.abc import Sequence

from alembic import op

revision: str = "0025"
down_revision: str | None = "0024"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

ROWS = 200  # of a session or a memory, in each table
BY_SESSION = ("artifacts", "message_terms", "message_vectors", "messages", "session_configs")
BY_MEMORY = ("memory_versions", "observations", "reflections", "runs", "spending")


def upgrade() -> None:
    for table, column in _leading():
        op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET (n_distinct = {-1 / ROWS})")
        op.execute(f"ANALYZE {table} ({column})")


def downgrade() -> None:
    for table, column in _leading():
        op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} RESET (n_distinct)")


def _leading() -> list[tuple[str, str]]:
    by_session = [(table, "session_id") for table in BY_SESSION]
    return by_session + [(table, "memory_id") for table in BY_MEMORY]
