"""Note in a session what was the newest message at its last activation."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0009"
down_revision: str | None = "0008"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    # 0 until the next activation: what is shown of a session does not change by an upgrade.
    op.add_column("sessions", sa.Column("activated_seq", sa.BigInteger(), server_default=sa.text("0"), nullable=False))


def downgrade() -> None:
    op.drop_column("sessions", "activated_seq")
