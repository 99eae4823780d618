"""Find the sessions of a memory by an index: each step of the engine asks for them."""

from collections.abc import Sequence

from alembic import op

revision: str = "0014"
down_revision: str | None = "0013"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_index("sessions_by_memory", "sessions", ["memory_id"])


def downgrade() -> None:
    op.drop_index("sessions_by_memory", table_name="sessions")
