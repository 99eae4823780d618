"""Examples for the OpenAPI document; a test compares them with the service's answers."""

from typing import Any

from app.kit.openapi import Examples
from app.memory.examples import OBSERVATION, REFLECTION

_RUN: dict[str, Any] = {
    "id": 51,
    "at": "2026-08-01T10:05:00Z",
    "kind": "observe",
    "session": "s1",
    "provider": "anthropic",
    "model": "claude-haiku-5-5",
    "prompt_version": "observer-5",
    "epoch": 7,
    "from_seq": 81,
    "to_seq": 120,
    "input_tokens": 9200,
    "cached_input_tokens": 1500,
    "output_tokens": 640,
    "cost_usd": 0.0124,
    "latency_ms": 4100,
    "outcome": "recorded",
    "error": None,
    "grounded_share": 1.0,
    "rejected_output": None,
}
_LAST_RUN = {
    name: _RUN[name] for name in ("at", "outcome", "model", "input_tokens", "output_tokens", "cost_usd", "latency_ms")
}
_SPENT = {"calls": 4, "input_tokens": 38000, "cached_input_tokens": 6000, "output_tokens": 2600, "cost_usd": 0.051}

_ACCOUNT: dict[str, Any] = {
    "tokens": 40600,
    "cost_usd": 0.051,
    "unpriced_tokens": 0,
    "reserved": {"tokens": 0, "cost_usd": 0.0},
    "cap": {"tokens": 200000, "cost_usd": None},
}

_MEMORY: dict[str, Any] = {
    "session": "s1",
    "scope": "session",
    "enabled": True,
    "status": "idle",
    "observer": "anthropic",
    "reflector": "anthropic",
    "cursor": {"observed_seq": 120, "buffered_seq": 160, "last_seq": 200, "tail_from_seq": 109},
    "pending": {"messages": 80, "tokens": 12000, "seconds": 340},
    "thresholds": {"observe_at": 16000, "buffer_every": 3200, "reflect_at": 20000, "consolidate_at": 5},
    "log": {"version": 12, "tokens": 5400, "chars": 21000, "observations": 1, "reflections": 1, "generation": 1},
    "buffered": {"observations": 1, "tokens": 800, "message_tokens": 9000},
    "coverage": {
        "intervals": [
            {"from": 1, "to": 80, "by": "reflection:3"},
            {"from": 81, "to": 120, "by": "observation:41"},
            {"from": 121, "to": 160, "by": "buffered:42"},
            {"from": 161, "to": 200, "by": "tail"},
        ],
        "gaps": [],
    },
    "current_task": "Plan the move to Lisbon",
    "suggested_response": None,
    "lease": None,
    "attempts": 0,
    "next_attempt_at": None,
    "last_error": None,
    "last_observer_run": _LAST_RUN,
    "last_reflector_run": None,
    "usage": {
        "observer": _SPENT,
        "reflector": _SPENT | {"calls": 1},
        "actor": {
            "turns": 90,
            "input_tokens": 410000,
            "cached_input_tokens": 381000,
            "cache_write_tokens": 25000,
            "output_tokens": 30000,
            "cost_usd": 0.67,
            "cache_hit_ratio": 0.929,
        },
    },
    "spending": {
        "day": "2026-08-15",
        "rung": "small_model",
        "session": _ACCOUNT,
        "tenant": _ACCOUNT | {"tokens": 390000, "cost_usd": 0.74, "cap": {"tokens": None, "cost_usd": 1.0}},
    },
    "compression": {"source_tokens": 60000, "log_tokens": 5400, "ratio": 11.1},
    "retention": {"days": 90, "keep": "memory", "expired_seq": 60},
}

_LOG: dict[str, Any] = {
    "session": "s1",
    "version": 12,
    "tokens": 31,
    "chars": 76,
    "text": OBSERVATION["text"].replace("2026\n", "2026 (2 weeks ago)\n"),
}

