"""Law 7: whoever's lease was taken over writes nothing. What takes a lease is found, so a new one is asked."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from app.kit.db import Database, DatabaseConfig, Tx
from app.llm.guard import Guard, GuardConfig, GuardedModel
from app.llm.port import ModelReply, ModelRequest, Provider, Stop, Usage
from app.memory import locking_store
from app.memory.calling import Calling
from app.memory.changing import parting_store
from app.memory.changing.rebuilding import Rebuilding
from app.memory.charging import Charging
from app.memory.extractive.roles import ExtractiveObserver
from app.memory.means import Means
from app.memory.model import ObserverInput
from app.memory.observer import ModelObserver
from app.memory.observing import Observing
from app.memory.outcomes import Outcome, StepFailed
from app.memory.queue_store import QueueStore
from app.memory.records import Attempt, Gap, Lease
from app.memory.rules import Rules
from app.memory.spending import Account, Amount, Cap, Caps, amount
from app.memory.spending_store import SpendingStore
from app.memory.steps import Request, Wait
from app.memory.store import MemoryStore
from app.sessions import deleting_store
from app.sessions.sharing_store import hold_related
from app.sessions.store import SessionStore, session_id
from tests.databases import TABLES
from tests.memory.building import EMPTY

LEASED = [
    f"{store.__name__.rpartition('.')[2]}.{name}"
    for store in (MemoryStore, QueueStore, SpendingStore, locking_store)
    for name, method in inspect.getmembers(store, inspect.isfunction)
    if Lease in (parameter.annotation for parameter in inspect.signature(method).parameters.values())
]
UNFENCED = {
    "MemoryStore.add_runs",  # stands behind `fence` in its transaction
    "SpendingStore.charge",  # what a call has cost was spent, whoever has the lease by then
}

USAGE = Usage(input_tokens=10, output_tokens=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A memory that one worker had claimed, and another has."""

    database: Database
    stale: Lease
    held: Lease

    async def rows(self) -> list[str]:
        async with self.database.connection() as connection:
            tables = [await connection.fetch(f"SELECT * FROM {table}") for table in TABLES]  # noqa: S608 - our own names
        return sorted(repr(row) for table in tables for row in table)

    async def call(self, name: str, lease: Lease) -> Any:
        async with self.database.tx() as tx:
            return await CALLS[name](self.database, tx, lease)


@pytest.fixture
async def scene(database_url: str) -> AsyncIterator[Scene]:
    database = Database(DatabaseConfig(url=database_url, pool_min=1, pool_max=3))
    await database.open()
    try:
        queue, memory = QueueStore(database), session_id("default", "s")
        await make_session(database)
        stale = await queue.claim(memory, owner="one", seconds=60)
        async with database.connection() as connection:
            await connection.execute("UPDATE memories SET due_at = now()")
        held = await queue.claim(memory, owner="other", seconds=60)
        assert stale is not None
        assert held is not None
        yield Scene(database=database, stale=stale, held=held)
    finally:
        await database.close()


async def make_session(database: Database) -> None:
    await SessionStore(database).put(
        tenant="default",
        key="s",
        resource_id=None,
        config={"message_tokens": 400},
        metadata={},
        metadata_bytes_max=1_024,
        timezone="UTC",
    )


async def charge(spending: SpendingStore, lease: Lease, *, reserved_at: datetime) -> None:
    await spending.charge(lease, "default", amount(USAGE), unpriced_tokens=0, reserved_at=reserved_at)


async def fail(database: Database, tx: Tx, lease: Lease) -> None:
    await QueueStore(database).fail(tx, lease, attempts=1, error={"kind": "timeout"}, until=datetime.now(UTC))


async def reserve(database: Database, tx: Tx, lease: Lease) -> None:
    await SpendingStore(database).reserve(tx, lease, "default", Amount(tokens=1))


WRITES: dict[str, Callable[[Database, Tx, Lease], Awaitable[Any]]] = {
    "QueueStore.renew": lambda database, _, lease: QueueStore(database).renew(lease, seconds=90, step="observe"),
    "QueueStore.settle": lambda database, _, lease: QueueStore(database).settle(lease, Wait(at_tokens=1), None),
    "QueueStore.give_back": lambda database, _, lease: QueueStore(database).give_back(lease),
    "QueueStore.fail": fail,
    "SpendingStore.reserve": reserve,
}
READS: dict[str, Callable[[Database, Tx, Lease], Awaitable[Any]]] = {
    "MemoryStore.look": lambda database, _, lease: MemoryStore(database).look(lease),
    "MemoryStore.holds": lambda database, _, lease: MemoryStore(database).holds(lease),
    "MemoryStore.load": lambda database, _, lease: MemoryStore(database).load(lease, EMPTY),
    "locking_store.fence": lambda _, tx, lease: locking_store.fence(tx, lease, lease.memory_id),
    "locking_store.fence_all": lambda _, tx, lease: locking_store.fence_all(tx, lease, [lease.memory_id]),
}
CALLS = WRITES | READS


