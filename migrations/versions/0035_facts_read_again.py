"""Of a session or its deleted parent it is known how far it was read for facts: no copy brings back what is deleted."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0035"
down_revision: str | None = "0034"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

WERE_READ = """
UPDATE sessions s SET facts_again_seq = r.seq FROM (
  SELECT coalesce(session_id, memory_id) AS session_id, max(to_seq) AS seq FROM runs
  WHERE kind = 'note_facts' AND outcome = 'recorded' GROUP BY 1
) AS r WHERE s.id = r.session_id AND r.seq > s.facts_seq
"""


def upgrade() -> None:
    op.add_column(
        "sessions", sa.Column("facts_again_seq", sa.BigInteger(), server_default=sa.text("0"), nullable=False)
    )
    op.execute(WERE_READ)


def downgrade() -> None:
    op.drop_column("sessions", "facts_again_seq")
