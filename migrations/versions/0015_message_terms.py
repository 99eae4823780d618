"""The search index over messages. What is there already is indexed in the background."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0015"
down_revision: str | None = "0014"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "message_terms",
        sa.Column("session_id", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("segment", sa.Integer(), nullable=False),
        sa.Column("length", sa.Integer(), nullable=False),
        sa.Column("length_before", sa.BigInteger(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("speaker", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("terms", postgresql.TSVECTOR(), nullable=False),
        sa.Column("repeated", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.PrimaryKeyConstraint("session_id", "seq"),
    )
    op.create_index("message_terms_by_term", "message_terms", ["terms"], unique=False, postgresql_using="gin")


def downgrade() -> None:
    op.drop_index("message_terms_by_term", table_name="message_terms", postgresql_using="gin")
    op.drop_table("message_terms")
