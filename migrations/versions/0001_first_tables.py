"""The first tables, and the sequence that fences a memory's workers."""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision: str = "0001"
down_revision: str | None = None
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None


def upgrade() -> None:
    op.execute("CREATE SEQUENCE lease_epochs")
    op.create_table(
        "memories",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant", sa.Text(collation="C"), nullable=False),
        sa.Column("scope", sa.Text(), server_default=sa.text("'session'"), nullable=False),
        sa.Column("pending_tokens", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("wake_tokens", sa.BigInteger(), nullable=False),
        sa.Column("buffered_tokens", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("observation_tokens", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("reflection_tokens", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("log_version", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("generation", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lease_epoch", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("lease_owner", sa.Text(), nullable=True),
        sa.Column("lease_step", sa.Text(), nullable=True),
        sa.Column("requested", sa.Text(), nullable=True),
        sa.Column("requested_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("last_error", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("reflected_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("unhelped_tokens", sa.BigInteger(), nullable=True),
        sa.Column("current_task", sa.Text(), nullable=True),
        sa.Column("suggested_response", sa.Text(), nullable=True),
        sa.Column("usage", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        postgresql_with={"fillfactor": 60},
    )
    op.create_index(
        "memories_due", "memories", ["due_at"], unique=False, postgresql_where=sa.text("due_at IS NOT NULL")
    )
    op.create_table(
        "memory_versions",
        sa.Column("memory_id", sa.Uuid(), nullable=False),
        sa.Column("version", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("anchor_date", sa.Date(), nullable=False),
        sa.Column("current_task", sa.Text(), nullable=True),
        sa.Column("suggested_response", sa.Text(), nullable=True),
        sa.Column("cursors", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.PrimaryKeyConstraint("memory_id", "version"),
    )
    op.create_table(
        "messages",
        sa.Column("session_id", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("id", sa.Text(collation="C"), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("parts", postgresql.JSON(astext_type=sa.Text()), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("tokens_before", sa.BigInteger(), nullable=False),
        sa.Column("content_hash", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ingested_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("metadata", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("observe", sa.Boolean(), nullable=False),
        sa.Column("trust", sa.Text(), nullable=False),
        sa.Column("erased_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("session_id", "seq"),
        sa.UniqueConstraint("session_id", "id", name="messages_by_id"),
    )
    op.create_table(
        "observations",
        sa.Column("memory_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("ordinal", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("items", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("message_tokens", sa.BigInteger(), nullable=False),
        sa.Column("session_id", sa.Uuid(), nullable=False),
        sa.Column("from_seq", sa.BigInteger(), nullable=False),
        sa.Column("to_seq", sa.BigInteger(), nullable=False),
        sa.Column("covers", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("current_task", sa.Text(), nullable=True),
        sa.Column("suggested_response", sa.Text(), nullable=True),
        sa.Column("born_version", sa.BigInteger(), nullable=True),
        sa.Column("retired_version", sa.BigInteger(), nullable=True),
        sa.Column("retired_by", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("memory_id", "id"),
    )
    op.create_index(
        "observations_live",
        "observations",
        ["memory_id", "session_id", "from_seq"],
        unique=True,
        postgresql_where=sa.text("status <> 'retired' OR retired_by = 'deleted'"),
    )
    op.create_table(
        "reflections",
        sa.Column("memory_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("items", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("source_tokens", sa.BigInteger(), nullable=False),
        sa.Column("from_seq", sa.BigInteger(), nullable=False),
        sa.Column("to_seq", sa.BigInteger(), nullable=False),
        sa.Column("covers", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("sources", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("born_version", sa.BigInteger(), nullable=False),
        sa.Column("retired_version", sa.BigInteger(), nullable=True),
        sa.Column("retired_by", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("memory_id", "id"),
    )
    op.create_index(
        "reflections_live",
        "reflections",
        ["memory_id", "level", "from_seq"],
        unique=False,
        postgresql_where=sa.text("status <> 'retired' OR retired_by = 'deleted'"),
    )
    op.create_table(
        "runs",
        sa.Column("memory_id", sa.Uuid(), nullable=False),
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("prompt_version", sa.Text(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("from_seq", sa.BigInteger(), nullable=True),
        sa.Column("to_seq", sa.BigInteger(), nullable=True),
        sa.Column("input_tokens", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("cached_input_tokens", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("cost_usd", sa.Float(), nullable=True),
        sa.Column("latency_ms", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("grounded_share", sa.Float(), nullable=True),
        sa.Column("rejected_output", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("memory_id", "id"),
    )
    op.create_index("runs_by_kind", "runs", ["memory_id", "kind", "id"], unique=False)
    op.create_table(
        "sessions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant", sa.Text(collation="C"), nullable=False),
        sa.Column("key", sa.Text(collation="C"), nullable=False),
        sa.Column("resource_id", sa.Text(collation="C"), nullable=True),
        sa.Column("memory_id", sa.Uuid(), nullable=False),
        sa.Column("next_seq", sa.BigInteger(), server_default=sa.text("1"), nullable=False),
        sa.Column("total_tokens", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("observed_seq", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("buffered_seq", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("tail_from_seq", sa.BigInteger(), server_default=sa.text("1"), nullable=False),
        sa.Column("anchor_date", sa.Date(), server_default=sa.text("CURRENT_DATE"), nullable=False),
        sa.Column("cold_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_active_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("actor_model", sa.Text(), nullable=True),
        sa.Column("actor_turns", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("actor_input_tokens", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("actor_cached_tokens", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("actor_output_tokens", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("config", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("metadata", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        postgresql_with={"fillfactor": 60},
    )
    op.create_index("sessions_by_key", "sessions", ["tenant", "key"], unique=False)
    op.create_index("sessions_by_resource", "sessions", ["tenant", "resource_id", "key"], unique=False)


def downgrade() -> None:
    op.drop_index("sessions_by_resource", table_name="sessions")
    op.drop_index("sessions_by_key", table_name="sessions")
    op.drop_table("sessions")
    op.drop_index("runs_by_kind", table_name="runs")
    op.drop_table("runs")
    op.drop_index(
        "reflections_live",
        table_name="reflections",
        postgresql_where=sa.text("status <> 'retired' OR retired_by = 'deleted'"),
    )
    op.drop_table("reflections")
    op.drop_index(
        "observations_live",
        table_name="observations",
        postgresql_where=sa.text("status <> 'retired' OR retired_by = 'deleted'"),
    )
    op.drop_table("observations")
    op.drop_table("messages")
    op.drop_table("memory_versions")
    op.drop_index("memories_due", table_name="memories", postgresql_where=sa.text("due_at IS NOT NULL"))
    op.drop_table("memories")
    op.execute("DROP SEQUENCE lease_epochs")
