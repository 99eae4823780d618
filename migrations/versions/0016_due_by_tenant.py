"""Find what is due of each tenant in its turn."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0016"
down_revision: str | None = "0015"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

DUE = sa.text("due_at IS NOT NULL")


def upgrade() -> None:
    op.drop_index("memories_due", table_name="memories")
    op.create_index("memories_due", "memories", ["tenant", "due_at"], postgresql_where=DUE)


def downgrade() -> None:
    op.drop_index("memories_due", table_name="memories")
    op.create_index("memories_due", "memories", ["due_at"], postgresql_where=DUE)
