"""The SQL of retention rules: finds what is too old, and removes it (docs/decisions/0031)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from app.kit.db import Database, Tx
from app.sessions.model import Gone
from app.sessions.store import SILENT_SINCE

# Of the next sessions by id, those to delete whole, and others that have something too old. Their oldest message that
# is left decides: times ascend with the seqs, and messages are removed in that order.
_LOOK = """/* {name} */
SELECT CASE WHEN count(*) = $2 THEN (array_agg(s.id ORDER BY s.id DESC))[1] END AS last,
       array_agg(s.id) FILTER (WHERE s.goes) AS silent,
       array_agg(s.id) FILTER (
         WHERE NOT s.goes AND (s.rule->>'days')::float8 > 0
           AND m.seq < s.tail_from_seq AND m.seq <= s.observed_seq AND m.ingested_at < s.before) AS old
FROM (
  SELECT d.*, coalesce((d.rule->>'days')::float8 > 0 AND d.rule->>'keep' = 'nothing'
                       AND d.silent_since < d.before, false) AS goes
  FROM (
    SELECT l.*, $4::timestamptz - make_interval(secs => 86400 * (l.rule->>'days')::float8) AS before
    FROM (SELECT id, expired_seq, observed_seq, tail_from_seq, {silent_since} AS silent_since,
                 coalesce(config->'retention', $3::jsonb) AS rule
          FROM sessions WHERE id > $1 {only} ORDER BY id LIMIT $2) l
  ) d
) s LEFT JOIN LATERAL (
  SELECT seq, ingested_at FROM messages WHERE session_id = s.id AND seq = s.expired_seq + 1 LIMIT 1
) m ON true
"""

LOOK_AT_ALL = _LOOK.format(name="look_at_all", only="", silent_since=SILENT_SINCE)
LOOK_AT_RULED = _LOOK.format(
    name="look_at_ruled", only="AND config->'retention' IS NOT NULL", silent_since=SILENT_SINCE
)

LOCK = f"""/* lock_to_expire */
SELECT id, tenant, key, memory_id, config, {SILENT_SINCE} AS silent_since FROM sessions
WHERE id = $1 FOR UPDATE SKIP LOCKED
"""  # noqa: S608 - our own text

# The longest wait for a lock on a session that is to be deleted, or on what goes with it.
HURRY = "/* hurry_to_expire */ SELECT set_config('lock_timeout', '100ms', true)"

# Asked under the lock of the session, which an erasure takes too: the statement above may see the state before it.
IS_REBUILDING = "/* is_rebuilding */ SELECT rebuilding <> '[]' FROM memories WHERE id = $1"

# Unobserved messages stay, and so does the summary that the tail begins with. It goes when another has come, though its
# place was passed.
EXPIRE = """/* expire_messages */
WITH session AS (
  SELECT expired_seq, summary_seq, least(observed_seq, tail_from_seq - 1) AS last_seq FROM sessions WHERE id = $1
), old AS (
  SELECT expired_seq, coalesce(min(m.seq) FILTER (WHERE m.ingested_at >= $2) - 1, max(m.seq)) AS seq
  FROM session, LATERAL (SELECT seq, ingested_at FROM messages
                         WHERE session_id = $1 AND seq > expired_seq AND seq <= last_seq ORDER BY seq LIMIT $3) m
  GROUP BY expired_seq
), gone AS (
  UPDATE messages m SET parts = '[]', name = NULL, metadata = NULL, content_hash = '', erased_at = now()
  FROM session, old WHERE m.session_id = $1 AND m.seq IS DISTINCT FROM session.summary_seq AND m.erased_at IS NULL
    AND (m.seq > old.expired_seq AND m.seq <= old.seq OR m.kind = 'summary' AND m.seq <= old.expired_seq)
  RETURNING 1
), moved AS (
  UPDATE sessions SET expired_seq = old.seq FROM old WHERE id = $1
)
SELECT expired_seq + 1 AS from_seq, seq AS to_seq, (SELECT count(*) FROM gone) AS messages FROM old
"""

# As in an erasure (erasing_store.py), rejected outputs may quote messages. A call may be much later than the messages
# that it was shown, so it is found by these: of a session ($3) up to a seq ($4). Calls that were shown notes may quote
# any messages, and those of a session that has left the memory are found by the time ($2) alone.
_QUOTES = """memory_id = $1 AND (rejected_output IS NOT NULL OR error LIKE '%:%')
  AND (at < $2 OR from_seq IS NULL OR from_seq <= $4 AND coalesce(session_id, memory_id) = $3)"""

# The memory's last error, if it is one of these and its call was shown messages. That of a call that was shown notes
# stays: an operator has to read what is wrong.
EXPIRE_ERROR = f"""/* expire_error */
UPDATE memories SET last_error = last_error || '{{"message": ""}}' WHERE id = $1
  AND (last_error->>'at')::timestamptz IN (SELECT at FROM runs WHERE from_seq IS NOT NULL AND {_QUOTES})
"""  # noqa: S608 - our own text

EXPIRE_OUTPUTS = f"""/* expire_outputs */
UPDATE runs SET rejected_output = NULL, error = split_part(error, ':', 1) WHERE {_QUOTES}
"""  # noqa: S608 - our own text


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookout:
    """The sessions looked at that are ``silent`` for too long, and the others that have something too ``old``.

    ``last`` is None if there are no more.
    """

    last: UUID | None
    silent: tuple[UUID, ...]
    old: tuple[UUID, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Old:
    """A session that is locked. ``rebuilding``: messages behind the cursor are to be observed again."""

    id: UUID
    tenant: str
    key: str
    memory_id: UUID
    config: dict[str, Any]
    silent_since: datetime
    rebuilding: bool

    @property
    def gone(self) -> Gone:
        return Gone(tenant=self.tenant, sessions=(self.id,), keys=(self.key,), memories=(self.memory_id,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired:
    """Messages that were emptied: ``messages`` of ``from_seq`` to ``to_seq``, as some were already."""

    from_seq: int
    to_seq: int
    messages: int


class RetainingStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def look(self, after: UUID, limit: int, *, rule: dict[str, Any] | None, now: datetime) -> Lookout:
        """Look at the next ``limit`` sessions by id after ``after``; ``rule`` holds for those without their own."""
        statement = LOOK_AT_RULED if rule is None else LOOK_AT_ALL
        row = await self._database.fetchrow(statement, after, limit, rule, now)
        return Lookout(last=row["last"], silent=tuple(row["silent"] or ()), old=tuple(row["old"] or ()))

    @staticmethod
    async def hurry(tx: Tx) -> None:
        """From here on the transaction waits 100 ms for a lock, then raises LockNotAvailableError."""
        await tx.execute(HURRY)

    @staticmethod
    async def lock(tx: Tx, session_id: UUID) -> Old | None:
        """Lock the session; None if it is gone or locked: then its turn comes with the next look."""
        row = await tx.fetchrow(LOCK, session_id)
        if row is None:
            return None
        return Old(**row, rebuilding=bool(await tx.fetchval(IS_REBUILDING, row["memory_id"])))

    @staticmethod
    async def expire(tx: Tx, old: Old, *, before: datetime, limit: int) -> Expired | None:
        """Empty messages from before ``before``, at most ``limit``, oldest first. None if there are none."""
        row = await tx.fetchrow(EXPIRE, old.id, before, limit)
        if row is None or row["to_seq"] < row["from_seq"]:
            return None
        for statement in (EXPIRE_ERROR, EXPIRE_OUTPUTS):  # the memory is locked before its runs
            await tx.execute(statement, old.memory_id, before, old.id, row["to_seq"])
        return Expired(**row)
