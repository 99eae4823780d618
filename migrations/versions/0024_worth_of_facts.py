"""What a fact is worth at the head of a session, when a plan is over, and since when a fact rests on several sources.

Facts that are there already get theirs from their words, by the rules of the day on which they are migrated: other
points than those of a later day order them otherwise, and do nothing else.
"""

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op

from app.facts.model import Category
from app.facts.worth import passes_at, worth

revision: str = "0024"
down_revision: str | None = "0023"
branch_labels: str | Sequence[str] | None = None
depends_on: str | Sequence[str] | None = None

ROWS = 1_000  # at once

WEIGHED = sa.text(
    "UPDATE facts SET worth = :worth, passes_at = :passes_at"
    " WHERE tenant = :tenant AND resource_id = :resource_id AND id = :id"
)


def upgrade() -> None:
    time = sa.DateTime(timezone=True)
    op.add_column("facts", sa.Column("worth", sa.SmallInteger(), server_default=sa.text("1"), nullable=False))
    op.add_column("facts", sa.Column("passes_at", time, nullable=True))
    op.add_column("facts", sa.Column("confirmed_at", time, nullable=True))
    op.execute("UPDATE facts SET confirmed_at = updated_at WHERE jsonb_array_length(sources) > 1")
    connection = op.get_bind()
    known = connection.execute(sa.text("SELECT tenant, resource_id, id, text, category FROM facts"))
    for rows in known.mappings().partitions(ROWS):
        connection.execute(WEIGHED, [_weighed(dict(row)) for row in rows])


def _weighed(row: dict[str, str]) -> dict[str, object]:
    text, category = row.pop("text"), Category(row.pop("category"))
    return {**row, "worth": worth(text, category), "passes_at": passes_at(text, category)}


def downgrade() -> None:
    for column in ("confirmed_at", "passes_at", "worth"):
        op.drop_column("facts", column)
