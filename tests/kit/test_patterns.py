import copy
import gc
import importlib
import re
from pathlib import Path

import pytest

from app.kit.patterns import lazy_pattern

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
