"""Have memories looked at that wait for more tokens than are ever said: they were off when the service had them off.

Until 23 November 2026 such a memory was told to wait for 2**62 tokens and for no time, so that it stayed so when the
service was started with it on. It is looked at with the next message; one that a cap has paused waits for the day's end
and keeps its number.
"""

from collections.abc import Sequence

from alembic import op

revision: str = "0032"
down_revision: str | None = "0031"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.execute(f"UPDATE memories SET wake_tokens = pending_tokens WHERE wake_tokens >= {2**62} AND due_at IS NULL")  # noqa: S608 - our own number


def downgrade() -> None:
    """They are looked at once more than they need to be."""
