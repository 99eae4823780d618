"""Note beside each message what relative dates were told from when it was the newest."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0003"
down_revision: str | None = "0002"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("messages", sa.Column("anchor_date", sa.Date(), nullable=True))
    # What it was for older messages is not known any more; for those since the newest version it is the session's.
    op.execute("UPDATE messages SET anchor_date = s.anchor_date FROM sessions s WHERE s.id = session_id")
    op.alter_column("messages", "anchor_date", nullable=False)


def downgrade() -> None:
    op.drop_column("messages", "anchor_date")
