"""What a session's config was, and from when on. One that stands already counts as given at the session's start."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0002"
down_revision: str | None = "0001"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "session_configs",
        sa.Column("session_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("from_seq", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("config", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.PrimaryKeyConstraint("session_id", "number"),
    )
    op.add_column("sessions", sa.Column("config_changes", sa.BigInteger(), server_default=sa.text("0"), nullable=False))
    op.execute("UPDATE sessions SET config_changes = 1 WHERE config <> '{}'")
    op.execute(
        "INSERT INTO session_configs (session_id, number, changed_at, from_seq, version, config)"
        " SELECT id, 1, created_at, 1, 0, config FROM sessions WHERE config_changes = 1"
    )


def downgrade() -> None:
    op.drop_column("sessions", "config_changes")
    op.drop_table("session_configs")
