"""What was erased: from the messages, from their notes, and what is to be observed again."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0013"
down_revision: str | None = "0012"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_index(
        "messages_erased",
        "messages",
        ["session_id", "seq"],
        unique=False,
        postgresql_where=sa.text("erased_at IS NOT NULL AND NOT observe"),
    )
    op.add_column("observations", sa.Column("erased_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("reflections", sa.Column("erased_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column(
        "memories",
        sa.Column("rebuilding", postgresql.JSONB(), server_default=sa.text("'[]'"), nullable=False),
    )


def downgrade() -> None:
    op.drop_column("memories", "rebuilding")
    op.drop_column("reflections", "erased_at")
    op.drop_column("observations", "erased_at")
    op.drop_index(
        "messages_erased", table_name="messages", postgresql_where=sa.text("erased_at IS NOT NULL AND NOT observe")
    )
