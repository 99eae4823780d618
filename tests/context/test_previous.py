from uuid import UUID, uuid4

import pytest

from app.context.compile import compile_context
from app.context.model import Format, Prefix
from app.context.previous import PreviousCalls
from tests.context.building import ask, log_of, snapshot, user

SESSION, OTHER = uuid4(), uuid4()


def prefix(turns: int) -> Prefix:
    return compile_context(snapshot(log_of(*(user(f"turn {n}") for n in range(turns)))), ask()).prefix


def test_the_last_call_of_a_session_in_a_format_is_known() -> None:
    previous = PreviousCalls(pieces_max=100)
    first, second = prefix(1), prefix(2)
    assert previous.swap(SESSION, Format.OPENAI, first) is None
    assert previous.swap(SESSION, Format.ANTHROPIC, second) is None
    assert previous.swap(OTHER, Format.OPENAI, second) is None
    assert previous.swap(SESSION, Format.OPENAI, second) is first
    assert previous.swap(SESSION, Format.OPENAI, first) is second


@pytest.mark.parametrize(("pieces_max", "known"), [(0, 0), (5, 0), (6, 1), (17, 2), (18, 3), (1_000, 3)])
def test_sessions_called_longest_ago_give_way(pieces_max: int, known: int) -> None:
    previous, kept = PreviousCalls(pieces_max=pieces_max), prefix(5)  # each takes 6: its pieces and itself
    sessions = [UUID(int=number) for number in range(3)]
    for session in sessions:
        previous.swap(session, Format.TEXT, kept)
    found = []
    for session in reversed(sessions):  # the newest first, so that looking evicts none that is still to be seen
        before = previous.swap(session, Format.TEXT, prefix(0))
        found.append(before is not None)
    assert found == [True] * known + [False] * (3 - known)


def test_a_call_of_many_pieces_takes_the_room_of_many() -> None:
    previous = PreviousCalls(pieces_max=20)
    for session in (SESSION, OTHER):
        previous.swap(session, Format.TEXT, prefix(5))
    previous.swap(SESSION, Format.TEXT, prefix(15))
    assert previous.swap(OTHER, Format.TEXT, prefix(0)) is None
    previous.swap(SESSION, Format.TEXT, prefix(20))  # of too many to be kept
    assert previous.swap(SESSION, Format.TEXT, prefix(0)) is None
