"""What was known when a session began: since when a fact reads as it does, and when a branch's conversation began."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0021"
down_revision: str | None = "0020"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    time = sa.DateTime(timezone=True)
    op.add_column("facts", sa.Column("worded_at", time, server_default=sa.text("now()"), nullable=False))
    op.execute("UPDATE facts SET worded_at = updated_at")  # the last change was of its words at the latest
    op.add_column("sessions", sa.Column("began_at", time, nullable=True))


def downgrade() -> None:
    op.drop_column("sessions", "began_at")
    op.drop_column("facts", "worded_at")
