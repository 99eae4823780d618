"""The statements that read stored messages."""

from collections.abc import Sequence
from uuid import UUID

from app.kit.db import Database, Row, Tx
from app.sessions.errors import MessageErased, MessageNotFound
from app.sessions.model import Kind, Message, MessageFilter, Role, Trust
from app.sessions.store import SessionRecord

# The enums by value: a look-up takes a fifth of the enum's call, and a context makes three for each message.
KINDS = {kind.value: kind for kind in Kind}
ROLES = {role.value: role for role in Role}
TRUSTS = {trust.value: trust for trust in Trust}

# Reads one message after the other until the page has enough bytes, as Postgres has to read a json to tell its length.
# Of the messages that call no tool none is parsed: a page may look at ten thousand results of a megabyte.
# ``(SELECT $1)`` hides an argument from the planner, which would otherwise make a plan for each call.
_MESSAGES = """/* {name} */
WITH RECURSIVE page AS (
  SELECT {from_}::bigint AS seq, 0 AS place, 0::bigint AS bytes
  UNION ALL
  SELECT m.seq, page.place + 1, page.bytes + m.bytes
  FROM page, LATERAL (
    SELECT seq, octet_length(parts::text) + coalesce(octet_length(metadata::text), 0) AS bytes FROM messages
    WHERE session_id = (SELECT $1::uuid) AND seq {past} page.seq AND seq > (SELECT $2::bigint)
      AND seq < (SELECT $3::bigint)
      AND created_at >= (SELECT coalesce($4::timestamptz, '-infinity'))
      AND created_at < (SELECT coalesce($5::timestamptz, 'infinity'))
      AND ((SELECT $6::text) IS NULL OR kind = (SELECT $6::text))
      AND ((SELECT $7::text) IS NULL OR kind = 'tool_call' AND parts::jsonb @> jsonb_build_array(
           jsonb_build_object('type', 'tool_call', 'name', (SELECT $7::text))))
    ORDER BY seq {order} LIMIT 1
  ) m
  WHERE page.place < (SELECT $8::int) AND page.bytes < (SELECT $9::bigint)
)
SELECT m.*, page.bytes >= (SELECT $9::bigint) AS is_full
FROM page JOIN messages m ON m.session_id = (SELECT $1::uuid) AND m.seq = page.seq
WHERE page.place > 0 ORDER BY page.place
"""

MESSAGES = _MESSAGES.format(name="messages", from_="$2", past=">", order="ASC")
MESSAGES_BACK = _MESSAGES.format(name="messages_back", from_="$3", past="<", order="DESC")

MESSAGE = """/* message */
SELECT *, (SELECT greatest(observed_seq, buffered_seq) FROM sessions WHERE id = $1) AS sealed_seq
FROM messages WHERE session_id = $1 AND id = $2
"""

MESSAGES_BY_ID = """/* messages_by_id */
SELECT m.* FROM unnest((SELECT $2::text[])) AS i (id) CROSS JOIN LATERAL (
  SELECT * FROM messages WHERE session_id = (SELECT $1::uuid) AND id = i.id LIMIT 1
) m
"""


def message_of(row: Row, *, sealed_seq: int = 0) -> Message:
    return Message(
        seq=row["seq"],
        id=row["id"],
        kind=KINDS[row["kind"]],
        role=ROLES[row["role"]],
        parts=tuple(row["parts"]),
        tokens=row["tokens"],
        created_at=row["created_at"],
        name=row["name"],
        observe=row["observe"],
        sealed=row["seq"] <= sealed_seq,
        trust=TRUSTS[row["trust"]],
        metadata=row["metadata"] or {},
        content_hash=row["content_hash"],
        up_to_seq=row["up_to_seq"],
        erased_at=row["erased_at"],
    )


async def find_message(tx: Tx, session: UUID, message_id: str) -> Message | None:
    row = await tx.fetchrow(MESSAGE, session, message_id)
    return None if row is None else message_of(row, sealed_seq=row["sealed_seq"])


def existing(message: Message | None, key: str, message_id: str) -> Message:
    """The message, if it was found and is not erased. Raises MessageNotFound, MessageErased."""
    if message is None:
        raise MessageNotFound.by_id(key, message_id)
    if message.erased_at is not None:
        raise MessageErased(f"message '{message_id}' was erased")
    return message


class MessageStore:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def messages(
        self, session: SessionRecord, wanted: MessageFilter, *, limit: int, bytes_max: int
    ) -> tuple[list[Message], bool]:
        """Up to ``limit`` messages, and whether they end because the last one brings their JSON to ``bytes_max``."""
        rows = await self._database.fetch(
            MESSAGES_BACK if wanted.descending else MESSAGES,
            session.id,
            wanted.after,
            wanted.before,
            wanted.since,
            wanted.until,
            wanted.kind,
            wanted.tool,
            limit,
            bytes_max,
        )
        found = [message_of(row, sealed_seq=session.sealed_seq) for row in rows]
        return found, bool(rows) and rows[-1]["is_full"]

    async def message(self, session: UUID, message_id: str) -> Message | None:
        async with self._database.connection() as connection:
            return await find_message(connection, session, message_id)

    async def by_id(self, session: UUID, message_ids: Sequence[str]) -> dict[str, Message]:
        """The stored ones among ``message_ids``, by id. ``sealed`` is not looked up, and False."""
        rows = await self._database.fetch(MESSAGES_BY_ID, session, message_ids)
        return {row["id"]: message_of(row) for row in rows}
