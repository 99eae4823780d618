"""The SQL of the queue's backlog: of all tenants for ``/metrics`` and ``doctor``, of one for ``/overview``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

from app.kit.db import Database, Row
from app.memory.status import MemoryStatus, memory_status
from app.sessions.model import QueueState

WAITING_MAX = 1_000  # sessions of one shared memory among which the oldest message is looked up
OWN_MAX, OWN_WAITING_MAX = 1_000, 20  # for one tenant: memories due, and as many not yet due; sessions of a shared one
OF_QUEUE = [field.name for field in fields(QueueState)]  # each is a column of a backlog
CAUSES_MAX, FAILED_MAX = 10, 5  # causes of failures in the answer, and sessions of each

# Memories grouped by what ``memory_status`` reads and by the age of their oldest message not observed: of a shared
# memory, among so many waiting sessions. MATERIALIZED, so that each age is looked up once.
_BACKLOG = """/* {name} */
WITH waiting AS ({waiting}), looked AS MATERIALIZED (
  SELECT m.*, coalesce((SELECT extract(epoch FROM now() - min((SELECT ingested_at FROM messages
                                                               WHERE session_id = s.id AND seq = s.observed_seq + 1)))
                        FROM (SELECT id, observed_seq FROM sessions WHERE id = m.id
                              UNION ALL (SELECT id, observed_seq FROM sessions WHERE memory_id = m.id AND waiting
                                         LIMIT {sessions_max})) AS s), 0)::float8 AS seconds
  FROM waiting m
)
SELECT due_at <= now() AS due, max(due_at) AS due_at, lease_owner IS NOT NULL AS leased, lease_step, attempts, paused,
  width_bucket(seconds, $2::float8[]) AS age, count(*) AS memories, sum(pending_tokens)::bigint AS pending_tokens,
  max(seconds) AS seconds, greatest(extract(epoch FROM now() - min(due_at)), 0)::float8 AS late_seconds
FROM looked GROUP BY due, leased, lease_step, attempts, paused, age
"""

# Of all tenants, the longest due first.
BACKLOG = _BACKLOG.format(
    name="backlog",
    waiting="SELECT * FROM memories WHERE due_at IS NOT NULL ORDER BY due_at LIMIT $1",
    sessions_max=WAITING_MAX,
)

# Of one tenant, so many memories that are due, and as many that come later: claimed, failed or paused. So failed ones
# are seen however many are due. The planner sees the number, but not the tenant (sessions/store.py).
_OWN_WAITING = f"""
  (SELECT * FROM memories WHERE tenant = (SELECT $1::text) AND due_at <= now() ORDER BY due_at LIMIT {OWN_MAX})
  UNION ALL
  (SELECT * FROM memories WHERE tenant = (SELECT $1) AND due_at > now() ORDER BY due_at LIMIT {OWN_MAX})"""  # noqa: S608 - our own number

OWN_BACKLOG = _BACKLOG.format(name="own_backlog", waiting=_OWN_WAITING, sessions_max=OWN_WAITING_MAX)

# The causes of failures, those of most memories first, each with the sessions that failed most often.
FAILING = f"""/* failing */
WITH waiting AS ({_OWN_WAITING}), failing AS (
  SELECT m.*, count(*) OVER cause AS memories, max(attempts) OVER cause AS attempts_max,
    max(last_error ->> 'at') OVER cause AS last_at, min(due_at) OVER cause AS next_at,
    row_number() OVER (PARTITION BY last_error ->> 'step', last_error ->> 'kind' ORDER BY attempts DESC, id) AS place
  FROM waiting m WHERE attempts > 0 AND last_error IS NOT NULL
  WINDOW cause AS (PARTITION BY last_error ->> 'step', last_error ->> 'kind')
), told AS (
  SELECT *, dense_rank() OVER (ORDER BY memories DESC, last_error ->> 'step', last_error ->> 'kind') AS rank
  FROM failing WHERE place <= {FAILED_MAX}
)
SELECT m.last_error, m.memories, m.attempts_max, m.last_at, m.next_at, m.rank,
  coalesce(m.last_error ->> 'session', s.key) AS session
