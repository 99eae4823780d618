"""What fits: the newest items within a number of tokens and of items (memory-rules.md section 6)."""

from collections.abc import Sequence


def effective(asked: int | None, rule: int | None) -> int | None:
    """The limit in force; None is none. What the caller asks for wins, and 0 asks for no limit."""
    return rule if asked is None else asked or None


def newest_within(tokens: Sequence[int], *, tokens_max: int | None, count_max: int | None) -> list[int]:
    """The indexes kept, ascending, of items given oldest first by their sizes.

    The newest are taken until one does not fit. An item larger than the whole budget is passed over: it could never
    be shown, and must not hide the ones before it.
    """
    kept: list[int] = []
    left = tokens_max
    for index in range(len(tokens) - 1, -1, -1):
        if len(kept) == count_max:
            break
        if tokens_max is not None and tokens[index] > tokens_max:
            continue
        if left is not None:
            if tokens[index] > left:
                break
            left -= tokens[index]
        kept.append(index)
    return kept[::-1]
