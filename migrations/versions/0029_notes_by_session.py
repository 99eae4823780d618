"""Find the notes of one session among those of a memory that sessions share, the newest first."""

from collections.abc import Sequence

from alembic import op

revision: str = "0029"
down_revision: str | None = "0026"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.create_index("observations_by_session", "observations", ["memory_id", "session_id", "id"])


def downgrade() -> None:
    op.drop_index("observations_by_session", table_name="observations")
