"""What the fuzz has found in the service, each told as shortly as it can be."""

from datetime import UTC, datetime
from typing import Any

import pytest

from app.llm.port import TOO_LONG
from app.memory.narrowing import FAILED
from app.memory.queue_store import QueueStore
from app.memory.spending import Cap, Caps
from app.memory.steps import NEVER, Wait
from app.memory.store import MemoryStore
from tests.fuzz.caps import Purse
from tests.fuzz.model import CALL_TOKENS, Fate
from tests.fuzz.world import World
from tests.journeys.looks import Json

LONG = "On 7 May Ana paid invoice 7 of 720 euros for the shop in Porto, and we decided to keep it. " * 20
WAITS = {"message_tokens": 400, "buffer_every": None, "block_after": 100_000}


def call(world: World, call_id: str = "c-1", **fields: Any) -> Json:
    part = {"type": "tool_call", "id": call_id, "name": "look_up", "arguments": {}}
    return world.message("assistant", [{"type": "text", "text": LONG}, part], **fields)


def result(world: World, **fields: Any) -> Json:
    return world.message("tool", [{"type": "tool_result", "tool_call_id": "c-1", "output": "ok"}], **fields)


async def say(world: World, *messages: Json) -> None:
    await world.append(0, messages)
    await world.processes[0].quiet()


@pytest.mark.parametrize("closing", ["result", "user", "boundary"])
async def test_a_message_that_is_skipped_may_close_a_call_and_so_let_it_be_observed(world: World, closing: str) -> None:
    closings = {
        "result": result(world, observe=False),
        "user": world.message("user", "Never mind.", observe=False),
        "boundary": world.message("system", "Done.", kind="boundary"),
    }
    await world.configure(0, WAITS)
    await say(world, call(world))
    waiting = await world.facts()
    await say(world, closings[closing])
    await world.check()
    observed = await world.facts()

    assert (waiting.observed_seq, observed.observed_seq) == (0, 2)


async def test_a_call_that_is_skipped_is_not_parted_from_its_result(world: World) -> None:
    await world.configure(0, WAITS)
    await say(world, world.message("user", LONG))
    await say(world, call(world, observe=False), world.message("assistant", LONG))
    waiting = await world.facts()
    await say(world, result(world))
    await world.check()
    observed = await world.facts()

    assert (waiting.observed_seq, observed.observed_seq) == (1, 4)


async def test_what_closes_a_call_while_the_engine_is_about_to_settle_is_looked_at(world: World) -> None:
    queue, store = QueueStore(world.database), MemoryStore(world.database)
    await world.configure(0, WAITS)
    await say(world, call(world))
    await world.due()
    lease = await queue.claim(world.memory, owner="test", seconds=60)
    assert lease is not None
    standing = await store.look(lease)
    assert standing is not None
    await world.append(1, [world.message("system", "Done.", kind="boundary")])
    due = await queue.settle(lease, Wait(at_tokens=NEVER), standing.requested_at)

    assert due is True


@pytest.mark.parametrize(("more", "due"), [(0, True), (1, False)])
async def test_what_reaches_a_threshold_while_the_engine_is_about_to_settle_is_looked_at(
    world: World, more: int, due: bool
) -> None:
    queue = QueueStore(world.database)
    await world.configure(0, WAITS)
    await say(world, world.message("user", "Hi."))
    await world.due()
    lease = await queue.claim(world.memory, owner="test", seconds=60)
    assert lease is not None
    await world.append(1, [world.message("user", LONG)])
    pending = (await world.facts()).memory["pending_tokens"]

    assert await queue.settle(lease, Wait(at_tokens=pending + more), None) is due


@pytest.mark.parametrize("step", ["observe", "redrive", None])
async def test_a_try_that_somebody_asks_for_is_the_first_again(world: World, step: str | None) -> None:
    await world.configure(0, WAITS)
    world.processes[0].script.planned += [Fate.RETRYABLE] * 2
    await say(world, world.message("user", LONG))
    failed = await world.facts()
    if step is not None:
        await world.request(0, step)
    else:
        await QueueStore(world.database).redrive()
        await world.work(0)
    await world.processes[0].quiet()
    facts = await world.facts()

    assert not world.processes[0].script.planned
    assert [found.memory["attempts"] for found in (failed, facts)] == [1, 1]


async def test_what_closes_a_call_ends_no_back_off(world: World) -> None:
    await world.configure(0, WAITS)
    world.processes[0].script.planned.append(Fate.RETRYABLE)
    await say(world, world.message("user", LONG))
    await world.waits()
    failed = await world.facts()
    await say(world, world.message("system", "Done.", kind="boundary"))
    facts = await world.facts()

    assert facts.memory["attempts"] == 1
    assert facts.memory["due_at"] == failed.memory["due_at"]


async def test_what_closes_a_call_during_another_step_of_the_same_run_is_looked_at(world: World) -> None:
    await world.configure(0, WAITS)
    await say(world, world.message("user", LONG))
    await say(world, call(world))
    world.processes[0].script.planned.append(Fate.HELD)
    await world.request(0, "reflect")
    await world.processes[0].quiet()
    held = len(world.processes[0].script.held)
    await world.append(1, [result(world)])
    await world.release(0, Fate.GOOD)
    await world.check()
    facts = await world.facts()

    assert (held, facts.observed_seq) == (1, 3)


