"""How far a retention rule has removed what was said."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0018"
down_revision: str | None = "0017"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("sessions", sa.Column("expired_seq", sa.BigInteger(), server_default=sa.text("0"), nullable=False))
    op.create_index("sessions_ruled", "sessions", ["id"], postgresql_where=sa.text("config -> 'retention' IS NOT NULL"))


def downgrade() -> None:
    op.drop_index("sessions_ruled", table_name="sessions")
    op.drop_column("sessions", "expired_seq")
