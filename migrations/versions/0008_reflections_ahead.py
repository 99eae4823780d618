"""Reflections made ahead of their time: in no version until they are activated, and one at a time."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0008"
down_revision: str | None = "0007"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

AHEAD = sa.text("status = 'buffered'")


def upgrade() -> None:
    op.alter_column("reflections", "born_version", existing_type=sa.BigInteger(), nullable=True)
    op.create_index("reflections_ahead", "reflections", ["memory_id"], unique=True, postgresql_where=AHEAD)


def downgrade() -> None:
    op.drop_index("reflections_ahead", table_name="reflections", postgresql_where=AHEAD)
    op.execute("DELETE FROM reflections WHERE born_version IS NULL")
    op.alter_column("reflections", "born_version", existing_type=sa.BigInteger(), nullable=False)
