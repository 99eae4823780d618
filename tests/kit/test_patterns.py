import copy
import re

import pytest

from app.kit.patterns import lazy_pattern


def test_a_pattern_finds_what_a_compiled_one_finds() -> None:
    lazy, compiled = lazy_pattern("(?P<a>x)(y)?", re.IGNORECASE), re.compile("(?P<a>x)(y)?", re.IGNORECASE)

    for text in ("", "xy", "aXa", "x xy"):
        assert [match.groups() for match in lazy.finditer(text)] == [
            match.groups() for match in compiled.finditer(text)
        ]
        assert lazy.sub("-", text) == compiled.sub("-", text)
    assert (lazy.pattern, lazy.flags, lazy.groupindex) == (compiled.pattern, compiled.flags, compiled.groupindex)


def test_a_pattern_is_compiled_at_its_first_use_and_not_sooner() -> None:
    faulty = lazy_pattern("(")

    with pytest.raises(re.error):
        faulty.search("")


def test_a_pattern_may_be_copied_before_and_after_its_first_use() -> None:
    pattern = lazy_pattern("x")

    assert copy.deepcopy(pattern).search("x")
    assert pattern.search("x")
    assert copy.copy(pattern).search("x")