def test_everything_that_takes_a_lease_is_asked() -> None:
    assert {*LEASED} == {*CALLS} | UNFENCED


@pytest.mark.parametrize("name", WRITES)
async def test_a_write_under_a_lease_that_was_taken_over_changes_nothing(scene: Scene, name: str) -> None:
    before = await scene.rows()
    answer = await scene.call(name, scene.stale)

    assert not answer
    assert await scene.rows() == before


@pytest.mark.parametrize("name", WRITES)
async def test_each_of_these_writes_changes_something_under_the_lease_that_is_held(scene: Scene, name: str) -> None:
    before = await scene.rows()
    await scene.call(name, scene.held)

    assert await scene.rows() != before


@pytest.mark.parametrize("name", READS)
async def test_what_stands_before_a_write_tells_whether_the_lease_is_held(scene: Scene, name: str) -> None:
    assert not await scene.call(name, scene.stale)
    assert await scene.call(name, scene.held)


@pytest.mark.parametrize(
    "act",
    [QueueStore.resume, QueueStore.redrive, lambda queue: queue.request(session_id("default", "s"), Request.LOOK)],
    ids=["resume", "redrive", "request"],
)
async def test_no_hurry_takes_a_memory_from_who_is_at_work_on_it_nor_a_wish_from_who_has_it(
    scene: Scene, act: Callable[[QueueStore], Awaitable[object]]
) -> None:
    """A call that was paid for would be made again, and a step that was asked for never."""
    queue = QueueStore(scene.database)
    async with scene.database.connection() as connection:
        await connection.execute("UPDATE memories SET paused = true, attempts = 1, requested = 'observe'")
        await act(queue)
        assert await connection.fetchval("SELECT requested FROM memories") == Request.OBSERVE
        assert await queue.claim(scene.held.memory_id, owner="third", seconds=60) is None
        await connection.execute("UPDATE memories SET lease_owner = NULL")
        await act(queue)
        assert await connection.fetchval("SELECT requested FROM memories") == Request.OBSERVE


async def test_what_was_erased_since_it_was_loaded_is_not_observed_again_and_breaks_nothing(scene: Scene) -> None:
    store = MemoryStore(scene.database)
    charging = Charging(database=scene.database, store=SpendingStore(scene.database), caps=Caps())
    means = Means(database=scene.database, store=store, charging=charging)
    rebuilding = Rebuilding(means, Observing(means, ExtractiveObserver()))
    standing = await store.look(scene.held)
    assert standing is not None
    memory = await store.load(scene.held, standing)
    assert memory is not None
    erased = replace(
        memory, rebuilding=(Gap(session_id=memory.session_id, session_key="s", first=1, last=1),)
    )  # it has no message

    rules = Rules.resolve({}, {})
    assert await rebuilding.run(Attempt(lease=scene.stale, loaded=erased, rules=rules)) is Outcome.STALE
    with pytest.raises(AssertionError):
        await rebuilding.run(Attempt(lease=scene.held, loaded=erased, rules=rules))


class Crowded(Guard):
    """A guard with one place, which tells that a call asks for it."""

    def __init__(self) -> None:
        super().__init__(GuardConfig(concurrency=1))
        self.asked = asyncio.Event()

    async def passed(self, *args: Any, **kwargs: Any) -> Any:
        self.asked.set()
        return await super().passed(*args, **kwargs)


class CountingModel:
    provider, name, reasoning_tokens, output_tokens_max = Provider.SCRIPTED, "counting", 0, None
    asked = 0

    async def complete(self, _request: ModelRequest) -> ModelReply:
        self.asked += 1
        return ModelReply(text="", stop=Stop.END, usage=USAGE, model=self.name)

    async def close(self) -> None:
        """Nothing to close."""


def calling_of(scene: Scene, guard: Guard, model: CountingModel, caps: Caps) -> Calling[ObserverInput]:
    charging = Charging(database=scene.database, store=SpendingStore(scene.database), caps=caps)
    means = Means(database=scene.database, store=MemoryStore(scene.database), charging=charging)
    return Calling(name="observer", role=ModelObserver(GuardedModel(model, guard)), means=means)


async def attempt_of(scene: Scene, lease: Lease) -> Attempt:
    """An attempt under the lease, with the memory as the worker loaded it that has it now."""
    store = MemoryStore(scene.database)
    standing = await store.look(scene.held)
    assert standing is not None
    memory = await store.load(scene.held, standing)
    assert memory is not None
    return Attempt(lease=lease, loaded=memory, rules=Rules.resolve({}, {}))


