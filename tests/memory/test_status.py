from datetime import UTC, datetime
from typing import Any

import pytest

from app.memory.status import MemoryStatus, memory_status

LATER = datetime(2026, 8, 1, tzinfo=UTC)
AT_REST: dict[str, Any] = {
    "enabled": True,
    "due": False,
    "due_at": None,
    "lease_owner": None,
    "lease_step": None,
    "attempts": 0,
    "attempts_max": 8,
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
        ({"due_at": LATER, "paused": True, "lease_owner": "a"}, MemoryStatus.DUE),
        ({"due_at": LATER, "paused": True, "attempts": 1}, MemoryStatus.BACKING_OFF),
        ({"paused": True, "enabled": False, "due_at": LATER}, MemoryStatus.DISABLED),
        ({"lease_owner": "a", "due_at": LATER}, MemoryStatus.DUE),  # claimed, no step yet
        ({"lease_owner": "a", "due_at": LATER, "lease_step": "observe"}, MemoryStatus.OBSERVING),
        ({"lease_owner": "a", "due_at": LATER, "lease_step": "reflect"}, MemoryStatus.REFLECTING),
        ({"lease_owner": "a", "due_at": LATER, "lease_step": "consolidate"}, MemoryStatus.REFLECTING),
        ({"lease_owner": "a", "due_at": LATER, "lease_step": "observe", "attempts": 9}, MemoryStatus.OBSERVING),
        ({"lease_owner": "a", "due_at": LATER, "lease_step": "observe", "due": True}, MemoryStatus.DUE),  # it ran out
        ({"attempts": 1, "due_at": LATER}, MemoryStatus.BACKING_OFF),
        ({"attempts": 7, "due_at": LATER}, MemoryStatus.BACKING_OFF),
        ({"attempts": 7, "due_at": LATER, "due": True}, MemoryStatus.BACKING_OFF),
        ({"attempts": 8, "due_at": LATER}, MemoryStatus.STALLED),
        ({"attempts": 8, "due_at": LATER, "due": True}, MemoryStatus.STALLED),
        ({"attempts": 20, "due_at": LATER}, MemoryStatus.STALLED),
        ({"enabled": False, "attempts": 8, "due_at": LATER}, MemoryStatus.DISABLED),
        ({"enabled": False, "lease_owner": "a", "lease_step": "observe"}, MemoryStatus.DISABLED),
    ],
)
def test_one_word_says_where_a_memory_stands(row: dict[str, Any], status: MemoryStatus) -> None:
    assert memory_status(**(AT_REST | row)) is status
