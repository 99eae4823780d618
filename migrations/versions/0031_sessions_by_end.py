"""Find the sessions of a resource in the order of their ends, the newest first, without sorting all of them."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0031"
down_revision: str | None = "0030"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_index(
        "sessions_by_end",
        "sessions",
        ["tenant", "resource_id", "ended_at"],
        postgresql_where=sa.text("resource_id IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_index("sessions_by_end", table_name="sessions")
