"""A worker that lost its lease while its model thought records nothing, though nothing else has changed meanwhile."""

import pytest

from tests.fuzz.model import Fate
from tests.fuzz.test_found import LONG, say
from tests.fuzz.world import World

OBSERVED = {"message_tokens": 400, "buffer_every": None}
BUFFERED = {"message_tokens": 10_000, "buffer_every": 200}
REFLECTED = {**OBSERVED, "observation_tokens": 10, "reflect_keep": 0}


@pytest.mark.parametrize("fate", [Fate.GOOD, Fate.EMPTY, Fate.RETRYABLE, Fate.BUG], ids=str)
@pytest.mark.parametrize(
    ("config", "calls"), [(OBSERVED, 0), (BUFFERED, 0), (REFLECTED, 1)], ids=["observe", "buffer", "reflect"]
)
async def test_a_step_whose_lease_was_taken_over_meanwhile_writes_nothing(
    world: World, config: dict[str, int], calls: int, fate: Fate
) -> None:
    zombie, heir = world.processes
    zombie.script.planned.extend([Fate.GOOD] * calls + [Fate.HELD])
    heir.script.planned.append(Fate.HELD)
    await world.configure(0, config)
    await say(world, world.message("user", LONG))
    await world.leases_end()
    await heir.work(world.memory)
    taken = await world.facts()
    await world.release(0, fate)
    facts = await world.facts()
    await world.release(1, Fate.GOOD)
    await world.check()
    done = await world.facts()

    assert (taken.memory["lease_owner"], facts.memory) == ("process-1", taken.memory)
    assert (facts.observations, facts.reflections, facts.runs) == (taken.observations, taken.reflections, taken.runs)
    assert len(done.runs) > len(taken.runs)