async def test_a_model_is_not_asked_by_a_worker_whose_lease_was_taken_over_while_it_waited_for_a_place(
    scene: Scene,
) -> None:
    """What it has in view may have been erased by who took the lease."""
    guard, model = Crowded(), CountingModel()
    calling, attempt = calling_of(scene, guard, model, Caps()), await attempt_of(scene, scene.held)

    await guard.places.acquire()
    waiting = asyncio.create_task(calling.draft(attempt, ObserverInput(messages=()), kind="observe"))
    await guard.asked.wait()
    async with scene.database.connection() as connection:
        await connection.execute("UPDATE memories SET lease_epoch = nextval('lease_epochs')")
    guard.places.release()
    with pytest.raises(StepFailed) as raised:
        await waiting
    assert (raised.value.kind, model.asked) == (Outcome.STALE, 0)

    async with scene.database.connection() as connection:
        await connection.execute("UPDATE memories SET lease_epoch = $1", scene.held.epoch)
    assert await calling.draft(attempt, ObserverInput(messages=()), kind="observe") is not None
    assert model.asked == 1


async def test_what_a_worker_whose_lease_was_taken_over_does_not_ask_costs_and_reserves_nothing(scene: Scene) -> None:
    model, caps = CountingModel(), Caps(tenant=Cap(tokens=1_000_000))
    calling, source = calling_of(scene, Crowded(), model, caps), ObserverInput(messages=())
    spending = SpendingStore(scene.database)

    with pytest.raises(StepFailed):
        await calling.draft(await attempt_of(scene, scene.stale), source, kind="observe")
    assert model.asked == 0
    assert (await spending.accounts(scene.held.memory_id, "default")).tenant == Account()
    await calling.draft(await attempt_of(scene, scene.held), source, kind="observe")
    assert model.asked == 1
    assert (await spending.accounts(scene.held.memory_id, "default")).tenant.spent == amount(USAGE)


async def test_a_memory_is_not_charged_that_is_being_deleted(scene: Scene) -> None:
    """Another one may get its key, and with it the same id."""
    spending, memory = SpendingStore(scene.database), scene.held.memory_id
    async with scene.database.tx() as tx:
        await spending.reserve(tx, scene.held, "default", amount(USAGE))
    async with scene.database.tx() as tx:
        await parting_store.forget(tx, [memory])
        charging = asyncio.create_task(charge(spending, scene.held, reserved_at=datetime.now(UTC)))
        while not await tx.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
            pass  # until the charge waits for the deletion
    await charging

    accounts = await spending.accounts(memory, "default")
    assert (accounts.session, accounts.tenant.spent) == (Account(), amount(USAGE))


async def test_a_memory_made_anew_is_not_charged_what_a_call_of_the_deleted_one_cost(scene: Scene) -> None:
    spending, queue, memory = SpendingStore(scene.database), QueueStore(scene.database), scene.held.memory_id
    async with scene.database.tx() as tx:
        reserved_at = (await spending.lock(tx, memory, "default", session_id=memory)).now
        await spending.reserve(tx, scene.held, "default", amount(USAGE))
    async with scene.database.tx() as tx:
        await parting_store.forget(tx, [memory])
        await deleting_store.forget(tx, await deleting_store.held(tx, "default", [memory]))
    await make_session(scene.database)
    async with scene.database.tx() as tx:
        await tx.execute("UPDATE memories SET due_at = now()")
    anew = await queue.claim(memory, owner="another", seconds=60)
    assert anew is not None
    async with scene.database.tx() as tx:
        await spending.reserve(tx, anew, "default", amount(USAGE))
    await charge(spending, scene.held, reserved_at=reserved_at)

    accounts = await spending.accounts(memory, "default")
    assert (accounts.session.spent, accounts.session.reserved) == (Amount(), amount(USAGE))
    assert accounts.tenant.spent == amount(USAGE)


async def test_a_call_leaves_nothing_behind_of_a_memory_that_is_being_deleted(scene: Scene) -> None:
    """Another one may get its key, and with it the same id."""
    model, memory = CountingModel(), scene.held.memory_id
    calling = calling_of(scene, Crowded(), model, Caps(session=Cap(tokens=1_000_000)))
    attempt = await attempt_of(scene, scene.held)
    async with scene.database.tx() as tx:
        await hold_related(tx, memory)
        await parting_store.forget(tx, [memory])
        await deleting_store.forget(tx, await deleting_store.held(tx, "default", [memory]))
        drafting = asyncio.create_task(calling.draft(attempt, ObserverInput(messages=()), kind="observe"))
        while not drafting.done() and not await tx.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
            pass  # until the call waits for the deletion
    with pytest.raises(StepFailed):
        await drafting

    assert model.asked == 0
    assert await scene.database.fetch("SELECT * FROM spending") == []


async def test_a_call_that_a_day_ends_in_is_charged_on_the_next_day(scene: Scene) -> None:
    spending, memory = SpendingStore(scene.database), scene.held.memory_id
    async with scene.database.tx() as tx:
        await spending.reserve(tx, scene.held, "default", amount(USAGE))
        await tx.execute("UPDATE spending SET day = day - 1")
    await charge(spending, scene.held, reserved_at=datetime.now(UTC))

    assert (await spending.accounts(memory, "default")).session.spent == amount(USAGE)
