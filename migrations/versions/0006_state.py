"""State: values of a session, its resource and its tenant, with versions from one sequence."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0006"
down_revision: str | None = "0005"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.execute("CREATE SEQUENCE state_versions")
    op.create_table(
        "state_entries",
        sa.Column("tenant", sa.Text(collation="C"), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(collation="C"), nullable=False),
        sa.Column("name", sa.Text(collation="C"), nullable=False),
        sa.Column("value", postgresql.JSON(astext_type=sa.Text()), nullable=False),
        sa.Column("version", sa.BigInteger(), server_default=sa.text("nextval('state_versions')"), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "scope", "owner", "name"),
    )


def downgrade() -> None:
    op.drop_table("state_entries")
    op.execute("DROP SEQUENCE state_versions")
