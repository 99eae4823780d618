import pytest

from app.memory.repetition import is_repetitive


def distinct(count: int, characters: int) -> list[str]:
    """Lines that share no window of 200 characters: each is its number, over and over."""
    return [(f"{number:05d}." * characters)[:characters] for number in range(count)]


def loop(characters: int) -> str:
    return ("the-user-said-so-again-and-then-" * characters)[:characters]


@pytest.mark.parametrize(("characters", "expected"), [(1_999, False), (2_000, False), (2_001, True)])
def test_nothing_up_to_2000_characters_is_repetitive(characters: int, expected: bool) -> None:
    assert is_repetitive(loop(characters)) is expected


@pytest.mark.parametrize("period", [1, 37, 200, 997])
def test_a_loop_of_any_period_is_found(period: int) -> None:
    unit = "".join(chr(0x4E00 + number) for number in range(period))
    assert is_repetitive(unit * (20_000 // period))


@pytest.mark.parametrize(("share", "expected"), [(0.30, False), (0.39, False), (0.45, True)])
def test_more_than_40_percent_of_equal_windows_are_repetitive(share: float, expected: bool) -> None:
    unlike = "".join(chr(0x4E00 + number) for number in range(round(20_000 * (1 - share))))
    assert is_repetitive(unlike + "a" * round(20_000 * share)) is expected


@pytest.mark.parametrize(("again", "expected"), [(20, False), (21, True)])
def test_20_of_50_windows_of_200_characters_may_have_stood_before(again: int, expected: bool) -> None:
    unlike = "".join(chr(0x4E00 + number) for number in range((50 - again) * 200))
    assert is_repetitive(unlike + unlike[:200] * again) is expected


@pytest.mark.parametrize(("characters", "expected"), [(198, False), (598, True)])
def test_what_comes_again_counts_from_200_characters_on(characters: int, expected: bool) -> None:
    again = "".join(chr(0x4E00 + number) for number in range(characters))
    assert is_repetitive("".join(f"{again}{chr(0x6E00 + number) * 3}" for number in range(40))) is expected


def repeated(count: int, distinct_lines: int) -> str:
    """``count`` lines of 60 characters, ``distinct_lines`` of them distinct, with long texts of their own between.

    And behind them, so that even 19 of them have over 2,000 characters.
    """
    unlike = [chr(0x4E00 + at) * 30 + chr(0x5E00 + at) * 9 for at in range(count + 10)]
    lines = (distinct(distinct_lines, 60) * count)[:count]
    return "\n".join([*(f"{line}\n{between}" for line, between in zip(lines, unlike, strict=False)), *unlike[count:]])


@pytest.mark.parametrize(
    ("count", "distinct_lines", "expected"),
    [(19, 2, False), (20, 9, True), (20, 10, False), (40, 19, True), (40, 20, False)],
)
def test_20_long_lines_of_which_more_than_half_are_duplicates_are_repetitive(
    count: int,
    distinct_lines: int,
    expected: bool,
) -> None:
    assert is_repetitive(repeated(count, distinct_lines)) is expected


@pytest.mark.parametrize(
    ("repeats", "more", "expected"), [(500, 0, False), (501, 0, False), (501, 1, True), (502, 0, True)]
)
def test_more_than_10000_characters_of_repeated_short_lines_are_repetitive(
    repeats: int,
    more: int,
    expected: bool,
) -> None:
    short, unlike = "s" * 20, [chr(0x4E00 + number) * 3 + chr(0x9000 + number) * 30 for number in range(600)]
    lines = [f"{short}\n{line}" for line in unlike[:repeats]] + unlike[repeats:]
    lines += ["s", "between", "s"][: 1 + 2 * more]
    assert is_repetitive("\n".join(lines)) is expected


def test_a_run_of_one_identical_line_counts_once() -> None:
    run = ["* 🔴 User moved to Lisbon, he said once more."] * 500

    assert not is_repetitive("\n".join(run))
    assert not is_repetitive("\n".join([*run, *distinct(50, 60)]))


def test_a_long_log_of_distinct_lines_is_not_repetitive() -> None:
    assert not is_repetitive(
        "\n".join(f"* 🟡 (10:{n % 60:02d}) [fact] Invoice {n * 7919} was sent. #{n}" for n in range(900))
    )
