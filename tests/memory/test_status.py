from datetime import UTC, datetime
from typing import Any

import pytest

from app.memory.status import MemoryStatus, memory_status
from app.sessions.model import QueueState

LATER = datetime(2026, 8, 1, tzinfo=UTC)
AT_REST: dict[str, Any] = {
    "due": False,
    "due_at": None,
    "leased": False,
    "lease_step": None,
    "attempts": 0,
    "paused": False,
}


@pytest.mark.parametrize(
    ("row", "status"),
    [
        ({}, MemoryStatus.IDLE),
        ({"due_at": LATER}, MemoryStatus.IDLE),  # it waits for a time
        ({"attempts": 1, "paused": True}, MemoryStatus.IDLE),  # what failed, or had to wait for money, is gone
        ({"due": True, "due_at": LATER}, MemoryStatus.DUE),
        ({"due_at": LATER, "paused": True}, MemoryStatus.PAUSED),
        ({"due_at": LATER, "paused": True, "due": True}, MemoryStatus.DUE),  # it is looked at again
        ({"due_at": LATER, "paused": True, "leased": True}, MemoryStatus.DUE),
        ({"due_at": LATER, "paused": True, "attempts": 1}, MemoryStatus.BACKING_OFF),
        ({"leased": True, "due_at": LATER}, MemoryStatus.DUE),  # claimed, no step yet
        ({"leased": True, "due_at": LATER, "lease_step": "observe"}, MemoryStatus.OBSERVING),
        ({"leased": True, "due_at": LATER, "lease_step": "reflect"}, MemoryStatus.REFLECTING),
        ({"leased": True, "due_at": LATER, "lease_step": "consolidate"}, MemoryStatus.REFLECTING),
        ({"leased": True, "due_at": LATER, "lease_step": "observe", "attempts": 9}, MemoryStatus.OBSERVING),
        ({"leased": True, "due_at": LATER, "lease_step": "observe", "due": True}, MemoryStatus.DUE),  # it ran out
        ({"attempts": 1, "due_at": LATER}, MemoryStatus.BACKING_OFF),
        ({"attempts": 7, "due_at": LATER}, MemoryStatus.BACKING_OFF),
        ({"attempts": 7, "due_at": LATER, "due": True}, MemoryStatus.BACKING_OFF),
        ({"attempts": 8, "due_at": LATER}, MemoryStatus.STALLED),
        ({"attempts": 8, "due_at": LATER, "due": True}, MemoryStatus.STALLED),
        ({"attempts": 20, "due_at": LATER}, MemoryStatus.STALLED),
    ],
)
def test_one_word_says_where_a_memory_stands(row: dict[str, Any], status: MemoryStatus) -> None:
    assert memory_status(QueueState(**(AT_REST | row)), enabled=True, attempts_max=8) is status


@pytest.mark.parametrize(
    "row",
    [
        {"paused": True, "due_at": LATER},
        {"attempts": 8, "due_at": LATER},
        {"leased": True, "lease_step": "observe"},
    ],
)
def test_one_that_is_switched_off_is_nothing_else(row: dict[str, Any]) -> None:
    state = QueueState(**(AT_REST | row))
    assert memory_status(state, enabled=False, attempts_max=8) is MemoryStatus.DISABLED