_VERSION: dict[str, Any] = {
    "version": 12,
    "cause": "activated",
    "at": "2026-08-01T10:05:00Z",
    "anchor_date": "2026-08-01",
    "last_seq": 130,
    "observed_seq": 120,
    "tail_from_seq": 109,
}


def _page(item: dict[str, Any]) -> Examples:
    return Examples(answers={200: {"items": [item], "next_cursor": None}})


_EVENTS = """\
event: activated
data: {"at": "2026-08-01T10:05:00Z", "version": 12, "pending_tokens": 120, "observation_tokens": 5400, \
"reflection_tokens": 900}
id: 120.12.42.9.0.1785574800000000

"""


def _asked(step: str) -> Examples:
    asked = {"session": "s1", "requested": step, "memory": None}
    return Examples(answers={202: asked, 200: asked | {"memory": _MEMORY}})


_OVERVIEW: dict[str, Any] = {
    "at": "2026-08-15T03:00:00Z",
    "queue": {
        "complete": True,
        "memories": [
            {"status": "observing", "memories": 4, "pending_tokens": 71000, "oldest_seconds": 900.0},
            {"status": "stalled", "memories": 2, "pending_tokens": 52000, "oldest_seconds": 10800.0},
        ],
        "ages": [
            {"below_seconds": 60.0, "pending_tokens": 0},
            {"below_seconds": 600.0, "pending_tokens": 0},
            {"below_seconds": 3600.0, "pending_tokens": 71000},
            {"below_seconds": 86400.0, "pending_tokens": 52000},
            {"below_seconds": None, "pending_tokens": 0},
        ],
        "late_seconds": 0.0,
    },
    "failing": [
        {
            "step": "observe",
            "kind": "unauthorized",
            "message": "the provider answered 401",
            "memories": 2,
            "attempts": 9,
            "last_at": "2026-08-15T02:55:00Z",
            "next_at": "2026-08-15T03:05:00Z",
            "sessions": ["s1", "s7"],
        }
    ],
    "spending": {
        "day": "2026-08-15",
        "rung": "small_model",
        "tenant": _ACCOUNT | {"tokens": 390000, "cost_usd": 0.74, "cap": {"tokens": None, "cost_usd": 1.0}},
    },
    "process": {
        "name": "daybook-1:7",
        "roles": [
            {
                "role": "observer",
                "provider": "anthropic",
                "model": "claude-haiku-5-5",
                "small_model": None,
                "circuit": "closed",
                "failures": 0,
                "next_try_seconds": None,
                "last_error": "unauthorized",
                "last_error_seconds": 300.0,
                "answered_seconds": 11200.0,
            }
        ],
        "connections": {"size": 4, "in_use": 1, "waiting": 0, "max": 10},
        "indexing": {"sessions": 3, "looked": 3, "messages": 41},
        "vectors": {"sessions": 0, "messages": 0},
    },
}

_METRICS = """\
# HELP daybook_memories Memories that have something to do or to wait for, by status
# TYPE daybook_memories gauge
daybook_memories{status="observing"} 1.0
"""

EXAMPLES = {
    "getMemory": Examples(answers={200: _MEMORY}),
    "getLog": Examples(answers={200: _LOG}),
    "listObservations": _page(OBSERVATION),
    "listReflections": _page(REFLECTION),
    "listRuns": _page(_RUN),
    "listVersions": _page(_VERSION),
    "streamEvents": Examples(answers={200: _EVENTS}),
    "observeNow": _asked("observe"),
    "reflectNow": _asked("reflect"),
    "redriveMemory": _asked("redrive"),
    "getMetrics": Examples(answers={200: _METRICS}),
    "getOverview": Examples(answers={200: _OVERVIEW}),
    "getHealth": Examples(answers={200: {"status": "ok"}}),
    "getReadiness": Examples(
        answers={200: {"status": "ready", "database": "embedded PostgreSQL", "migration": "0031", "known": "0030"}}
    ),
}
