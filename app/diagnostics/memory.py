"""Builds the answer of ``/memory`` from the row that the store reads for it (api.md, Memory)."""

from dataclasses import asdict
from typing import Any

from app.diagnostics.coverage import REBUILDING, SKIP, Covered, coverage
from app.kit.db import Row
from app.memory.model import Status
from app.memory.ranges import ranges_of
from app.memory.rules import Rules
from app.memory.spending import Account, Accounts, Cap, Caps, allowance
from app.memory.status import MemoryStatus, memory_status
from app.sessions.store import queue_state_of

ROLES = ("observer", "reflector")
RETRIES = frozenset({MemoryStatus.BACKING_OFF, MemoryStatus.STALLED, MemoryStatus.PAUSED})


def memory_told(row: Row, rules: Rules, *, attempts_max: int) -> dict[str, Any]:
    """The fields of a ``MemoryOut`` that the row has: all but observer, reflector and spending."""
    status = memory_status(queue_state_of(row), enabled=rules.enabled, attempts_max=attempts_max)
    return {
        "session": row["key"],
        "scope": row["scope"] or rules.scope,
        "enabled": rules.enabled,
        "status": status,
        "cursor": {name: row[name] for name in ("observed_seq", "buffered_seq", "last_seq", "tail_from_seq")},
        "pending": {
            "messages": _pending(row),
            "tokens": row["pending_tokens"] or 0,
            "seconds": int(row["pending_seconds"]),
        },
        "thresholds": {
            "observe_at": rules.message_tokens,
            "buffer_every": rules.buffer_tokens,
            "reflect_at": rules.observation_tokens,
            "consolidate_at": rules.consolidate_at,
        },
        "coverage": _coverage(row),
        "current_task": row["current_task"],
        "suggested_response": row["suggested_response"],
        "lease": _lease(row),
        "attempts": row["attempts"] or 0,
        "next_attempt_at": row["due_at"] if status in RETRIES else None,
        "last_error": row["last_error"],
        "last_observer_run": row["observer_run"],
        "last_reflector_run": row["reflector_run"],
        "usage": _usage(row),
        "retention": None
        if rules.retention is None
        else rules.retention.model_dump() | {"expired_seq": row["expired_seq"]},
    } | _notes(row)


def _notes(row: Row) -> dict[str, Any]:
    """The sizes of the live log and of buffered observations, and the compression ratio of the log."""
    live = [found for found in row["observations"] if found["status"] == Status.ACTIVE]
    buffered = [found for found in row["observations"] if found["status"] == Status.BUFFERED]
    condensed = [found for found in row["reflections"] if found["status"] == Status.ACTIVE]
    chunks = [*live, *condensed]
    log_tokens = sum(found["tokens"] for found in chunks)
    source_tokens = sum(found["message_tokens"] for found in chunks)
    return {
        "log": {
            "version": row["log_version"] or 0,
            "tokens": log_tokens,
            "chars": sum(found["chars"] for found in chunks),
            "observations": len(live),
            "reflections": len(condensed),
            "generation": row["generation"] or 0,
        },
        "buffered": {
            "observations": len(buffered),
            "tokens": sum(found["tokens"] for found in buffered),
            "message_tokens": sum(found["message_tokens"] for found in buffered),
        },
        "compression": {
            "source_tokens": source_tokens,
            "log_tokens": log_tokens,
            "ratio": round(source_tokens / log_tokens, 1) if log_tokens else None,
        },
    }


def _pending(row: Row) -> int:
    """The number of messages after the cursor, without erased ones and summaries."""
    erased = sum(seq > row["observed_seq"] for seq in row["erased"])
    return int(row["last_seq"] - row["observed_seq"] - erased - (row["pending_summaries"] or 0))


def _coverage(row: Row) -> dict[str, Any]:
    chunks = [
        _covered(kind, found, shared=row["memory_id"] != row["id"])
        for kind in ("reflection", "observation")
        for found in row[f"{kind}s"]
        if found["own"]
    ]
    chunks += [Covered(first=first, last=last, by=SKIP, covers=()) for first, last in row["condensed"] or ()]
    chunks += [
        Covered(first=first, last=last, by=f"summary:{row['summary']['seq']}", covers=((first, last),))
        for first, last in (row["summary"] or {"covers": ()})["covers"]
    ]
    chunks += [
        Covered(first=first, last=last, by=REBUILDING, covers=((first, last),))
        for first, last, *of in row["rebuilding"]
        if of in ([], [str(row["id"])])
    ]
    derived = max(row["observed_seq"], row["buffered_seq"])
    found = coverage(
        chunks, derived_seq=derived, last_seq=row["last_seq"], erased=row["erased"], blanked=bool(row["blanked"])
    )
    return {
        "intervals": [asdict(interval) for interval in found.intervals],
        "gaps": [{"first": first, "last": last} for first, last in found.gaps],
    }


def _covered(kind: str, found: dict[str, Any], *, shared: bool) -> Covered:
    """In a shared log a reflection's range is not this session's: its span there follows from what it covers."""
    covers = ranges_of(found["covers"])
    first, last = found["from"], found["to"]
    if shared and kind == "reflection":
        first, last = covers[0][0], covers[-1][1]
    return Covered(first=first, last=last, by=_by(kind, found), covers=covers)


def _by(kind: str, found: dict[str, Any]) -> str:
    match Status(found["status"]):
        case Status.ACTIVE:
            return f"{kind}:{found['id']}"
        case Status.BUFFERED:
            return f"buffered:{found['id']}"
        case Status.RETIRED:
            return "deleted"


def _lease(row: Row) -> dict[str, Any] | None:
    if row["lease_owner"] is None or row["due"]:
        return None
    return {
        "owner": row["lease_owner"],
        "epoch": row["lease_epoch"],
        "expires_at": row["due_at"],
        "step": row["lease_step"],
    }


def _usage(row: Row) -> dict[str, Any]:
    spent, cached = row["actor_input_tokens"], row["actor_cached_tokens"]
    actor = {
        "turns": row["actor_turns"],
        "input_tokens": spent,
        "cached_input_tokens": cached,
        "cache_write_tokens": row["actor_written_tokens"],
        "output_tokens": row["actor_output_tokens"],
        "cost_usd": row["actor_cost_usd"],
        "cache_hit_ratio": round(cached / spent, 3) if spent else None,
    }
    usage = row["usage"] or {}
    return {role: usage.get(role, {}) for role in ROLES} | {"actor": actor}


def spending_of(caps: Caps, accounts: Accounts) -> dict[str, Any]:
    """The fields of a ``SpendingOut``, which are also those of a ``TenantSpendingOut``."""
    return {
        "day": accounts.day,
        "rung": allowance(caps, accounts).rung,
        "session": _account(caps.session, accounts.session),
        "tenant": _account(caps.tenant, accounts.tenant),
    }


def _account(cap: Cap, account: Account) -> dict[str, Any]:
    return {
        "tokens": account.spent.tokens,
        "cost_usd": round(account.spent.cost_usd, 6),
        "unpriced_tokens": account.unpriced_tokens,
        "reserved": asdict(account.reserved),
        "cap": asdict(cap),
    }
