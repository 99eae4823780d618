"""Which session a branch was copied from, and up to where."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0011"
down_revision: str | None = "0010"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("sessions", sa.Column("branched_from", sa.Text(collation="C"), nullable=True))
    op.add_column("sessions", sa.Column("branched_at_seq", sa.BigInteger(), nullable=True))
    op.create_index(
        "sessions_by_parent",
        "sessions",
        ["tenant", "branched_from"],
        unique=False,
        postgresql_where=sa.text("branched_from IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_index("sessions_by_parent", table_name="sessions", postgresql_where=sa.text("branched_from IS NOT NULL"))
    op.drop_column("sessions", "branched_at_seq")
    op.drop_column("sessions", "branched_from")
