"""A moment in a session's past, as common table expressions for other statements (docs/decisions/0013).

A moment is the time in which a version of the log and a seq were both the newest. A version is recorded under the
session's lock with the seq that was the newest then, so their order is known. By the version alone a moment is that of
its recording; by the seq alone it is the last before the next message. Within a moment only the config can change: it
counts as it was at the end.
"""

# The cursor of a session when a version was recorded, as JSON; null if the memory had none of it yet. A shared memory
# records it only when it has moved.
_CURSOR = """coalesce({version}.cursors->{session}::text, (
    SELECT to_jsonb(c) FROM session_cursors c
    WHERE c.memory_id = {version}.memory_id AND c.session_id = {session} AND c.version <= {version}.version
    ORDER BY c.version DESC LIMIT 1))"""

# ``recorded``: the version of the moment, if it is not 0, and the seq; of a shared memory it may be from before the
# session came to it. ``moment``: one row, or none where there never was such a moment. The anchor moves with a version,
# or with a message, which carries it.
_MOMENT = """
recorded AS MATERIALIZED (
  SELECT s.id, s.memory_id, coalesce(s.began_at, s.created_at) AS began_at, coalesce(v.version, 0) AS version, v.at,
         v.anchor_date, v.current_task, v.suggested_response, coalesce(v.cursor, '{{}}') AS cursor,
         coalesce((v.cursor->>'last_seq')::bigint, 0) AS last_seq,
         coalesce({seq}, (v.cursor->>'last_seq')::bigint, 0) AS seq
  FROM sessions s LEFT JOIN LATERAL (
    SELECT r.version, r.at, r.anchor_date, r.current_task, r.suggested_response, {then} AS cursor
    FROM memory_versions r WHERE r.memory_id = s.memory_id
      AND CASE WHEN {version} IS NULL THEN coalesce(({then}->>'last_seq')::bigint, 0) <= {seq}
               ELSE r.version = {version} END
    ORDER BY r.version DESC LIMIT 1
  ) v ON true
  WHERE s.id = {session} AND coalesce({seq}, 0) < s.next_seq
    AND coalesce(v.version, 0) = coalesce({version}, v.version, 0)
), moment AS MATERIALIZED (
  SELECT r.id, r.memory_id, r.version, r.seq, r.current_task, r.suggested_response,
         coalesce((r.cursor->>'observed_seq')::bigint, 0) AS observed_seq,
         coalesce((r.cursor->>'activated_seq')::bigint, 0) AS activated_seq,
         coalesce((r.cursor->>'tail_from_seq')::bigint, 1) AS tail_from_seq,
         coalesce((r.cursor->>'compacted_seq')::bigint, 0) AS compacted_seq,
         (r.cursor->>'summary_seq')::bigint AS summary_seq,
         coalesce(m.tokens_before + CASE WHEN m.kind = 'summary' THEN 0 ELSE m.tokens END, 0) AS total_tokens,
         CASE WHEN r.seq > r.last_seq THEN m.ingested_at ELSE coalesce(r.at, r.began_at) END AS at,
         CASE WHEN r.seq > r.last_seq THEN m.anchor_date
              ELSE coalesce((r.cursor->>'anchor_date')::date, r.anchor_date,
                            (r.began_at AT TIME ZONE {timezone})::date) END AS anchor_date,
         coalesce((SELECT c.config FROM session_configs c
                   WHERE c.session_id = r.id AND c.from_seq - 1 <= r.seq AND c.version <= r.version
                   ORDER BY c.number DESC LIMIT 1), '{{}}') AS config
  FROM recorded r LEFT JOIN messages m ON m.session_id = r.id AND m.seq = r.seq
  WHERE r.seq >= r.last_seq AND r.seq <= coalesce((
    SELECT ({next}->>'last_seq')::bigint FROM memory_versions n
    WHERE n.memory_id = r.memory_id AND n.version > r.version ORDER BY n.version LIMIT 1), r.seq)
)
"""


def cursor(*, version: str, session: str) -> str:
    """``version`` is a row of ``memory_versions`` by its name in the statement, ``session`` the id."""
    return _CURSOR.format(version=version, session=session)


def moment(*, session: str, version: str, seq: str, timezone: str) -> str:
    """All are SQL; ``version`` or ``seq`` may be null, and ``timezone`` dates a session without messages."""
    then, following = cursor(version="r", session="s.id"), cursor(version="n", session="r.id")
    return _MOMENT.format(session=session, version=version, seq=seq, timezone=timezone, then=then, next=following)
