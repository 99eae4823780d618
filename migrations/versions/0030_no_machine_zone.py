"""Take the zone 'localtime' out of configs: Postgres has none, and an append after a pause failed at it.

Where a system lists it beside IANA's it could be set once. Its sessions have the service's zone then, as if unset.
"""

from collections.abc import Sequence

from alembic import op

revision: str = "0030"
down_revision: str | None = "0029"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    for table in ("sessions", "session_configs", "resources"):
        op.execute(f"UPDATE {table} SET config = config - 'timezone' WHERE config->>'timezone' = 'localtime'")  # noqa: S608 - our own table names


def downgrade() -> None:
    """What it was for is refused since before."""
