import pytest

from app.context.rows import _rebuilding


@pytest.mark.parametrize(
    ("gap", "ranges"),
    [
        ((2, 6, ()), [(2, 6)]),
        ((2, 6, (3,)), [(2, 2), (4, 6)]),
        ((2, 6, (2, 3, 6)), [(4, 5)]),
        ((2, 2, (2,)), []),
        ((5, 9, (6, 8)), [(5, 5), (7, 7)]),
        ((8, 9, ()), []),  # observed ahead, and pending like all that comes after the cursor
    ],
)
def test_what_is_to_be_observed_again_is_what_is_observed_at_all_up_to_the_cursor(
    gap: tuple[int, int, tuple[int, ...]], ranges: list[tuple[int, int]]
) -> None:
    assert list(_rebuilding([gap], observed_seq=7)) == ranges
