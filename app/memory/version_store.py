"""The SQL that records a version of the log: its task, and the cursors of its sessions at that version.

A session's own memory keeps its one cursor in the version's row. A shared memory records only the cursors that moved
since the version before, so that the cost of a version depends on what changed (docs/decisions/0046).
"""

ADD_VERSION = """/* add_version */
INSERT INTO memory_versions (memory_id, version, cause, anchor_date, current_task, suggested_response, cursors)
SELECT m.id, m.log_version, $2, s.anchor_date, m.current_task, m.suggested_response,
       jsonb_build_object(s.id::text, jsonb_build_object('last_seq', s.next_seq - 1, 'observed_seq', s.observed_seq,
                                                         'activated_seq', s.activated_seq,
                                                         'tail_from_seq', s.tail_from_seq,
                                                         'summary_seq', s.summary_seq,
                                                         'compacted_seq', s.compacted_seq))
FROM memories m JOIN sessions s ON s.id = m.id WHERE m.id = $1
"""

# A session with new messages since the version before is still ``waiting``, or is one that this version moved ($3): no
# other has to be read. Appends wait for the memory's row, which is locked: a message that is not seen here came later.
ADD_SHARED_VERSION = """/* add_shared_version */
WITH stands AS (
  SELECT id, next_seq - 1 AS last_seq, observed_seq, activated_seq, tail_from_seq, summary_seq, compacted_seq,
         anchor_date
  FROM sessions WHERE memory_id = $1 AND waiting
  UNION
  SELECT id, next_seq - 1, observed_seq, activated_seq, tail_from_seq, summary_seq, compacted_seq, anchor_date
  FROM sessions WHERE id = ANY($3::uuid[])
), moved AS (
  INSERT INTO session_cursors (memory_id, session_id, version, last_seq, observed_seq, activated_seq, tail_from_seq,
                               summary_seq, compacted_seq, anchor_date)
  SELECT m.id, s.id, m.log_version, s.last_seq, s.observed_seq, s.activated_seq, s.tail_from_seq, s.summary_seq,
         s.compacted_seq, s.anchor_date
  FROM memories m CROSS JOIN stands s LEFT JOIN LATERAL (
    SELECT * FROM session_cursors WHERE memory_id = $1 AND session_id = s.id ORDER BY version DESC LIMIT 1
  ) c ON true
  WHERE m.id = $1 AND (c.last_seq, c.observed_seq, c.activated_seq, c.tail_from_seq, c.summary_seq, c.compacted_seq,
                       c.anchor_date)
    IS DISTINCT FROM (s.last_seq, s.observed_seq, s.activated_seq, s.tail_from_seq, s.summary_seq, s.compacted_seq,
                      s.anchor_date)
)
INSERT INTO memory_versions (memory_id, version, cause, anchor_date, current_task, suggested_response, cursors)
SELECT m.id, m.log_version, $2, greatest((SELECT max(anchor_date) FROM stands), (
         SELECT anchor_date FROM memory_versions WHERE memory_id = $1 ORDER BY version DESC LIMIT 1)), m.current_task,
       m.suggested_response, '{}'
FROM memories m WHERE m.id = $1
"""
