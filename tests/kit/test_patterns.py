import copy
import gc
import importlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kit.patterns import WINDOW, in_windows, lazy_pattern

PROJECT = Path(__file__).parents[2]
LAZY = type(lazy_pattern(""))
FAULTY = "("


def test_a_pattern_finds_what_a_compiled_one_finds() -> None:
    lazy, compiled = lazy_pattern("(?P<a>x)(y)?", re.IGNORECASE), re.compile("(?P<a>x)(y)?", re.IGNORECASE)

    for text in ("", "xy", "aXa", "x xy"):
        assert [match.groups() for match in lazy.finditer(text)] == [
            match.groups() for match in compiled.finditer(text)
        ]
        assert lazy.sub("-", text) == compiled.sub("-", text)
    assert (lazy.pattern, lazy.flags, lazy.groupindex) == (compiled.pattern, compiled.flags, compiled.groupindex)


def test_a_pattern_is_compiled_at_its_first_use_and_not_sooner() -> None:
    faulty = lazy_pattern(FAULTY)

    with pytest.raises(re.error):
        faulty.search("")


def test_a_pattern_may_be_copied_before_and_after_its_first_use() -> None:
    pattern = lazy_pattern("x")

    assert copy.deepcopy(pattern).search("x")
    assert pattern.search("x")
    assert copy.copy(pattern).search("x")


def test_every_pattern_of_the_service_can_be_compiled() -> None:
    sources = [path for path in (PROJECT / "app").rglob("*.py") if "lazy_pattern(" in path.read_text(encoding="utf-8")]
    for path in sources:
        importlib.import_module(".".join(path.relative_to(PROJECT).with_suffix("").parts))
    gc.unfreeze()  # what is frozen is not told
    patterns = [found for found in gc.get_objects() if type(found) is LAZY and found.pattern != FAULTY]
    gc.freeze()

    for pattern in patterns:
        pattern.search("")
    assert len(patterns) > 300


REACH = 16
DIGITS_BETWEEN = re.compile(r"(?<!0)[1-9]{1,3}(?:-[1-9]{1,3})?(?![1-9]{2})\b")  # looks at both sides of what it finds


@dataclass(frozen=True)
class Recording:
    """A pattern that notes how many characters each search was given."""

    pattern: re.Pattern[str]
    given: list[int] = field(default_factory=list)

    def search(self, text: str, start: int, end: int) -> re.Match[str] | None:
        self.given.append(end - start)
        return self.pattern.search(text, start, end)


@given(
    st.lists(st.text("012 -", min_size=1, max_size=12), min_size=1, max_size=8),
    st.integers(WINDOW - 2 * REACH, WINDOW + 2 * REACH),
    st.sampled_from(["y", "12 x"]),
    st.integers(0, REACH),
)
def test_in_windows_all_is_found_that_one_search_would_find(
    said: list[str], before: int, filling: str, start: int
) -> None:
    """Wherever the end of a window is in what is found."""
    text = " ".join([(filling * before)[:before], *said, "y" * WINDOW, *said])
    bounds = start, len(text) - start
    found, expected = in_windows(DIGITS_BETWEEN, text, *bounds, reach=REACH), DIGITS_BETWEEN.finditer(text, *bounds)
    assert [match.span() for match in found] == [match.span() for match in expected]


@pytest.mark.parametrize("text", ["1" * 100_000, "x" * 100_000, "12 " * 30_000])
def test_no_search_is_given_more_than_a_window(text: str) -> None:
    pattern = Recording(DIGITS_BETWEEN)
    list(in_windows(cast("re.Pattern[str]", pattern), text, 0, len(text), reach=REACH))
    assert max(pattern.given) <= WINDOW + REACH
