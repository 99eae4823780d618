"""Prepares a database for search beside its tables: pgvector for vectors, and a function under row-level security."""

import asyncpg

from app.kit.db import EVERY_TENANT, TENANT_SETTING, DatabaseConfig, connected
from app.kit.errors import StartError, first_line
from app.recall.store import GUARDED, HAVING

HAS_EXTENSION = "/* has_vector */ SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'vector')"

# Without the lock two processes that create it at once get a unique violation in spite of IF NOT EXISTS.
MAKE_EXTENSION = "SELECT pg_advisory_xact_lock(7235012); CREATE EXTENSION IF NOT EXISTS vector"

# Under row-level security a search cannot use the index: the full-text operator may raise (it is not leakproof), so
# Postgres applies the policy to each message first. This function runs with its owner's rights, and returns sessions of
# the current tenant alone (app/commands/securing.py makes it).
GUARDED_SIGNATURE = f"{GUARDED}(uuid[], tsquery)"
GUARDED_FUNCTION = f"""
CREATE OR REPLACE FUNCTION {GUARDED_SIGNATURE}
RETURNS TABLE (session_id uuid, seq bigint, repeated jsonb, created_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = {{schema}}, pg_temp AS $$
WITH own AS MATERIALIZED (
  SELECT id FROM sessions
  WHERE id = ANY ($1) AND current_setting('{TENANT_SETTING}', true) IN (tenant, '{EVERY_TENANT}')
)
SELECT * FROM ({HAVING.format(query="$2")}) AS t WHERE t.session_id IN (SELECT id FROM own)
$$
"""  # noqa: S608 - our own names

MAY_SEARCH = f"SELECT coalesce(has_function_privilege(to_regprocedure('{GUARDED_SIGNATURE}'), 'EXECUTE'), false)"


async def prepare_vectors(config: DatabaseConfig, *, make: bool) -> None:
    """Check that the database has pgvector, and ``make`` it if it does not. Raises StartError if it cannot be had."""
    try:
        async with connected(config.url) as connection:
            if make:
                await connection.execute(MAKE_EXTENSION)
            there = await connection.fetchval(HAS_EXTENSION)
    except asyncpg.PostgresError as error:
        raise StartError(f"DAYBOOK_EMBEDDINGS__PROVIDER needs pgvector: {first_line(error)}") from error
    if not there:
        raise StartError("DAYBOOK_EMBEDDINGS__PROVIDER needs pgvector: let its owner run `daybook migrate` with it set")


async def check_search(config: DatabaseConfig) -> None:
    """Check that a service under row-level security may search messages. Raises StartError."""
    async with connected(config.url) as connection:
        may = await connection.fetchval(MAY_SEARCH)
    if not may:
        raise StartError(
            f"DAYBOOK_ROW_LEVEL_SECURITY: the user of DAYBOOK_DATABASE_URL may not call {GUARDED}:"
            " let the owner of the tables run `daybook migrate --row-level-security ROLE` again"
        )