FROM told m LEFT JOIN LATERAL (SELECT key FROM sessions WHERE memory_id = m.id LIMIT 1) s ON true
WHERE m.rank <= {CAUSES_MAX} ORDER BY m.rank, m.place
"""  # noqa: S608 - our own numbers

TROUBLED = """/* troubled */
SELECT s.key, CASE WHEN m.scope = 'resource' THEN s.resource_id END AS resource_id, m.attempts, m.last_error
FROM memories m CROSS JOIN LATERAL (SELECT key, resource_id FROM sessions WHERE memory_id = m.id LIMIT 1) s
WHERE m.due_at IS NOT NULL AND m.attempts > 0 ORDER BY m.attempts DESC, s.key LIMIT $1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusTotals:
    """The memories of one status, their tokens not yet observed, and the age of the oldest such message."""

    memories: int = 0
    pending_tokens: int = 0
    oldest_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """``pending_tokens`` is a histogram by age: one number below each bound, and one over the last.

    ``due`` memories can be claimed now, the first of them since ``late_seconds``.
    """

    by_status: Mapping[MemoryStatus, StatusTotals]
    pending_tokens: tuple[int, ...]
    due: int
    late_seconds: float

    @property
    def memories(self) -> Mapping[MemoryStatus, int]:
        return {status: found.memories for status, found in self.by_status.items()}

    @property
    def oldest_seconds(self) -> float:
        return max((found.oldest_seconds for found in self.by_status.values()), default=0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    """A cause of failures: the error of one of its memories, their number, and the sessions that failed most often.

    ``last_at``: the last failure; ``next_at``: the next retry.
    """

    error: Mapping[str, Any]
    memories: int
    attempts: int
    last_at: str
    next_at: datetime
    sessions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Troubled:
    """A memory of a session, or of a resource's sessions, whose last ``attempts`` steps failed."""

    key: str
    resource_id: str | None
    attempts: int
    error: str


class BacklogStore:
    def __init__(self, database: Database, *, attempts_max: int) -> None:
        """``attempts_max``: failures in a row at which a memory has stalled."""
        self._database = database
        self._attempts_max = attempts_max

    async def backlog(self, *, ages: Sequence[float], limit: int) -> Backlog:
        """The backlog of all tenants, of at most ``limit`` memories; ``ages`` are ascending seconds."""
        rows = await self._database.fetch(BACKLOG, limit, ages)
        return _backlog_of(rows, ages, attempts_max=self._attempts_max)

    async def own_backlog(self, tenant: str, *, ages: Sequence[float]) -> Backlog:
        """The backlog of one tenant, over ``OWN_MAX`` memories that are due and as many that are not yet."""
        rows = await self._database.fetch(OWN_BACKLOG, tenant, ages)
        return _backlog_of(rows, ages, attempts_max=self._attempts_max)

    async def failing(self, tenant: str) -> list[Failing]:
        """The causes for which memories of ``own_backlog`` fail, those of most memories first."""
        rows = await self._database.fetch(FAILING, tenant)
        return [_failing_of(list(found)) for _, found in groupby(rows, key=itemgetter("rank"))]

    async def troubled(self, limit: int) -> list[Troubled]:
        """The memories that are stalled or backing off, those that failed most often first."""
        rows = await self._database.fetch(TROUBLED, limit)
        return [_troubled_of(row) for row in rows]


def _backlog_of(rows: Sequence[Row], ages: Sequence[float], *, attempts_max: int) -> Backlog:
    by_status, tokens = dict[MemoryStatus, StatusTotals](), [0] * (len(ages) + 1)
    for row in rows:
        state = QueueState(**{name: row[name] for name in OF_QUEUE})
        status = memory_status(state, enabled=True, attempts_max=attempts_max)
        former = by_status.get(status, StatusTotals())
        by_status[status] = StatusTotals(
            memories=former.memories + row["memories"],
            pending_tokens=former.pending_tokens + row["pending_tokens"],
            oldest_seconds=max(former.oldest_seconds, row["seconds"]),
        )
        tokens[row["age"]] += row["pending_tokens"]
    due = [row for row in rows if row["due"]]
    return Backlog(
        by_status=by_status,
        pending_tokens=tuple(tokens),
        due=sum(row["memories"] for row in due),
        late_seconds=max((row["late_seconds"] for row in due), default=0.0),
    )


def _failing_of(rows: Sequence[Row]) -> Failing:
    first = rows[0]
    return Failing(
        error=first["last_error"],
        memories=first["memories"],
        attempts=first["attempts_max"],
        last_at=first["last_at"],
        next_at=first["next_at"],
        sessions=tuple(dict.fromkeys(row["session"] for row in rows if row["session"] is not None)),
    )


def _troubled_of(row: Row) -> Troubled:
    error = row["last_error"] or {}
    return Troubled(
        key=row["key"],
        resource_id=row["resource_id"],
        attempts=row["attempts"],
        error=f"{error.get('step')}: {error.get('kind')}: {error.get('message')}",
    )
