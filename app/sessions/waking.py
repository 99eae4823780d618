"""When a memory becomes due: after an append, a replaced message, the end of a session, a change of its config.

A reason to look is also stored as a request, for an engine that has looked before and is about to settle. It ends a
wait, but neither a lease nor a back-off.
"""

from app.sessions.model import Kind, NewMessage, Role, text_of
from app.sessions.phrases import turns

CLOSING = frozenset({Kind.USER, Kind.TOOL_CALL, Kind.TOOL_RESULT})

# Not now(), which is the start of the transaction: a memory that became due since would be reported as idle.
DUE = "coalesce(m.due_at <= clock_timestamp(), false) AS due"

# Age of the oldest message of the session ``s`` that is not observed; 0: there is none.
PENDING_SECONDS = """coalesce((SELECT extract(epoch FROM now() - ingested_at) FROM messages
  WHERE session_id = s.id AND seq > s.observed_seq AND erased_at IS NULL AND kind <> 'summary'
  ORDER BY seq LIMIT 1), 0)::float8 AS pending_seconds"""


def woken(*, grown: str = "0", look: str = "true", early: str = "false") -> str:
    """The SET clause, in SQL, of an UPDATE of the memory ``m``. The arguments are SQL expressions.

    ``grown``: the added pending tokens; ``look``: whether it is due whatever they are; ``early``: whether what is
    buffered may be activated at once.
    """
    return f"""
    requested = CASE WHEN {early} THEN coalesce(nullif(m.requested, 'look'), 'activate')
                     WHEN {look} THEN coalesce(m.requested, 'look') ELSE m.requested END,
    requested_at = CASE WHEN {early} OR {look} THEN now() ELSE m.requested_at END,
    due_at = CASE WHEN m.pending_tokens + {grown} >= m.wake_tokens OR {look} OR ({early})
                  THEN CASE WHEN m.lease_owner IS NULL AND m.attempts = 0 THEN least(m.due_at, now())
                            ELSE coalesce(m.due_at, now()) END
                  ELSE m.due_at END"""


def ruled_anew(*, off: str) -> str:
    """The SET clause of an UPDATE of the memory ``m`` when its config changes; ``off``: SQL, whether it is disabled.

    A step under way then loses its lease, so that it records nothing.
    """
    return f"""
    requested = coalesce(m.requested, 'look'), requested_at = now(),
    lease_epoch = CASE WHEN {off} THEN nextval('lease_epochs') ELSE m.lease_epoch END,
    lease_owner = CASE WHEN {off} THEN NULL ELSE m.lease_owner END,
    lease_step = CASE WHEN {off} THEN NULL ELSE m.lease_step END,
    due_at = CASE WHEN m.lease_owner IS NULL OR {off} THEN now() ELSE m.due_at END"""


def is_reason_to_look(new: NewMessage) -> bool:
    """Whether the memory is to be looked at even below its thresholds.

    The message may close a group without adding tokens (memory-rules.md section 3, groups), or end a topic (3.5).
    """
    if new.kind is Kind.BOUNDARY:
        return True
    return new.role is Role.USER and turns(text_of(new.parts)) if new.observe else new.kind in CLOSING
