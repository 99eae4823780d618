"""Of a shared memory's versions each notes only the sessions that had moved, and the memory finds those that wait."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

revision: str = "0026"
down_revision: str | None = "0025"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

WAIT = """
UPDATE sessions SET waiting = true
WHERE memory_id <> id AND (
  next_seq = 1 OR next_seq - 1 > observed_seq + CASE WHEN summary_seq > observed_seq THEN 1 ELSE 0 END
  OR ended_at IS NOT NULL AND next_seq - 1 > facts_seq)
"""

CARRY_OVER = """
INSERT INTO session_cursors (memory_id, session_id, version, last_seq, observed_seq, activated_seq, tail_from_seq,
                             summary_seq, compacted_seq, anchor_date)
SELECT memory_id, session_id, version, c.last_seq, c.observed_seq, c.activated_seq, c.tail_from_seq, c.summary_seq,
       c.compacted_seq, c.anchor_date
FROM (
  SELECT v.memory_id, v.version, one.key::uuid AS session_id, one.value AS cursor,
         lag(one.value) OVER (PARTITION BY v.memory_id, one.key ORDER BY v.version) AS former
  FROM memories m JOIN memory_versions v ON v.memory_id = m.id CROSS JOIN jsonb_each(v.cursors) AS one
  WHERE m.scope = 'resource'
) AS told,
jsonb_to_record(cursor) AS c (last_seq bigint, observed_seq bigint, activated_seq bigint, tail_from_seq bigint,
                              summary_seq bigint, compacted_seq bigint, anchor_date date)
WHERE cursor IS DISTINCT FROM former
"""

EMPTY = """
UPDATE memory_versions v SET cursors = '{}' FROM memories m WHERE m.id = v.memory_id AND m.scope = 'resource'
"""

CARRY_BACK = """
UPDATE memory_versions v SET cursors = coalesce((
  SELECT jsonb_object_agg(session_id, cursor) FROM (
    SELECT DISTINCT ON (session_id) session_id, to_jsonb(c) - '{memory_id,session_id,version}'::text[] AS cursor
    FROM session_cursors c WHERE c.memory_id = v.memory_id AND c.version <= v.version
    ORDER BY session_id, version DESC
  ) AS stood), '{}')
FROM memories m WHERE m.id = v.memory_id AND m.scope = 'resource'
"""


def upgrade() -> None:
    op.create_table(
        "session_cursors",
        sa.Column("memory_id", sa.Uuid(), nullable=False),
        sa.Column("session_id", sa.Uuid(), nullable=False),
        sa.Column("version", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("last_seq", sa.BigInteger(), nullable=False),
        sa.Column("observed_seq", sa.BigInteger(), nullable=False),
        sa.Column("activated_seq", sa.BigInteger(), nullable=False),
        sa.Column("tail_from_seq", sa.BigInteger(), nullable=False),
        sa.Column("summary_seq", sa.BigInteger(), nullable=True),
        sa.Column("compacted_seq", sa.BigInteger(), nullable=False),
        sa.Column("anchor_date", sa.Date(), nullable=False),
        sa.PrimaryKeyConstraint("memory_id", "session_id", "version"),
    )
    op.execute("ALTER TABLE session_cursors ALTER COLUMN memory_id SET (n_distinct = -0.005)")  # as in 0025
    op.execute(CARRY_OVER)
    op.execute(EMPTY)
    op.add_column("sessions", sa.Column("waiting", sa.Boolean(), server_default=sa.text("false"), nullable=False))
    op.execute(WAIT)
    op.create_index("sessions_waiting", "sessions", ["memory_id"], postgresql_where=sa.text("waiting"))


def downgrade() -> None:
    op.drop_index("sessions_waiting", table_name="sessions")
    op.drop_column("sessions", "waiting")
    op.execute(CARRY_BACK)
    op.drop_table("session_cursors")
