"""What model calls cost by day, per memory and per tenant, and whether a cap pauses a memory."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0005"
down_revision: str | None = "0004"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.add_column("memories", sa.Column("paused", sa.Boolean(), server_default=sa.text("false"), nullable=False))
    op.create_table(
        "spending",
        sa.Column("memory_id", sa.Uuid(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("tenant", sa.Text(collation="C"), nullable=False),
        *_sums(),
        sa.Column("reserved_epoch", sa.BigInteger(), nullable=True),
        sa.Column("reserved_tokens", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("reserved_usd", sa.Float(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("memory_id", "day"),
    )
    op.create_index(
        "spending_reserved",
        "spending",
        ["tenant", "day"],
        unique=False,
        postgresql_where=sa.text("reserved_epoch IS NOT NULL"),
    )
    op.create_table(
        "tenant_spending",
        sa.Column("tenant", sa.Text(collation="C"), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        *_sums(),
        sa.PrimaryKeyConstraint("tenant", "day"),
    )


def _sums() -> list[sa.Column[int] | sa.Column[float]]:
    return [
        sa.Column("tokens", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("cost_usd", sa.Float(), server_default=sa.text("0"), nullable=False),
        sa.Column("unpriced_tokens", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
    ]


def downgrade() -> None:
    op.drop_table("tenant_spending")
    op.drop_index("spending_reserved", table_name="spending")
    op.drop_table("spending")
    op.drop_column("memories", "paused")
