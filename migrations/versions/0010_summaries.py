"""Keep the summary that a tail begins with, and what it stands for."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0010"
down_revision: str | None = "0009"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("messages", sa.Column("up_to_seq", sa.BigInteger(), nullable=True))
    op.add_column("messages", sa.Column("covers", postgresql.JSONB(), nullable=True))
    op.create_index(
        "messages_summaries", "messages", ["session_id", "seq"], postgresql_where=sa.text("kind = 'summary'")
    )
    op.add_column("sessions", sa.Column("summary_seq", sa.BigInteger(), nullable=True))
    op.add_column("sessions", sa.Column("compacted_seq", sa.BigInteger(), server_default=sa.text("0"), nullable=False))


def downgrade() -> None:
    op.drop_column("sessions", "compacted_seq")
    op.drop_column("sessions", "summary_seq")
    op.drop_index("messages_summaries", table_name="messages")
    op.drop_column("messages", "covers")
    op.drop_column("messages", "up_to_seq")
