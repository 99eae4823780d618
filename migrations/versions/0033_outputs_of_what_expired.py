"""Empty what was refused of a model's output for messages that retention has removed since.

Until 26 November 2026 that went by the time of the call, which is later than the messages it was shown: what was
refused stayed, and in a session where nothing more was said, for ever.
"""

from collections.abc import Sequence

from alembic import op

revision: str = "0033"
down_revision: str | None = "0032"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.execute(
        "UPDATE runs r SET rejected_output = NULL, error = split_part(error, ':', 1) FROM sessions s"
        " WHERE s.memory_id = r.memory_id AND s.expired_seq > 0"
        " AND (r.rejected_output IS NOT NULL OR r.error LIKE '%:%')"
        " AND (r.from_seq IS NULL OR r.from_seq <= s.expired_seq AND coalesce(r.session_id, r.memory_id) = s.id)"
    )


def downgrade() -> None:
    """What is gone is gone."""
