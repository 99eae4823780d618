"""Vectors of messages, where embeddings are switched on: as lists, so that no extension is needed to have the table."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0022"
down_revision: str | None = "0021"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "message_vectors",
        sa.Column("session_id", sa.Uuid(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("segment", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("vector", postgresql.ARRAY(sa.REAL()), nullable=True),
        sa.PrimaryKeyConstraint("session_id", "model", "seq"),
    )
    op.execute("ALTER TABLE message_vectors ALTER COLUMN vector SET STORAGE EXTERNAL")  # numbers do not compress


def downgrade() -> None:
    op.drop_table("message_vectors")
