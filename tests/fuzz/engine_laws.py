"""A Hypothesis state machine of callers, processes, models and clocks, which checks every law after each step."""

import asyncio
from itertools import cycle
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from app.memory.spending import Cap, Caps
from tests.fuzz.caps import Purse
from tests.fuzz.model import Fate
from tests.fuzz.processes import LONG_LEASE, SHORT_LEASE
from tests.fuzz.world import CONFIG, World

processes = st.integers(0, 2)
sessions = st.sampled_from([1, 1, 2, 3])  # that share one memory
fates = st.sampled_from(Fate)
ends = st.sampled_from([fate for fate in Fate if fate is not Fate.HELD])
plans = st.lists(fates, max_size=3)
observed = st.sampled_from([None, None, None, False])
scopes = st.sampled_from(["session", "resource"])
places = st.sampled_from(["there", "elsewhere"])
caps = st.builds(
    lambda session, tenant: Caps(session=Cap(tokens=session), tenant=Cap(tokens=tenant)),
    st.sampled_from([None, None, 1, 3, 9, 30]),
    st.sampled_from([None, None, 3, 12]),
)
BRANCHES, COPIES = 3, 2  # of a history at most
kinds = st.sampled_from(["observations", "reflections"])
changes = st.sampled_from(
    [
        None,
        None,
        {"text": "It is otherwise."},
        {"category": "insight"},
        {"category": "decision", "valid_from": "2020-01-01T00:00:00Z"},
        {"valid_to": "2100-01-01T00:00:00Z"},
        {"valid_to": None},
    ]
)
WORDS = "On {n} May Ana paid invoice {n} of {n}20 euros for the shop in Porto, and we decided to keep it. "
sizes = st.sampled_from([0, 1, 2, 4, 12, 50])  # times WORDS, some 25 tokens each
configs = st.fixed_dictionaries(
    {},
    optional={
        "enabled": st.booleans(),
        "message_tokens": st.sampled_from([1, 120, 400, 800, 4_000]),
        "observation_tokens": st.sampled_from([60, 250, 800]),
        "memory_budget": st.sampled_from([0, 1_000, 4_000]),
        "message_budget": st.sampled_from([0, 300, 1_500]),
        "buffer_every": st.sampled_from([None, 0, 0.1, 0.25, 0.5, 1, 100]),
        "retain_tokens": st.sampled_from([0, 0.2, 0.9, 100, 5_000]),
        "block_after": st.sampled_from([1, 1.2, 3, 100_000]),
        "reflect_keep": st.sampled_from([0, 0.5, 1]),
        "consolidate_at": st.sampled_from([2, 3]),
        "strategy": st.sampled_from(["leveled", "rewrite"]),
        "min_interval": st.sampled_from([0, 3_600]),
        "compact_on_observe": st.booleans(),
        "keep_last": st.sampled_from([0, 2, 12]),
        "observer_input_tokens": st.sampled_from([0, 50, 300]),
        "previous_observation_tokens": st.sampled_from([0, 200]),
        "cache_ttl": st.sampled_from([0, 300]),
        "preset": st.sampled_from(["default", "compact", "classic", None]),
        "timezone": st.sampled_from(["Asia/Tokyo", "America/Los_Angeles", None]),
        "instruction": st.sampled_from(["Note prices.", None]),
        "retention": st.sampled_from([{"days": 1, "keep": "memory"}, {"days": 0}, None]),
    }
    | {name: st.none() for name in ("max_reflections", "max_observations", "keep_last_tool_results", "reflect_to")},
)


