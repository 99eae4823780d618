"""Resources: the config of the memory that their sessions may share, and what else is said of them."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0020"
down_revision: str | None = "0019"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

EMPTY = sa.text("'{}'")
NOW = sa.text("now()")


def upgrade() -> None:
    op.create_table(
        "resources",
        sa.Column("tenant", sa.Text(collation="C"), nullable=False),
        sa.Column("id", sa.Text(collation="C"), nullable=False),
        sa.Column("config", postgresql.JSONB(), server_default=EMPTY, nullable=False),
        sa.Column("metadata", postgresql.JSONB(), server_default=EMPTY, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=NOW, nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=NOW, nullable=False),
        sa.PrimaryKeyConstraint("tenant", "id"),
    )


def downgrade() -> None:
    op.drop_table("resources")
