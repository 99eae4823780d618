"""The SQL of refusals and corrections (rereading.py).

They are kept in the table of facts, in rows that are not facts: by the extractor, and without a text. Their only source
names the session and the messages. Callers hold the lock of the resource's facts.
"""

from collections.abc import Iterable, Sequence
from uuid import UUID

from app.facts.forgetting import Correction
from app.facts.model import Category, Source, source_from_json, source_to_json
from app.facts.rereading import Overrides, is_refusal, refusal
from app.kit.db import Row, Tx
from app.sessions.model import Trust

IS_HIDDEN = "(author = 'extractor' AND text = '')"

HIDDEN = f"""/* hidden_facts */
SELECT * FROM facts
WHERE tenant = $1 AND resource_id = $2 AND {IS_HIDDEN} AND sources->0->>'session_id' = ANY($3::text[]) ORDER BY id
"""  # noqa: S608 - our own text

# The refusals of the sessions that a branch descends from, for messages that it has copied, also if these were erased
# in the former alone, by their retention. ``seq``: the last message that it has of each.
OF_FORMER = f"""/* unwanted_of_former */
WITH RECURSIVE line AS (
  SELECT id, tenant, resource_id, branched_from, branched_at_seq, created_at, NULL::bigint AS seq FROM sessions
  WHERE id = $1
  UNION ALL
  SELECT p.id, p.tenant, p.resource_id, p.branched_from, p.branched_at_seq, p.created_at,
         least(l.seq, l.branched_at_seq)
  FROM line l JOIN sessions p ON p.tenant = l.tenant AND p.key = l.branched_from AND p.created_at < l.created_at
), former AS (
  SELECT l.id, of.seq::bigint AS seq FROM line l
  CROSS JOIN LATERAL (
    SELECT sources->0 AS source FROM facts
    WHERE tenant = l.tenant AND resource_id = l.resource_id AND {IS_HIDDEN} AND sources->0->>'session_id' = l.id::text
      AND sources->0->>'category' IS NULL OFFSET 0
  ) AS f CROSS JOIN LATERAL jsonb_array_elements_text(f.source->'cites') AS of (seq)
  WHERE of.seq::bigint <= l.seq
)
SELECT f.seq FROM former f CROSS JOIN LATERAL (
  SELECT content_hash, erased_at FROM messages WHERE session_id = f.id AND seq = f.seq LIMIT 1
) AS said CROSS JOIN LATERAL (
  SELECT content_hash FROM messages WHERE session_id = $1 AND seq = f.seq LIMIT 1
) AS copy WHERE said.content_hash = copy.content_hash OR said.erased_at IS NOT NULL
"""  # noqa: S608 - our own text

HIDE = """/* hide_fact */
INSERT INTO facts (tenant, resource_id, text, category, trust, author, sources, valid_from, valid_to)
VALUES ($1, $2, '', $3, $4, 'extractor', $5, 'epoch', $6)
"""

DELETE_HIDDEN = f"""/* forget_hidden_fact */
DELETE FROM facts WHERE tenant = $1 AND resource_id = $2 AND id = ANY($3::bigint[]) AND {IS_HIDDEN}
"""  # noqa: S608 - our own text

# The branches of a session, and theirs, with those of some messages that they have with the same content. One that
# retention erased in the session alone counts as the same too, as nothing tells that it is not.
ALIKE = """/* said_alike */
WITH RECURSIVE line AS (
  SELECT id, tenant, key, created_at, NULL::bigint AS last_seq FROM sessions WHERE id = $1
  UNION ALL
  SELECT s.id, s.tenant, s.key, s.created_at, least(l.last_seq, s.branched_at_seq) FROM line l
  JOIN sessions s ON s.tenant = l.tenant AND s.branched_from = l.key AND s.created_at > l.created_at
)
SELECT l.id, l.key, array_agg(of.seq) AS seqs FROM line l JOIN unnest($2::bigint[]) AS of (seq) ON of.seq <= l.last_seq
CROSS JOIN LATERAL (
  SELECT content_hash, erased_at FROM messages WHERE session_id = $1 AND seq = of.seq LIMIT 1
) AS said CROSS JOIN LATERAL (
  SELECT content_hash FROM messages WHERE session_id = l.id AND seq = of.seq AND erased_at IS NULL LIMIT 1
) AS copy WHERE said.content_hash = copy.content_hash OR said.erased_at IS NOT NULL
GROUP BY l.id, l.key
"""

# A message that is replaced says something else then, so facts may be noted from it again.
WANTED_AGAIN = f"""/* wanted_again */
UPDATE facts f SET sources = jsonb_set(f.sources, '{{0,cites}}', (
  SELECT coalesce(jsonb_agg(seq), '[]') FROM jsonb_array_elements(f.sources->0->'cites') AS seq
  WHERE seq <> to_jsonb($2::bigint)))
FROM sessions s
WHERE s.id = $1 AND f.tenant = s.tenant AND f.resource_id = s.resource_id AND {IS_HIDDEN}
  AND f.sources->0->>'session_id' = s.id::text AND f.sources->0->'cites' @> to_jsonb($2::bigint)
RETURNING s.tenant, s.resource_id
"""  # noqa: S608 - our own text

# A correction of a fact from an erased or replaced message applies no longer.
FORGET_CORRECTED = f"""/* forget_corrected */
DELETE FROM facts f USING sessions s
WHERE s.id = $1 AND f.tenant = s.tenant AND f.resource_id = s.resource_id AND {IS_HIDDEN}
  AND f.sources->0->>'session_id' = s.id::text AND f.sources->0->>'category' IS NOT NULL
  AND f.sources->0->'cites' @> to_jsonb($2::bigint)
"""  # noqa: S608 - our own text

