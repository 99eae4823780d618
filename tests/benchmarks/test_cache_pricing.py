from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kit.tokens import text_tokens
from benchmarks.cache.pricing import (
    ONE_HOUR,
    AnthropicCache,
    Billed,
    Block,
    OpenAICache,
    Rates,
    Request,
    shared_tokens,
)

NOON = datetime(2026, 8, 1, 12, tzinfo=UTC)
SIZE = 1_000  # tokens of every block but where a test says otherwise


def request(marked: str, *, seconds: float = 0, size: int = SIZE) -> Request:
    """``a b* c``: three blocks, a breakpoint on the second."""
    blocks = [Block(text=word.rstrip("*"), tokens=size, breakpoint=word.endswith("*")) for word in marked.split()]
    return Request(at=NOON + timedelta(seconds=seconds), blocks=tuple(blocks))


def billed(cache: AnthropicCache | OpenAICache, *requests: Request) -> list[tuple[int, int, int]]:
    """Plain, read and written of each, in blocks of SIZE."""
    found = [cache.bill(one) for one in requests]
    return [(one.plain // SIZE, one.read // SIZE, one.written // SIZE) for one in found]


@pytest.mark.parametrize(
    ("sequence", "expected"),
    [
        pytest.param(["s a"], [(2, 0, 0)], id="without a breakpoint nothing is cached"),
        pytest.param(["s a*", "s a*"], [(0, 0, 2), (0, 2, 0)], id="the same again is read"),
        pytest.param(["s a*", "s a b c*"], [(0, 0, 2), (0, 2, 2)], id="what is new is written"),
        pytest.param(["s a*", "s a b c"], [(0, 0, 2), (4, 0, 0)], id="what is not marked is not looked up"),
        pytest.param(["s a* v", "s a b* v"], [(1, 0, 2), (1, 2, 1)], id="after the last breakpoint all is plain"),
        pytest.param(["s a b*", "s x b*"], [(0, 0, 3), (0, 0, 3)], id="a change in front breaks all behind it"),
        pytest.param(["s* l1* t*", "s* l2* u*"], [(0, 0, 3), (0, 1, 2)], id="an earlier breakpoint saves its part"),
        pytest.param(["s a b*", "s a*"], [(0, 0, 3), (0, 0, 2)], id="an entry ends at a breakpoint, not within"),
        pytest.param(["s* a b*", "s x*", "s a b*"], [(0, 0, 3), (0, 1, 1), (0, 3, 0)], id="two branches live on"),
    ],
)
def test_anthropic_reads_the_longest_marked_prefix_and_writes_up_to_the_last_breakpoint(
    sequence: list[str], expected: list[tuple[int, int, int]]
) -> None:
    assert billed(AnthropicCache(prefix_tokens_min=SIZE), *map(request, sequence)) == expected


@pytest.mark.parametrize(
    ("ttl", "at", "read"),
    [
        (timedelta(minutes=5), [0, 300], [0, 2]),
        (timedelta(minutes=5), [0, 301], [0, 0]),
        (timedelta(minutes=5), [0, 200, 400, 600], [0, 2, 2, 2]),
        (ONE_HOUR, [0, 3_600, 7_201], [0, 2, 0]),
    ],
    ids=["to the second", "too late", "each use renews it", "one hour"],
)
def test_an_entry_lives_as_long_as_it_is_used(ttl: timedelta, at: list[float], read: list[int]) -> None:
    requests = [request("s a*", seconds=seconds) for seconds in at]

    assert [one[1] for one in billed(AnthropicCache(ttl=ttl), *requests)] == read


@pytest.mark.parametrize(("blocks_between", "is_found"), [(18, True), (19, True), (20, False)])
def test_an_entry_is_looked_for_in_twenty_blocks_back_from_a_breakpoint(blocks_between: int, *, is_found: bool) -> None:
    longer = " ".join(["s a", *(f"b{number}" for number in range(blocks_between))])

    _, again = billed(AnthropicCache(), request("s a*"), request(f"{longer}*"))

    assert (again[1] == 2) is is_found


@pytest.mark.parametrize(("tokens", "written"), [(511, 0), (512, 1_024)])
def test_a_prefix_below_the_minimum_is_not_cached(tokens: int, written: int) -> None:
    assert AnthropicCache().bill(request("s a*", size=tokens)) == Billed(plain=2 * tokens - written, written=written)


def test_a_fifth_breakpoint_is_refused() -> None:
    with pytest.raises(ValueError, match="5 breakpoints"):
        AnthropicCache().bill(request("a* b* c* d* e*"))


def test_where_a_block_ends_is_part_of_its_prefix() -> None:
    two = Request(at=NOON, blocks=(Block(text="ab", tokens=2_000), Block(text="c", tokens=1, breakpoint=True)))
    moved = Request(at=NOON, blocks=(Block(text="a", tokens=2_000), Block(text="bc", tokens=1, breakpoint=True)))
    cache = AnthropicCache()
    cache.bill(two)

    assert cache.bill(moved).read == 0


@pytest.mark.parametrize(("shared", "read"), [(1_023, 0), (1_024, 1_024), (1_151, 1_024), (1_152, 1_152)], ids=str)
def test_openai_reads_a_common_prefix_from_1024_tokens_on_in_steps_of_128(shared: int, read: int) -> None:
    def asked(word: str) -> Request:
        return Request(at=NOON, blocks=(Block(text="s", tokens=shared), Block(text=word, tokens=500)))

    cache = OpenAICache()
    cache.bill(asked("1"))

    assert cache.bill(asked("2")) == Billed(plain=shared + 500 - read, read=read)


def test_openai_forgets_after_five_minutes_and_needs_no_breakpoint() -> None:
    told = billed(OpenAICache(), *(request("s a", seconds=seconds) for seconds in (0, 300, 601)))

    assert [one[1] for one in told] == [0, 1, 0]  # 2,000 tokens are 1,920 in whole steps


def test_the_beginning_of_a_block_that_differs_is_shared_too() -> None:
    def asked(end: str) -> Request:
        return Request(at=NOON, blocks=(Block(text=same + end, tokens=text_tokens(same) + 1),))

    same = "the same beginning " * 200
    assert shared_tokens(asked("one"), asked("two")) == text_tokens(same)


def test_input_is_paid_by_what_became_of_it() -> None:
    rates = Rates(plain=1.0, read=0.1, written=1.25, output=5.0)

    assert rates.input_usd(Billed(plain=10, read=100, written=8)) == pytest.approx(30)


@given(st.lists(st.lists(st.sampled_from(["s", "a*", "b", "c*"]), min_size=1, max_size=4), min_size=1, max_size=8))
def test_every_token_is_billed_once(sequence: list[list[str]]) -> None:
    anthropic, openai = AnthropicCache(prefix_tokens_min=SIZE), OpenAICache()
    for number, words in enumerate(sequence):
        asked = request(" ".join(words), seconds=100 * number)
        for one in (anthropic.bill(asked), openai.bill(asked)):
            assert one.plain + one.read + one.written == asked.tokens
            assert min(one.plain, one.read, one.written) >= 0
