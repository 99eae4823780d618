"""Keep what was indexed last in a short list: each word of a query reads all of it, 0.1 s and more in a recall."""

from collections.abc import Sequence

from alembic import op

revision: str = "0034"
down_revision: str | None = "0033"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.execute("ALTER INDEX message_terms_by_term SET (gin_pending_list_limit = 512)")


def downgrade() -> None:
    op.execute("ALTER INDEX message_terms_by_term RESET (gin_pending_list_limit)")