FORGET_HIDDEN = f"""/* forget_hidden */
WITH hidden AS MATERIALIZED (
  SELECT f.tenant, f.resource_id, f.id FROM sessions s CROSS JOIN LATERAL (
    SELECT tenant, resource_id, id FROM facts
    WHERE tenant = s.tenant AND resource_id = s.resource_id AND {IS_HIDDEN} AND sources->0->>'session_id' = s.id::text
    OFFSET 0
  ) AS f WHERE s.id = ANY($1::uuid[])
)
DELETE FROM facts f USING hidden h WHERE f.tenant = h.tenant AND f.resource_id = h.resource_id AND f.id = h.id
"""  # noqa: S608 - our own text


# Of each session that was read further than it is now, or whose deleted parent was, the messages in between: what was
# noted of them is deleted, or one was replaced. Messages that were never read are not among them.
TO_READ_AGAIN = """/* facts_to_read_again */
SELECT s.id AS session_id, s.key, said.seqs
FROM sessions s CROSS JOIN LATERAL (
  SELECT array_agg(seq) AS seqs FROM messages
  WHERE session_id = s.id AND seq > s.facts_seq AND seq <= s.facts_again_seq AND observe AND erased_at IS NULL
) AS said
WHERE s.tenant = $1 AND s.resource_id = $2 AND s.facts_seq < s.facts_again_seq AND said.seqs IS NOT NULL
"""


async def overrides_of(tx: Tx, tenant: str, resource_id: str, session: UUID) -> Overrides:
    """The refusals and corrections of a session; for a branch also refusals of the sessions that it descends from."""
    rows = await tx.fetch(HIDDEN, tenant, resource_id, [str(session)])
    found = [_correction_of(row) for row in rows]
    former = [row["seq"] for row in await tx.fetch(OF_FORMER, session)]
    return Overrides(
        unwanted=frozenset([*former, *(seq for one in found if is_refusal(one) for seq in one.source.cites)]),
        corrections=tuple(one for one in found if not is_refusal(one)),
    )


async def refuse(tx: Tx, tenant: str, resource_id: str, sources: Iterable[Source]) -> None:
    """Record that nothing is noted again from the messages of these sources, however often they are read."""
    taken = [source for source in sources if source.text is not None and source.cites]
    sessions = {source.session_id: source for source in taken}
    if not sessions:
        return
    rows = await tx.fetch(HIDDEN, tenant, resource_id, [str(session) for session in sessions])
    former = [one for one in map(_correction_of, rows) if is_refusal(one)]
    await delete(tx, tenant, resource_id, former)
    for session, source in sessions.items():
        refused = [*taken, *(one.source for one in former)]
        cites = sorted({seq for one in refused if one.session_id == session for seq in one.cites})
        await add(tx, tenant, resource_id, [refusal(session, source.session, cites)])


async def to_read_again(tx: Tx, tenant: str, resource_id: str) -> list[Source]:
    """The messages of the resource's sessions that are to be read again, as a source for each session."""
    rows = await tx.fetch(TO_READ_AGAIN, tenant, resource_id)
    return [refusal(row["session_id"], row["key"], row["seqs"]).source for row in rows]


async def add(tx: Tx, tenant: str, resource_id: str, corrections: Iterable[Correction]) -> None:
    """Write corrections, to apply when their facts are noted again."""
    for one in corrections:
        columns = (one.category, one.trust, [source_to_json(one.source)], one.valid_to)
        await tx.execute(HIDE, tenant, resource_id, *columns)


async def restore(tx: Tx, tenant: str, resource_id: str, session: UUID, key: str, overrides: Overrides) -> None:
    """Write refusals and corrections for the session."""
    await refuse(tx, tenant, resource_id, [refusal(session, key, sorted(overrides.unwanted)).source])
    await add(tx, tenant, resource_id, overrides.corrections)


async def delete(tx: Tx, tenant: str, resource_id: str, corrections: Sequence[Correction]) -> None:
    """Delete corrections that were applied, as their facts were noted again."""
    await tx.execute(DELETE_HIDDEN, tenant, resource_id, [one.id for one in corrections])


async def alike(tx: Tx, session: UUID, seqs: Iterable[int]) -> list[Row]:
    """The branches, of any depth, that have some of these messages with the same content: ``id``, ``key``, ``seqs``."""
    rows: list[Row] = await tx.fetch(ALIKE, session, list(seqs))
    return rows


async def allow(tx: Tx, session: UUID, seq: int) -> None:
    """Let facts be noted from a message again, because it is being replaced; from its copies in branches none are."""
    owner = await tx.fetchrow(WANTED_AGAIN, session, seq)
    if owner is not None:
        copies = [refusal(row["id"], row["key"], [seq]).source for row in await alike(tx, session, [seq])]
        await refuse(tx, owner["tenant"], owner["resource_id"], copies)


async def forget_corrections(tx: Tx, session: UUID, seq: int) -> None:
    """Delete the corrections of facts from a message, because it was erased or replaced."""
    await tx.execute(FORGET_CORRECTED, session, seq)


async def forget_sessions(tx: Tx, sessions: Sequence[UUID]) -> None:
    await tx.execute(FORGET_HIDDEN, sessions)


def _correction_of(row: Row) -> Correction:
    return Correction(
        id=row["id"],
        source=source_from_json(row["sources"][0]),
        category=Category(row["category"]),
        trust=Trust(row["trust"]),
        valid_to=row["valid_to"],
    )
