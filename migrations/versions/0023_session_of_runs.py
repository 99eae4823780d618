"""Whose messages a call was shown, in a memory that sessions share. Of former calls nobody knows."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0023"
down_revision: str | None = "0022"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("session_id", sa.Uuid(), nullable=True))


def downgrade() -> None:
    op.drop_column("runs", "session_id")
