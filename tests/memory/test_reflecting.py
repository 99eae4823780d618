"""What is condensed into what, and what the result covers."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from app.kit.tokens import text_tokens
from app.llm.port import Check, ModelError, Provider, Usage
from app.memory.charging import Charging
from app.memory.gates import Rejection, Verdict, tokens_of
from app.memory.log import render
from app.memory.means import Means
from app.memory.model import Call, Cite, Draft, Item, Observation, Priority, Reflection, ReflectorInput, Role
from app.memory.narrowing import CONDENSED, Narrowing
from app.memory.outcomes import StepFailed
from app.memory.records import Attempt, Lease, Loaded, Run
from app.memory.reflecting import Reflecting
from app.memory.reflection_sources import (
    Sources,
    consolidate_sources,
    new_reflection,
    reflect_sources,
    reflector_input,
    restored_most,
    target_tokens,
)
from app.memory.rules import RESTORED_SHARE, SHRINK_FROM_TOKENS, Rules
from app.memory.spending import Caps
from app.memory.spending_store import SpendingStore
from app.memory.steps import Consolidate, Reflect
from app.memory.store import MemoryStore
from tests.conftest import Service
from tests.memory.building import MEMORY_ID, loaded, observation, reflection
from tests.sessions.test_routes import said

LOG = loaded(reflection(1, level=2), reflection(2), observation(3), observation(4), observation(5))


def ids(chunks: tuple[Observation, ...] | tuple[Reflection, ...]) -> list[int]:
    return [chunk.id for chunk in chunks]


@pytest.mark.parametrize(
    ("keep", "condensed"), [(0, [3, 4, 5]), (99, [3, 4, 5]), (100, [3, 4]), (200, [3]), (300, [3])]
)
def test_the_oldest_observations_become_a_reflection_of_level_one(keep: int, condensed: list[int]) -> None:
    sources = reflect_sources(LOG, Reflect(keep_tokens=keep))
    assert (ids(sources.observations), ids(sources.reflections)) == (condensed, [])
    assert (sources.kind, sources.into_level, sources.limit_tokens) == ("reflect", 1, None)
    assert sources.tokens == 100 * len(condensed)


def test_a_rewrite_condenses_the_reflections_too() -> None:
    sources = reflect_sources(LOG, Reflect(keep_tokens=100, whole=True))
    assert (ids(sources.reflections), ids(sources.observations)) == ([1, 2], [3, 4])
    assert (sources.tokens, sources.into_level) == (400, 1)


@pytest.mark.parametrize(
    ("levels", "into", "most", "condensed", "limit"),
    [
        ((1,), 2, None, [2, 3, 4], 300),
        ((1,), 2, 2, [2, 3], 300),  # the oldest of them
        ((1, 2), 2, None, [1, 2, 3, 4], 400),
        ((2,), 3, None, [1], None),  # one alone has only to become smaller
    ],
)
def test_reflections_become_one_no_larger_than_the_largest_of_them(
    levels: tuple[int, ...], into: int, most: int | None, condensed: list[int], limit: int | None
) -> None:
    memory = loaded(
        reflection(1, level=2, tokens=400),
        reflection(3, tokens=300),
        reflection(4, tokens=200),
        reflection(2, tokens=100),
        observation(5),
    )
    sources = consolidate_sources(memory, Consolidate(levels=levels, into_level=into, most=most))
    assert (ids(sources.reflections), ids(sources.observations)) == (condensed, [])
    assert (sources.kind, sources.into_level, sources.limit_tokens) == ("consolidate", into, limit)


def test_what_is_condensed_is_read_in_the_order_of_the_log() -> None:
    sources = Sources(
        kind="reflect",
        observations=(observation(2, Item(text="b")), observation(4, Item(text="d"), Item(text="e"))),
        reflections=(reflection(3, Item(text="c"), level=2), reflection(1, Item(text="a"))),
        into_level=1,
    )
    assert [item.text for item in sources.items] == list("abcde")
    assert sources.tokens == 400


def test_of_a_part_of_the_reflections_comes_one_no_larger_than_the_largest_of_it() -> None:
    memory = loaded(reflection(1, tokens=100), reflection(2, tokens=200), reflection(3, tokens=400))
    sources = consolidate_sources(memory, Consolidate(levels=(1,), into_level=2))
    part = sources.part(Narrowing(showing=CONDENSED, divisor=2))
    assert (ids(part.reflections), part.limit_tokens) == ([1, 2], 200)


@pytest.mark.parametrize(("whole", "condensed"), [(False, [3]), (True, [3, 4, 5])])
def test_a_part_is_condensed_alone_except_of_a_rewrite(whole: bool, condensed: list[int]) -> None:
    part = reflect_sources(LOG, Reflect(keep_tokens=0, whole=whole)).part(Narrowing(showing=CONDENSED, divisor=3))
    assert (ids(part.observations), part.limit_tokens) == (condensed, None)


def test_how_much_a_model_writes_bounds_no_consolidation() -> None:
    sources = consolidate_sources(LOG, Consolidate(levels=(1, 2), into_level=2))
    assert sources.within(1, reflect_to=0.5) is sources


def test_a_model_is_shown_plain_numbers_and_asked_for_as_much_less_as_they_take() -> None:
    items = (Item(text="a", cites=(Cite(4, 4, "one"),)), Item(text="b", cites=(Cite(2, 3, "two"),)))
    memory = loaded(reflection(1, items[0]), observation(2, items[1]))
    named = reflect_sources(memory, Reflect(keep_tokens=0, whole=True))
    sources = named.numbered()
    assert [item.cites for item in sources.items] == [(Cite(4, 4),), (Cite(6, 7),)]
    assert sources.shown_tokens == tokens_of(sources.items) < tokens_of(items)

    asked = reflector_input(LOG, Rules.resolve({}, {"reflect_to": 0.5}), replace(named, shown_tokens=50))
    assert (asked.source_tokens, asked.target_tokens) == (50, 25)


def test_where_no_conversation_has_a_name_the_lines_are_shown_as_they_are() -> None:
    sources = reflect_sources(loaded(observation(1, Item(text="a", cites=(Cite(4, 4),)))), Reflect(keep_tokens=0))
    assert sources.numbered() is sources
    asked = reflector_input(LOG, Rules.resolve({}, {"reflect_to": 0.5}), sources)
    assert (asked.source_tokens, asked.target_tokens) == (100, 50)


@pytest.mark.parametrize(("limit", "target"), [(None, 50), (30, 30), (80, 50)])
def test_the_target_is_within_the_limit(limit: int | None, target: int) -> None:
    sources = Sources(kind="reflect", observations=(observation(1),), reflections=(), into_level=1, limit_tokens=limit)
    assert target_tokens(Rules.resolve({}, {"reflect_to": 0.5}), sources) == target


@pytest.mark.parametrize(
    ("tokens", "limit", "most"),
    [(SHRINK_FROM_TOKENS, None, SHRINK_FROM_TOKENS - 1), (1_000, None, 900), (SHRINK_FROM_TOKENS, 80, 80)],
)
def test_a_result_with_what_was_put_back_is_smaller_than_its_sources(tokens: int, limit: int | None, most: int) -> None:
    chunks = (observation(1, tokens=tokens),)
    sources = Sources(kind="reflect", observations=chunks, reflections=(), into_level=1, limit_tokens=limit)
    assert restored_most(loaded(*chunks), Rules.resolve({}, {}), sources) == most


@pytest.mark.parametrize(
    ("threshold", "keep", "most"), [(9_000, 0, 4_500), (2_000, 0, 1_800), (2_000, 1_000, 900), (400, 0, 399)]
)
def test_what_a_rewrite_leaves_is_below_what_has_the_log_written_anew(threshold: int, keep: int, most: int) -> None:
    memory = loaded(reflection(1, tokens=3_000), observation(2, tokens=1_000), observation(3, tokens=1_000))
    rules = Rules.resolve({}, {"observation_tokens": threshold})
    assert restored_most(memory, rules, reflect_sources(memory, Reflect(keep_tokens=keep, whole=True))) == most


async def test_a_log_far_above_its_threshold_is_not_written_anew_for_a_tenth_of_it(service: Service) -> None:
    """Of nothing but protected lines it was, 23 times: each a call of a model, and another prefix."""
    whole = {"message_tokens": 400, "retain_tokens": 0, "keep_last": 0, "buffer_every": None, "memory_budget": 0}
    await service.configure("s1", **whole, observation_tokens=100_000)
    for first in range(0, 400, 100):
        paid = [
            f"I paid {at}20 euros for shop {at} in Porto, and {at}45 for Rua {at}." for at in range(first, first + 100)
        ]
        await service.append("s1", *map(said, paid))
        await service.observe("s1")
    long = (await service.memory("s1"))["log"]["tokens"]
    await service.configure("s1", strategy="rewrite", min_interval=0, observation_tokens=300)
    await service.append("s1", said("That is all."))
    short = (await service.observe("s1"))["log"]

    assert long > 2_000
    assert short["tokens"] < 300
    assert short["generation"] <= 6  # it is halved


def test_a_reflection_stands_where_its_sources_did_and_for_all_that_they_stood_for() -> None:
    other = UUID(int=2)
    memory = loaded(
        replace(reflection(1), source_tokens=700),
        observation(2),
        replace(observation(4), session_id=other),
    )
    items = (Item(text="a", day="May 2, 2026"),)
    best = Verdict(items=items, rejected=None, grounded_share=1.0, tokens=9)
    made = new_reflection(reflect_sources(memory, Reflect(keep_tokens=0, whole=True)), best)
    assert (made.level, made.items, made.tokens, made.source_tokens) == (1, items, 9, 2_700)
    assert (made.from_seq, made.to_seq) == (1, 40)
    assert made.covers == {MEMORY_ID: ((1, 20),), other: ((31, 40),)}
    assert (made.observations, made.reflections) == ((2, 4), (1,))


# The tries of one reflection.


class ScriptedReflector:
    """Answers with these logs, one a try; None is an answer cut off at its limit, and DOWN none at all."""

    name = Provider.SCRIPTED.value
    target_tokens_max: int | None = None

    def __init__(self, *logs: str | None) -> None:
        self.asked: list[ReflectorInput] = []
        self._logs = list(logs)

    async def draft(self, source: ReflectorInput, _before_sending: Check, /) -> Draft:
        self.asked.append(source)
        log = self._logs[len(self.asked) - 1]
        if log == DOWN:
            raise ModelError("overloaded", "come back later", retryable=True)
        text = f"<observations>\nDate: May 2, 2026\n{log or MILD}\n</observations>"
        call = Call(provider=self.name, model="", prompt_version="", usage=Usage(), latency_ms=0)
        return Draft(text=text, call=call, cut_off=log is None)

    async def estimate(self, source: ReflectorInput) -> Usage:
        raise AssertionError(source)  # nothing is counted where no cap is set


def lines(*texts: str) -> str:
    return "\n".join(f"* 🟡 [fact] {text} #1" for text in texts)


FACTS = tuple(f"The shop of street {word} sells bread and cheese on market days." for word in "abcdefgh")
NOTED = tuple(Item(text=text, priority=Priority.MEDIUM, day="May 2, 2026", cites=(Cite(1, 1),)) for text in FACTS)
RENT = Item(text="User pays Olga Petrova 1250 euros of rent.", priority=Priority.HIGH, day="May 2, 2026")
NAMES = ("Olga Petrova", "Jonas", "Mehmet", "Priscilla", "Bartholomew", "Anna-Lena Fischer")
KEPT = "* 🔴 User pays Olga Petrova 1250 euros of rent. #1"
MILD, HARDER, HARD = lines(*FACTS[:6]), lines(*FACTS[:3]), lines(FACTS[0])
DOWN = "down"
LARGE = lines(*FACTS, *FACTS[:2], "Another fact that makes it larger than it was.")


class Purse:
    """Pays for so many calls, as a cap does that is reached then."""

    def __init__(self, calls: int) -> None:
        self._calls = calls

    async def paid(
        self, _attempt: Attempt, role: Role[ReflectorInput], source: ReflectorInput, before_sending: Check
    ) -> Draft | None:
        self._calls -= 1
        return await role.draft(source, before_sending) if self._calls >= 0 else None


def reflecting(reflector: ScriptedReflector, purse: Any = None) -> Reflecting:
    """Only its thinking is asked for here, which needs no database."""
    database: Any = None
    caps = Caps(observing=True, reflecting=True)
    charging = purse or Charging(database=database, store=SpendingStore(database), caps=caps)
    return Reflecting(Means(database=database, store=MemoryStore(database), charging=charging), reflector)


async def tried(
    reflector: ScriptedReflector,
    *more: Item,
    reflect_to: float = 0.5,
    purse: Purse | None = None,
    runs: list[Run] | None = None,
) -> tuple[Verdict | None, list[Run]]:
    chunk = observation(1, *NOTED, *more, tokens=text_tokens(render([*NOTED, *more])))
    attempt = attempted(loaded(chunk), {"reflect_to": reflect_to}, runs)
    sources = reflect_sources(attempt.loaded, Reflect(keep_tokens=0))
    steps = reflecting(reflector, purse)
    return await steps._think(steps._calling, attempt, sources), attempt.runs


def attempted(memory: Loaded, config: dict[str, Any], runs: list[Run] | None = None) -> Attempt:
    lease = Lease(memory_id=memory.memory_id, epoch=1)
    return Attempt(lease=lease, loaded=memory, rules=Rules.resolve({}, config), runs=[] if runs is None else runs)


@pytest.mark.parametrize(
    ("logs", "calls", "best"),
    [
        pytest.param([HARD], 1, HARD, id="at its target at once"),
        pytest.param([MILD, HARDER], 2, HARDER, id="harder until it is"),
        pytest.param([MILD] * 4, 4, MILD, id="four times at most"),
        pytest.param([HARDER + "\n" + lines(FACTS[5]), MILD, MILD, MILD], 4, 0, id="the smallest of them"),
        pytest.param([None, LARGE, HARDER], 3, HARDER, id="after ones that are no answer"),
        pytest.param([MILD, None, LARGE, LARGE], 4, MILD, id="before ones that are no answer"),
        pytest.param([LARGE] * 4, 4, None, id="none is smaller"),
    ],
)
async def test_the_smallest_valid_result_of_four_tries_is_taken(
    logs: list[str | None], calls: int, best: str | int | None
) -> None:
    reflector = ScriptedReflector(*logs)
    verdict, runs = await tried(reflector)
    wanted = logs[best] if isinstance(best, int) else best
    assert (verdict and render(verdict.items)) == (wanted and f"Date: May 2, 2026\n{wanted}")
    assert [asked.compression for asked in reflector.asked] == list(range(1, calls + 1))
    assert len(runs) == calls


@pytest.mark.parametrize(("more", "calls"), [(0, 2), (1, 1)])
async def test_a_result_is_at_its_target_when_it_is_below_it(more: int, calls: int) -> None:
    size = text_tokens(f"Date: May 2, 2026\n{HARDER}")
    reflector = ScriptedReflector(HARDER, HARD)
    await tried(reflector, reflect_to=(size + more) / text_tokens(render(NOTED)))
    assert [asked.target_tokens for asked in reflector.asked] == [size + more] * calls


async def test_the_next_try_is_told_what_was_wrong_with_the_last() -> None:
    reflector = ScriptedReflector(MILD, None, LARGE, HARDER)
    await tried(reflector)
    mild, large = (text_tokens(f"Date: May 2, 2026\n{log}") for log in (MILD, LARGE))
    assert [asked.rejected for asked in reflector.asked] == [
        None,
        f"it had about {mild} tokens; write less",
        Rejection.CUT_OFF.reason,
        f"it had about {large} tokens; write less",
    ]


class Limited(ScriptedReflector):
    """Of a model whose limit is known from its first answer on."""

    def __init__(self, *logs: str | None, most: int) -> None:
        super().__init__(*logs)
        self._most = most

    @property
    def target_tokens_max(self) -> int | None:  # type: ignore[override] # as a role has it
        return self._most if self.asked else None


async def written(reflector: ScriptedReflector, *, whole: bool = False) -> tuple[list[int], list[Run]]:
    """Of which of four notes a reflection came about, and the calls it took."""
    size = text_tokens(render(NOTED))
    memory = loaded(*(observation(number, *NOTED, tokens=size) for number in range(1, 5)))
    sources = reflect_sources(memory, Reflect(keep_tokens=0, whole=whole))
    steps, attempt = reflecting(reflector), attempted(memory, {})
    used, verdict = await steps._written(attempt, steps._within(attempt.rules, sources))
    assert verdict is not None
    return ids(used.observations), attempt.runs


async def test_where_a_cut_answer_shows_how_little_a_model_writes_less_is_condensed_at_once() -> None:
    reflector = Limited(None, HARDER, most=text_tokens(render(NOTED)))

    used, runs = await written(reflector)

    assert (used, [run.error for run in runs]) == ([1, 2], [Rejection.CUT_OFF, None])
    assert [asked.compression for asked in reflector.asked] == [1, 1]
    assert [len(asked.items) for asked in reflector.asked] == [4 * len(NOTED), 2 * len(NOTED)]


async def test_as_much_is_condensed_as_a_model_is_known_to_write() -> None:
    reflector = Limited(None, HARDER, HARDER, most=1)
    await written(reflector)

    assert (await written(reflector))[0] == [1]
    assert reflector.asked[-1].target_tokens == 1


async def test_a_whole_rewrite_is_written_shorter_where_a_model_writes_little() -> None:
    reflector = Limited(None, HARDER, most=200)

    assert (await written(reflector, whole=True))[0] == [1, 2, 3, 4]
    assert reflector.asked[0].target_tokens > reflector.asked[1].target_tokens == 200


async def test_where_no_try_is_an_answer_the_step_fails_with_its_calls() -> None:
    runs: list[Run] = []
    with pytest.raises(StepFailed) as failed:
        await tried(ScriptedReflector(None, None, LARGE, LARGE), runs=runs)
    assert failed.value.kind == Rejection.NOT_SMALLER
    assert [run.outcome for run in runs] == ["rejected"] * 4


async def test_a_try_that_gets_no_answer_leaves_the_best_so_far_or_a_failed_step() -> None:
    verdict, runs = await tried(ScriptedReflector(None, MILD, DOWN, HARDER))
    assert verdict is not None
    assert render(verdict.items) == f"Date: May 2, 2026\n{MILD}"
    assert [run.outcome for run in runs] == ["rejected", "recorded", "failed"]

    runs = []
    with pytest.raises(StepFailed) as failed:
        await tried(ScriptedReflector(None, DOWN, MILD), runs=runs)
    assert failed.value.kind == "overloaded"
    assert [run.outcome for run in runs] == ["rejected", "failed"]


async def test_a_cap_between_the_tries_leaves_the_best_so_far_or_a_failed_step() -> None:
    verdict, runs = await tried(ScriptedReflector(LARGE, MILD), purse=Purse(2))
    assert (verdict and render(verdict.items), len(runs)) == (f"Date: May 2, 2026\n{MILD}", 2)
    runs = []
    with pytest.raises(StepFailed) as failed:  # the tries that were not made might have helped
        await tried(ScriptedReflector(LARGE), purse=Purse(1), runs=runs)
    assert (failed.value.kind, len(runs)) == (Rejection.NOT_SMALLER, 1)


@pytest.mark.parametrize(
    ("logs", "calls"),
    [
        pytest.param([f"{KEPT}\n{MILD}", HARDER], 2, id="not harder than what lost a protected line"),
        pytest.param([MILD], 1, id="the first lost it"),
    ],
)
async def test_what_loses_protected_lines_is_not_followed_by_a_harder_try_and_they_are_put_back(
    logs: list[str | None], calls: int
) -> None:
    reflector = ScriptedReflector(*logs)
    verdict, _ = await tried(reflector, RENT)
    assert verdict is not None
    assert len(reflector.asked) == calls
    assert "Olga Petrova 1250" in render(verdict.items)
    assert all(fact in render(verdict.items) for fact in FACTS[:6]), "the earlier one was the better"


@pytest.mark.parametrize(("protected", "calls"), [(5, 1), (6, 2)])
async def test_more_than_0_8_of_the_protected_lines_are_to_survive_a_try(protected: int, calls: int) -> None:
    rents = [replace(RENT, text=f"User pays {name} {1_000 + len(name)} euros of rent.") for name in NAMES[:protected]]
    kept = "\n".join(f"* 🔴 {rent.text} #1" for rent in rents[1:])
    reflector = ScriptedReflector(f"{kept}\n{MILD}", kept)
    await tried(reflector, *rents)
    assert len(reflector.asked) == calls


async def test_lines_that_are_put_back_leave_a_tenth_or_a_log_of_such_lines_would_never_shrink() -> None:
    rents = [replace(RENT, text=f"User pays Olga Petrova {euros} euros of rent.") for euros in range(1_000, 1_100)]
    verdict, runs = await tried(ScriptedReflector(HARD), *rents)
    facts = [Item(text=text, priority=Priority.MEDIUM, day="May 2, 2026") for text in FACTS]
    assert verdict is not None
    assert verdict.tokens <= RESTORED_SHARE * text_tokens(render([*facts, *rents])) + 50  # the facts' citations
    assert rents[-1].text in render(verdict.items)
    assert rents[0].text not in render(verdict.items)
    left_out = sum(rent.text not in render(verdict.items) for rent in rents)
    assert [run.error for run in runs] == [f"no room for {left_out} of the 100 protected lines"]


async def test_the_run_whose_result_is_kept_tells_what_it_had_no_room_for() -> None:
    rents = [replace(RENT, text=f"User pays Olga Petrova {euros} euros of rent.") for euros in range(1_000, 1_100)]
    kept = "\n".join(f"* 🔴 {rent.text}" for rent in rents[:85])
    verdict, runs = await tried(ScriptedReflector(kept, HARDER), *rents)
    assert verdict is not None
    left_out = sum(rent.text not in render(verdict.items) for rent in rents)
    assert left_out > 0
    assert [run.error for run in runs] == [f"no room for {left_out} of the 100 protected lines", None]
