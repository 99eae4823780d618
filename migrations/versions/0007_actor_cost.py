"""What the agent's own calls cost, and what they wrote to the provider's cache."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0007"
down_revision: str | None = "0006"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    written = sa.Column("actor_written_tokens", sa.BigInteger(), server_default=sa.text("0"), nullable=False)
    op.add_column("sessions", written)
    op.add_column("sessions", sa.Column("actor_cost_usd", sa.Float(), nullable=True))


def downgrade() -> None:
    op.drop_column("sessions", "actor_cost_usd")
    op.drop_column("sessions", "actor_written_tokens")