class EngineLaws(RuleBasedStateMachine):
    """``runner`` runs the acts of ``world`` one by one; between two acts nothing runs."""

    runner: asyncio.Runner
    parts: tuple[Any, ...]

    def __init__(self) -> None:
        super().__init__()
        self.world = World(*self.parts)
        self.purse = Purse(*self.parts)
        self.sharers = [self.world]
        self.branches: list[World] = []
        self.copies: list[World] = []
        self.marks = 0

    def do(self, act: Any) -> None:
        self.runner.run(act)

    @initialize(
        config=configs,
        plain=st.booleans(),
        lease=st.sampled_from([LONG_LEASE, SHORT_LEASE]),
        sharers=sessions,
        allowed=caps,
        owned=st.booleans(),
    )
    def begin(
        self, config: dict[str, Any], plain: bool, lease: float, sharers: int, allowed: Caps, owned: bool
    ) -> None:
        self.do(self.purse.allow(allowed))
        self.do(self.world.start(lease_seconds=lease))
        if sharers > 1:
            self.sharers = self.runner.run(self.world.share(sharers))
        elif owned:
            self.do(self.world.belong())
        if not plain:
            self.do(self.world.configure(0, CONFIG | config))

    # Callers.

    @precondition(lambda self: len(self.sharers) + len(self.branches) + len(self.copies) > 1)
    @rule(which=st.integers(0, 5))
    def turn(self, which: int) -> None:
        """Continue in another of the sessions that share the memory, in a branch, or in a copy."""
        worlds = [*self.sharers, *self.branches, *self.copies]
        self.world = worlds[which % len(worlds)]

    @precondition(lambda self: len(self.branches) < BRANCHES)
    @rule(at=processes, back=st.integers(0, 8))
    def branch(self, at: int, back: int) -> None:
        branch = self.runner.run(self.world.branch(at, back))
        self.branches += [] if branch is None else [branch]

    @precondition(lambda self: len(self.copies) < COPIES and self.world.origin is None)
    @rule()
    def copy(self) -> None:
        copy = self.runner.run(self.world.copy())
        self.copies += [] if copy is None else [copy]

    @rule(at=processes, config=configs, plan=st.sampled_from(["free", "pro", None]))
    def put_resource(self, at: int, config: dict[str, Any], plan: str | None) -> None:
        self.do(self.world.put_resource(at, config, {"plan": plan}))

    @rule(at=processes)
    def end(self, at: int) -> None:
        self.do(self.world.end(at))

    @rule(at=processes, topics=st.lists(st.sampled_from(["dog", "sister", "boat"]), max_size=3))
    def know(self, at: int, topics: list[str]) -> None:
        """Say lasting facts and end the session, whereupon facts are noted if it belongs to a resource."""
        said = [self.text("user", 0, words=f"My {topic} is called Rex.") for topic in topics]
        if said:
            self.do(self.world.append(at, said))
        self.do(self.world.end(at))
        self.do(self.world.work(at))

    @rule(at=processes, where=st.sampled_from(["here", "there", None]), scope=scopes)
    def visit(self, at: int, where: str | None, scope: str) -> None:
        self.do(self.sharers[0].visit(at, where, scope))

    @rule(visits=st.lists(st.tuples(places, st.one_of(scopes, st.sampled_from(["say", "delete"]))), max_size=8))
    def visits_at_once(self, visits: list[tuple[str, str]]) -> None:
        self.do(self.world.visits_at_once(visits))

    @rule(at=processes, planned=plans)
    def part(self, at: int, planned: list[Fate]) -> None:
        self.world.processes[at].script.planned.extend(planned)
        self.do(self.world.part(at))

    @rule(at=processes, size=sizes, role=st.sampled_from(["user", "assistant"]), observe=observed)
    def say(self, at: int, size: int, role: str, observe: bool | None) -> None:
        self.do(self.world.append(at, [self.text(role, size, observe)]))

    @rule(at=processes, sizes=st.lists(sizes, min_size=2, max_size=8), planned=plans)
    def say_much(self, at: int, sizes: list[int], planned: list[Fate]) -> None:
        self.world.processes[at].script.planned.extend(planned)
        roles = cycle(["user", "assistant"])
        self.do(self.world.append(at, [self.text(role, size) for role, size in zip(roles, sizes, strict=False)]))

    @rule(at=processes, boundary=st.booleans())
    def say_system(self, at: int, boundary: bool) -> None:
        fields = {"kind": "boundary"} if boundary else {}
        self.do(self.world.append(at, [self.world.message("system", "The topic is closed.", **fields)]))

    @rule(at=processes, calls=st.integers(1, 3), observe=observed)
    def call_tools(self, at: int, calls: int, observe: bool | None) -> None:
        ids = [f"call-{len(self.world.messages)}-{number}" for number in range(calls)]
        parts = [{"type": "tool_call", "id": name, "name": "look_up", "arguments": {"id": name}} for name in ids]
        self.world.open_calls += ids
        self.do(self.world.append(at, [self.world.message("assistant", parts, observe=observe)]))

    @precondition(lambda self: self.world.open_calls)
    @rule(at=processes, which=st.integers(0, 100), size=sizes, observe=observed)
    def answer_tool(self, at: int, which: int, size: int, observe: bool | None) -> None:
        name = self.world.open_calls.pop(which % len(self.world.open_calls))
        part = {"type": "tool_result", "tool_call_id": name, "output": WORDS.format(n=7) * size}
        self.do(self.world.append(at, [self.world.message("tool", [part], observe=observe)]))

    @precondition(lambda self: self.world.messages)
    @rule(at=processes, which=st.integers(0, 1_000), number=st.integers(1, 5), more=st.booleans())
    def retry(self, at: int, which: int, number: int, more: bool) -> None:
        sent = list(self.world.messages.values())
        first = which % len(sent)
        again = sent[first : first + number]
        self.do(self.world.append(at, [*again, self.text("user", 1)] if more else again))

    @precondition(lambda self: self.world.told)
    @rule(at=processes, which=st.integers(0, 1_000))
    def contradict(self, at: int, which: int) -> None:
        told = list(self.world.told)
        self.do(self.world.conflict(at, told[which % len(told)]))

    @precondition(lambda self: self.world.told)
    @rule(
        at=processes, back=st.integers(0, 5), size=sizes, role=st.sampled_from(["user", "assistant"]), observe=observed
    )
    def replace(self, at: int, back: int, size: int, role: str, observe: bool | None) -> None:
        """Replace one of the newest messages, perhaps a call or a result, by a text."""
        known = sorted(self.world.told, key=lambda name: -self.world.told[name])[: back + 1][-1]
        self.do(self.world.replace(at, known, self.text(role, size, observe)))

    @precondition(lambda self: self.world.told)
    @rule(at=processes, which=st.integers(0, 1_000), planned=plans)
    def erase(self, at: int, which: int, planned: list[Fate]) -> None:
        self.world.processes[at].script.planned.extend(planned)
        told = list(self.world.told)
        self.do(self.world.erase(at, told[which % len(told)]))

    @rule(at=processes)
    def expire(self, at: int) -> None:
        self.do(self.world.expire(at))

    @rule(at=processes, step=st.sampled_from(["observe", "reflect", "redrive"]))
    def request(self, at: int, step: str) -> None:
        self.do(self.world.request(at, step))

    @rule(at=processes, back=st.integers(0, 8), given=st.booleans())
    def compact(self, at: int, back: int, given: bool) -> None:
        self.do(self.world.compact(at, back, WORDS.format(n=back) if given else None))

    @rule(at=processes, config=configs)
    def configure(self, at: int, config: dict[str, Any]) -> None:
        self.do(self.world.configure(at, config))

    @rule(at=processes, which=st.integers(0, 100), change=changes)
    def tell_of_fact(self, at: int, which: int, change: dict[str, Any] | None) -> None:
        self.do(self.world.tell_of_fact(at, which, change))

    @rule(at=processes, notes=kinds, which=st.integers(0, 100))
    def edit(self, at: int, notes: str, which: int) -> None:
        self.do(self.world.edit(at, notes, which))

    @rule(at=processes, notes=kinds, which=st.integers(0, 100) | st.none())
    def delete(self, at: int, notes: str, which: int | None) -> None:
        self.do(self.world.delete(at, notes, which))

    @rule(at=processes)
    def look(self, at: int) -> None:
        self.do(self.world.look(at))

    # Processes.

    @rule(at=processes, planned=plans)
    def work(self, at: int, planned: list[Fate]) -> None:
        self.world.processes[at].script.planned.extend(planned)
        self.do(self.world.work(at))

    @rule(size=sizes, sizes=st.lists(sizes, max_size=3))
    def all_at_once(self, size: int, sizes: list[int]) -> None:
        """Appends, a retry and claims through all processes concurrently."""
        one, many = self.text("user", size), [self.text("assistant", size) for size in sizes]
        self.do(self.world.at_once([one], [one, *many], many))

    @rule(at=processes, size=sizes, outlived=st.booleans(), fate=ends)
    def think_long(self, at: int, size: int, outlived: bool, fate: Fate) -> None:
        """A model call hangs while more is appended, and mostly another process takes over; then it returns."""
        self.world.processes[at].script.planned.appendleft(Fate.HELD)
        self.do(self.world.append(at, [self.text("user", size)]))
        self.do(self.world.work(at))
        self.do(self.world.append((at + 1) % 3, [self.text("assistant", size)]))
        if outlived:
            self.do(self.world.leases_end())
            self.do(self.world.work((at + 1) % 3))
        self.do(self.world.release(at, fate))

    @rule(at=processes, fate=ends)
    def release(self, at: int, fate: Fate) -> None:
        self.do(self.world.release(at, fate))

    @rule(at=processes)
    def kill(self, at: int) -> None:
        self.do(self.world.processes[at].kill())

    @rule(at=processes)
    def stop(self, at: int) -> None:
        self.do(self.world.processes[at].stop())

    @rule(at=processes, statements=st.integers(0, 25), inside=st.booleans())
    def die_soon(self, at: int, statements: int, inside: bool) -> None:
        self.world.processes[at].life.ends_in(statements, inside=inside)

    @rule(allowed=caps)
    def allow(self, allowed: Caps) -> None:
        self.do(self.purse.allow(allowed))

    # Clocks.

    @rule()
    def day_passes(self) -> None:
        self.do(self.purse.day_passes())

    @rule()
    def leases_end(self) -> None:
        self.do(self.world.leases_end())

    @rule()
    def hours_pass(self) -> None:
        self.do(self.world.hours_pass())

    @invariant()
    def laws_hold(self) -> None:
        for world in (self.sharers[0], *self.branches, *self.copies):
            self.do(world.check())
        self.do(self.purse.check())

    def teardown(self) -> None:
        try:
            self.do(self.purse.allow(Caps()))
            self.do(self.purse.check())
            for world in (self.sharers[0], *self.branches, *self.copies):
                self.do(world.settle())
        finally:
            self.do(self.world.clear())

    def text(self, role: str, size: int, observe: bool | None = None, *, words: str = "") -> dict[str, Any]:
        fields = {} if observe is None else {"observe": observe}
        said = words or WORDS.format(n=len(self.world.messages) % 28 + 1) * size
        self.marks += 1
        return self.world.message(role, said and f"{said} mark-{self.marks}-", **fields)