async def test_a_failed_wish_that_nobody_has_any_more_leaves_no_error_behind(world: World) -> None:
    await say(world, world.message("user", LONG))
    world.processes[0].script.planned.append(Fate.RETRYABLE)
    await world.request(0, "observe")
    await world.processes[0].quiet()
    failed = await world.facts()
    await world.request(0, "reflect")
    await world.processes[0].quiet()
    facts = await world.facts()

    assert failed.memory["attempts"] == 1
    assert (facts.memory["attempts"], facts.memory["last_error"], facts.memory["due_at"]) == (0, None, None)


@pytest.mark.parametrize("end", ["settled", "given back", "failed"])
async def test_a_renewal_that_crosses_the_end_of_its_lease_changes_nothing(world: World, end: str) -> None:
    queue = QueueStore(world.database)
    await world.configure(0, WAITS)
    await world.processes[0].quiet()
    await world.due()
    lease = await queue.claim(world.memory, owner="test", seconds=60)
    assert lease is not None
    match end:
        case "settled":
            await queue.settle(lease, Wait(at_tokens=400), None)
        case "given back":
            await queue.give_back(lease)
        case _:
            async with world.database.tx() as tx:
                await queue.fail(tx, lease, attempts=1, error={}, until=datetime(2100, 1, 1, tzinfo=UTC))
    ended = await world.facts()
    renewed = await queue.renew(lease, seconds=60)
    facts = await world.facts()

    assert renewed is False
    assert facts.memory == ended.memory


@pytest.mark.parametrize("how", ["appended", "replaced"])
async def test_what_waits_for_a_reflection_is_still_observed_at_its_threshold(world: World, how: str) -> None:
    """A wait until min_interval ends is no back-off: what reaches a threshold ends it."""
    await world.configure(0, {**WAITS, "observation_tokens": 1, "memory_budget": 0, "min_interval": 86_400})
    for _ in range(2):
        await say(world, world.message("user", LONG))
    waiting = await world.facts()
    message = world.message("user", LONG)
    if how == "replaced":
        await say(world, {**message, "content": "Hi."})
        await world.replace(0, message["id"], message)
        await world.processes[0].quiet()
    else:
        await say(world, message)
    facts = await world.facts()

    assert waiting.memory["due_at"] is not None
    assert (waiting.observed_seq, facts.observed_seq) == (2, 3)


async def test_a_result_that_did_not_help_is_minded_until_one_does(world: World) -> None:
    await world.configure(0, {**WAITS, "observation_tokens": 1, "memory_budget": 0})
    world.processes[0].script.planned += [Fate.GOOD, *[Fate.TOO_LONG] * 4]
    await say(world, world.message("user", LONG))
    unhelped = (await world.facts()).memory
    await say(world, world.message("user", LONG))
    helped = (await world.facts()).memory

    assert unhelped["unhelped_tokens"] == unhelped["observation_tokens"] > 0
    assert unhelped["reflected_at"] is not None  # min_interval counts from it too
    told = unhelped["last_error"]
    assert (unhelped["attempts"], unhelped["due_at"], told["step"], told["kind"]) == (0, None, "reflect", "unhelped")
    assert (helped["unhelped_tokens"], helped["observation_tokens"], helped["last_error"]) == (None, 0, None)


async def test_what_its_process_is_lost_at_is_shown_in_less(world: World) -> None:
    await world.configure(0, WAITS)
    world.processes[0].script.planned += [Fate.LOST]
    await say(world, world.message("user", LONG))
    memory = (await world.facts()).memory

    assert memory["last_error"]["kind"] == TOO_LONG
    assert memory["last_error"][FAILED] == {TOO_LONG: 1}


async def test_that_nothing_helped_is_told_no_more_once_the_notes_are_others(world: World) -> None:
    await world.configure(0, {**WAITS, "observation_tokens": 1, "memory_budget": 0})
    world.processes[0].script.planned += [Fate.GOOD, *[Fate.TOO_LONG] * 4]
    await say(world, world.message("user", LONG))
    await world.delete(0, "observations", None)
    await world.work(0)

    memory = (await world.facts()).memory
    assert (memory["unhelped_tokens"], memory["last_error"]) == (None, None)


async def test_a_failure_after_a_step_that_went_well_is_the_first_again(world: World) -> None:
    await world.configure(0, {**WAITS, "observation_tokens": 1, "memory_budget": 0})
    world.processes[0].script.planned += [Fate.RETRYABLE, Fate.GOOD, Fate.RETRYABLE]
    await say(world, world.message("user", LONG))
    await world.due()
    await world.work(0)
    await world.processes[0].quiet()
    memory = (await world.facts()).memory

    assert not world.processes[0].script.planned
    assert (memory["last_error"]["step"], memory["attempts"]) == ("reflect", 1)


async def test_a_cap_is_passed_by_each_call_whose_lease_an_act_took_and_by_no_other(world: World) -> None:
    """What it has reserved counts no more though it goes on, until it is cancelled (docs/decisions/0016)."""
    purse = Purse(world.database, world.processes)
    await purse.allow(Caps(tenant=Cap(tokens=CALL_TOKENS)))
    await world.configure(0, {"message_tokens": 400, "buffer_every": None})
    world.processes[0].script.planned.append(Fate.HELD)
    await say(world, world.message("user", LONG))
    await world.append(1, [world.message("user", "Hello.")])
    await world.work(1)
    await purse.check()
    before = await spent(world)
    await world.erase(1, "m-2")
    await world.work(1)
    await world.release(0, Fate.GOOD)
    await purse.check()

    assert (before, await spent(world)) == (0, 2 * CALL_TOKENS)
    assert [process.uncounted for process in world.processes] == [1, 0]


async def spent(world: World) -> int:
    async with world.database.connection() as connection:
        return int(await connection.fetchval("SELECT coalesce(sum(tokens), 0) FROM tenant_spending"))
