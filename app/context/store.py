"""Reads a session for a context, as it is or was: one statement, one snapshot (architecture.md section 3).

The rows are the messages of the tail, the summary that it begins with, and last the head: three JSON values of session
and memory (``head``), facts and notes (``notes``; as ``jsonb`` it took Postgres five times as long), and the values of
templates (``state``). The summary leaves the messages the rest of the budget (``fitting.fitting_summary``).

- The start of the tail is found by binary search: seqs have no gaps and ``tokens_before`` never falls. So a tail of any
  length costs some twenty index look-ups besides the messages that are shown.
- A caller that has read the session before passes the ``mark`` of that state; if it still holds, a single empty row
  says so. One that expects it to hold asks for the mark alone first, which takes a few look-ups.
- A tail has at most ``MESSAGES_MAX`` messages, and ``BYTES_MAX`` of those over 4 kB, which have an index: reasoning
  counts no tokens, nor does a part whose sender says so, and a budget may be without a limit.
- In a shared memory only the sessions whose notes are shown are looked up (docs/sharing.md).
- ``OFFSET 0`` computes the middle before the look-up: under row-level security Postgres searches no index by an
  expression that might fail.
- ``(SELECT $1)`` hides a value from the planner, which would otherwise make a plan for each call; one generic plan is
  as good and saves a fifth of the call (docs/benchmarks/profile.md).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from app.facts.standing import standing, standing_mark
from app.kit.db import Database, Row
from app.memory.changing.moments import moment
from app.memory.rows import CONVERSATION, LIVE_NOW, LIVE_THEN, REFLECTION
from app.state.store import VALUES, scopes_and_names

CAUSES = 8  # of the last versions, to tell why the prefix broke
ELSEWHERE_SESSIONS, ELSEWHERE_MESSAGES = 5, 20  # sessions that share the memory, and messages of each, that are told
LOOK_BACK = 32  # messages read before the start, to find the start of its group
RUN_MAX = 200  # consecutive results, and calls before them: the read begins before the first of them
MESSAGES_MAX = 20_000  # a million tokens of messages of 50
BYTES_MAX = 32 * 1024 * 1024  # the largest request that the Messages API accepts (docs.anthropic.com, Errors)
ELSEWHERE_BYTES_MAX = 2 * 1024 * 1024  # of the messages of each other session

STATE = (
    f"CASE WHEN cardinality((SELECT $8::text[])) > 0 THEN ({VALUES.format(session='$1', scopes='$7', names='$8')}) END"
)

# A context depends on the session's row, the memory's row, the values that it asks for, and the facts of the session's
# resource (docs/decisions/0032). ``xmin`` is the transaction that last wrote a row. The time is for a database that was
# restored to an earlier state: its transactions get the numbers of lost ones.
MARK = "concat_ws('/', s.xmin, m.xmin, s.last_active_at, {facts}, ({state})::text) AS mark"
NOW = """
moment AS (
  SELECT {mark},
         s.memory_id, coalesce(m.log_version, 0) AS version, s.next_seq - 1 AS seq, m.current_task,
         m.suggested_response, s.observed_seq, s.activated_seq, s.tail_from_seq, s.compacted_seq, s.summary_seq,
         s.total_tokens, s.anchor_date, s.config, m.attempts, m.paused, m.pending_tokens,
         {rebuilding} AS rebuilding
  FROM sessions s LEFT JOIN memories m ON m.id = s.memory_id WHERE s.id = $1
)
"""

# The ranges to be observed again, and the messages in them that are not: erased ones, summaries, what no observer is
# shown. In a shared memory each range ends with its session.
REBUILDING = """CASE WHEN m.rebuilding <> '[]' THEN (
           SELECT jsonb_agg(jsonb_build_array(gap.first, gap.last, (
             SELECT coalesce(jsonb_agg(e.seq ORDER BY e.seq), '[]') FROM messages e
             WHERE e.session_id = s.id AND e.seq BETWEEN gap.first AND gap.last AND NOT e.observe)) ORDER BY gap.first)
           FROM jsonb_array_elements(m.rebuilding) AS held CROSS JOIN LATERAL (
             SELECT (held->>0)::bigint AS first, (held->>1)::bigint AS last OFFSET 0) AS gap
           WHERE coalesce(held->>2, s.id::text) = s.id::text) END"""

COLUMNS = """g.seq, g.id, g.kind, g.role, g.name, g.parts, g.tokens, g.tokens_before, g.created_at, g.observe, g.trust,
       g.metadata, g.content_hash, g.up_to_seq, g.erased_at"""
NULLS = ", ".join("NULL" for _ in COLUMNS.split(","))  # in the rows that are no messages

THEN = moment(session="$1", version="$10::bigint", seq="$11::bigint", timezone="$12")

READ = """/* {name} */
WITH RECURSIVE {moment}, ruled AS (
  SELECT *, coalesce((config->>'enabled')::bool, $6) AS enabled,
         coalesce($2, (config->>'message_budget')::bigint, ($3::jsonb->>(config->>'preset'))::bigint, $4) AS whole
  FROM moment {changed}
), session AS (
  SELECT r.*, CASE WHEN enabled THEN tail_from_seq ELSE compacted_seq + 1 END AS shown_from_seq, m.seq AS first_shown,
         whole - least(coalesce(m.tokens, 0), whole / 2) AS budget
  FROM ruled r LEFT JOIN messages m
    ON m.session_id = $1 AND m.seq = r.summary_seq AND (r.enabled OR r.compacted_seq > 0)
), seek (low, high) AS (
  SELECT shown_from_seq, CASE WHEN total_tokens - budget <= (
    SELECT tokens_before FROM messages WHERE session_id = $1 AND seq = shown_from_seq
  ) THEN shown_from_seq ELSE greatest(seq, shown_from_seq) END FROM session
  UNION ALL
  SELECT CASE WHEN fits THEN low ELSE middle + 1 END, CASE WHEN fits THEN middle ELSE high END
  FROM seek, session, LATERAL (SELECT (low + high) / 2 AS middle OFFSET 0) AS halved, LATERAL (
    SELECT whole = 0 OR tokens_before >= total_tokens - budget AS fits
    FROM messages WHERE session_id = $1 AND seq = middle
  ) AS looked
  WHERE low < high
), whole AS MATERIALIZED (
  SELECT greatest(shown_from_seq, coalesce(before_calls.seq + 1, before_results.seq, found.seq) - $5,
                  session.seq - {messages_max} + 1) AS seq
  FROM session CROSS JOIN (SELECT max(low) AS seq FROM seek) AS found LEFT JOIN LATERAL (
    SELECT seq FROM messages
    WHERE session_id = $1 AND seq BETWEEN found.seq - {run} AND found.seq AND kind <> 'tool_result'
    ORDER BY seq DESC LIMIT 1
  ) AS before_results ON found.seq > shown_from_seq LEFT JOIN LATERAL (
    SELECT seq FROM messages
    WHERE session_id = $1 AND seq >= before_results.seq - {run} AND seq < before_results.seq AND kind <> 'tool_call'
    ORDER BY seq DESC LIMIT 1
  ) AS before_calls ON true
), start AS (
  SELECT coalesce(fitting.seq, whole.seq) AS seq FROM session CROSS JOIN whole LEFT JOIN LATERAL (
    SELECT max(seq) + 1 AS seq FROM (
      SELECT seq, sum(bytes) OVER (ORDER BY seq DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_after
      FROM (SELECT seq, octet_length(parts::text) AS bytes FROM messages
            WHERE session_id = (SELECT $1) AND seq BETWEEN whole.seq AND session.seq
              AND octet_length(parts::text) > 4096 ORDER BY seq DESC LIMIT {messages_max}) AS large
    ) AS summed WHERE bytes_after >= {bytes_max}
  ) AS fitting ON true
)
SELECT {columns}, NULL::jsonb AS head, NULL::json AS notes, NULL::json AS state
FROM session s, start, LATERAL (
  SELECT * FROM messages
  WHERE session_id = (SELECT $1) AND seq BETWEEN start.seq AND s.seq AND kind <> 'summary' OFFSET 0
) AS g
UNION ALL
SELECT {columns}, NULL, NULL, NULL
FROM session s, messages g WHERE g.session_id = $1 AND g.seq = s.first_shown
UNION ALL
SELECT {nulls},
       to_jsonb(s) || jsonb_build_object(
         'causes', (SELECT jsonb_object_agg(version, cause) FROM memory_versions v
                    WHERE v.memory_id = s.memory_id AND v.version > s.version - {causes} AND v.version <= s.version),
         'summaries', (SELECT jsonb_agg(seq) FROM messages
                       WHERE session_id = (SELECT $1) AND kind = 'summary' AND seq BETWEEN s.shown_from_seq AND s.seq),
         'erased', (SELECT count(*) FROM messages
                    WHERE session_id = (SELECT $1) AND seq > s.observed_seq AND seq < (SELECT seq FROM start)
                      AND erased_at IS NOT NULL AND NOT observe),
         'tail_tokens_before', (SELECT tokens_before FROM messages WHERE session_id = $1 AND seq = s.shown_from_seq)
       ),
       json_build_object(
         'standing', ({standing}),
         'observations', (SELECT json_agg(o) FROM (
                            SELECT o.*, {conversation} FROM observations o
                            WHERE o.memory_id = s.memory_id AND {live}) AS o),
         'reflections', (SELECT json_agg(r) FROM (
                           SELECT {reflection}, s.memory_id <> $1 AS shared FROM reflections r
                           WHERE r.memory_id = s.memory_id AND {live}) AS r){elsewhere}),
       ({state})
FROM session s
"""

# One row of nothing says that the mark is still the same.
SAME = f"""
UNION ALL
SELECT {NULLS}, NULL, NULL, NULL FROM moment WHERE mark = $10
"""  # noqa: S608 - our own columns

CHANGED = "WHERE mark IS DISTINCT FROM $10"

COMMON = {
    "columns": COLUMNS,
    "nulls": NULLS,
    "run": RUN_MAX,
    "messages_max": MESSAGES_MAX,
    "bytes_max": BYTES_MAX,
    "standing": standing(session="$1", facts_max="$9"),
    "causes": CAUSES,
    "state": STATE,
    "conversation": CONVERSATION,
    "reflection": REFLECTION,
}

# In a shared memory: the last unobserved messages of the other sessions.
ELSEWHERE = f""",
         'elsewhere', CASE WHEN s.memory_id <> $1 THEN (
           SELECT json_agg(json_build_object('key', t.key, 'message', g) ORDER BY g.ingested_at, g.seq)
           FROM (SELECT id, key, observed_seq, next_seq - 1 AS last_seq FROM sessions o
                 WHERE o.memory_id = s.memory_id AND o.waiting AND o.id <> $1 AND o.next_seq - 1 > o.observed_seq
                 ORDER BY o.last_active_at DESC LIMIT {ELSEWHERE_SESSIONS}) t
           CROSS JOIN LATERAL (
             SELECT * FROM (
               SELECT *, sum(octet_length(parts::text)) OVER (ORDER BY seq DESC) AS bytes FROM (
                 SELECT * FROM messages g
                 WHERE g.session_id = t.id AND g.seq BETWEEN t.observed_seq + 1 AND t.last_seq
                   AND g.observe AND g.tokens <= (SELECT $11::int)
                 ORDER BY g.seq DESC LIMIT {ELSEWHERE_MESSAGES}) newest) summed
             WHERE bytes <= {ELSEWHERE_BYTES_MAX}) g) END"""  # noqa: S608 - our own numbers

SNAPSHOT = (
    READ.format(
        name="snapshot",
        moment=NOW.format(mark=MARK.format(state=STATE, facts=standing_mark(facts_max="$9")), rebuilding=REBUILDING),
        changed=CHANGED,
        live=LIVE_NOW,
        elsewhere=ELSEWHERE,
        **COMMON,
    )
    + SAME
)
_WAS_LIVE = LIVE_THEN.format(version="s.version")
PAST_SNAPSHOT = READ.format(name="past_snapshot", moment=THEN, changed="", live=_WAS_LIVE, elsewhere="", **COMMON)

_MARK_NOW = "/* {name} */ SELECT {mark} FROM sessions s LEFT JOIN memories m ON m.id = s.memory_id WHERE s.id = $1"
_FACTS = standing_mark(facts_max="$2")
MARK_NOW = _MARK_NOW.format(name="mark", mark=MARK.format(state="NULL", facts=_FACTS))
_STATE = VALUES.format(session="$1", scopes="$3", names="$4")
MARK_WITH_VALUES = _MARK_NOW.format(name="mark_with_values", mark=MARK.format(state=_STATE, facts=_FACTS))

NEWEST = """/* newest */
SELECT coalesce(m.log_version, 0) AS version, s.next_seq - 1 AS seq
FROM sessions s LEFT JOIN memories m ON m.id = s.memory_id WHERE s.id = $1
"""
STORED = "/* stored */ SELECT memory_id FROM sessions WHERE id = $1 AND next_seq > $2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A time in a session's past, by the version or the seq that was the newest then, or both (``moment``)."""

    version: int | None = None
    seq: int | None = None


PRESENT = Moment()


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """The message budget by precedence: the request's (``asked``), the session's, its preset's, the service's.

    ``enabled``: the service's setting, for a session without its own. While the memory is disabled the tail is the
    whole log, after a summary that needs no notes beside it. ``elsewhere``: the most tokens of a message of another
    session.
    """

    presets: Mapping[str, int]
    service: int
    enabled: bool
    asked: int | None = None
    elsewhere: int = 0


class ContextStore:
    def __init__(self, database: Database, *, facts_max: int = 0) -> None:
        """At most ``facts_max`` facts that were known when a session began are read; 0: none."""
        self._database = database
        self._facts_max = facts_max

    async def snapshot(
        self, session: UUID, budgets: Budgets, names: Collection[str] = (), *, known: str | None = None
    ) -> list[Row] | None:
        """The session as it is now, with at least as much of its tail as fits the budget; no rows: never seen.

        ``names`` are the values to read with it. None: nothing has changed since the read with the same names whose
        mark is ``known``.
        """
        arguments = self._arguments(session, budgets, names)
        rows = await self._database.fetch(SNAPSHOT, *arguments, known, budgets.elsewhere)
        return None if len(rows) == 1 and rows[0]["head"] is None else rows

    async def holds(self, session: UUID, mark: str, names: Collection[str] = ()) -> bool:
        """Whether the mark of an earlier read with these names is still that of the session."""
        statement = MARK_WITH_VALUES if names else MARK_NOW
        values = scopes_and_names(names) if names else ()
        return bool(await self._database.fetchval(statement, session, self._facts_max, *values) == mark)

    async def past(
        self, session: UUID, budgets: Budgets, moment: Moment, *, timezone: str, names: Collection[str]
    ) -> list[Row]:
        """The same at a moment of the past; no rows: no such moment. ``timezone`` dates a session without messages."""
        arguments = self._arguments(session, budgets, names)
        return await self._database.fetch(PAST_SNAPSHOT, *arguments, moment.version, moment.seq, timezone)

    def _arguments(self, session: UUID, budgets: Budgets, names: Collection[str]) -> tuple[Any, ...]:
        return (
            session,
            budgets.asked,
            dict(budgets.presets),
            budgets.service,
            LOOK_BACK,
            budgets.enabled,
            *scopes_and_names(names),
            self._facts_max,
        )

    async def newest(self, session: UUID) -> tuple[int, int]:
        """The newest version and seq; 0 and 0 of a session never seen."""
        row = await self._database.fetchrow(NEWEST, session)
        return (0, 0) if row is None else (row["version"], row["seq"])

    async def memory_with(self, session: UUID, seq: int) -> UUID | None:
        """The session's memory; None while the session, or its message ``seq``, is not stored."""
        found: UUID | None = await self._database.fetchval(STORED, session, seq)
        return found
