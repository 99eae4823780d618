"""Artifacts: payloads kept by name, and the index that finds the large parts of messages."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0004"
down_revision: str | None = "0003"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_table(
        "artifacts",
        sa.Column("session_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(collation="C"), nullable=False),
        sa.Column("version", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        sa.Column("object_key", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(content IS NOT NULL)::int + (object_key IS NOT NULL)::int + (deleted_at IS NOT NULL)::int = 1",
            name="artifacts_bytes_are_in_one_place",
        ),
        sa.PrimaryKeyConstraint("session_id", "name", "version"),
    )
    # Not compressed, so that a range of the bytes is read without the rest of them.
    op.execute("ALTER TABLE artifacts ALTER COLUMN content SET STORAGE EXTERNAL")
    op.create_index(
        "messages_large",
        "messages",
        ["session_id", "seq"],
        postgresql_where=sa.text("octet_length(parts::text) > 4096"),
    )


def downgrade() -> None:
    op.drop_index("messages_large", table_name="messages")
    op.drop_table("artifacts")
