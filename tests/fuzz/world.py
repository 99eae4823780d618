"""One session, the processes that work on it, and all that can happen to them: each act is a method.

After each act the laws are checked (``check``); ``settle`` ends the faults and lets the memory catch up. Each session
of a shared memory is a world of its own, with a list of all of them (``sharers``).
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from uuid import UUID

from app.kit.db import Database
from app.memory.outcomes import Outcome
from app.memory.records import Lease, Loaded
from app.memory.rules import Rules
from app.memory.steps import LiveReflection, Sizes
from app.memory.store import MemoryStore
from app.memory.turns import state_of
from app.sessions.model import Kind
from app.sessions.sharing import shared_memory_id
from app.sessions.sharing_store import SHARED
from app.sessions.store import session_id
from app.transfer.exporting import ExportConfig, Exporting
from app.transfer.importing import Importing
from tests.context.shapes import CHECKS
from tests.databases import EMPTY
from tests.fuzz import laws
from tests.fuzz.model import MARK, Fate
from tests.fuzz.processes import Process
from tests.fuzz.statements import Cut
from tests.journeys.laws import calls_keep_their_results, prefix_holds, tail_is_verbatim
from tests.journeys.looks import Json, Look, look

CONFIG: Final[dict[str, Any]] = {
    "message_tokens": 400,
    "observation_tokens": 250,
    "message_budget": 1_500,
    "memory_budget": 1_000,
    "keep_last": 2,
    "buffer_every": 0.25,
    "retain_tokens": 0.2,
    "observer_input_tokens": 300,
    "block_after": 3,
}
STEPS_MAX = 60  # steps of an engine until a memory has caught up
LOOKED = frozenset({Outcome.NO_BOUNDARY})  # boundaries are looked up only from time to time
TENANT = "default"
BUSY, GONE = 503, 410

_keys = count(1)


class World:
    """``messages``: those that a caller sent, by id; ``told``: the seqs of those acknowledged as stored, by id."""

    def __init__(self, database: Database, processes: Sequence[Process]) -> None:
        self.database = database
        self.processes = processes
        self.key = f"world-{next(_keys)}"
        self.session: UUID = session_id(TENANT, self.key)
        self.memory = self.session
        self.resource: str | None = None
        self.sharers: list[World] = [self]
        self.origin: World | None = None
        self.branches: list[World] = []
        self.messages: dict[str, Json] = {}
        self.told: dict[str, int] = {}
        self.marks: dict[str, set[str]] = {}  # the unique marks of a message, also those before its replacement, by id
        self.erased: set[str] = set()  # ids whose erasure was acknowledged
        self._erasing: set[str] = set()  # ids that may be erased: requested, or expired
        self.open_calls: list[str] = []
        self.config: dict[str, Any] = {}
        self._taken_back: list[tuple[set[int], int]] = []  # seqs of which no fact newer than this one may be noted
        self._gone: set[str] = set()  # the marks of deleted sessions
        self._facts: laws.Facts | None = None
        self._look: Look | None = None
        self._apart_seq = 0  # its last message when it was copied from a shared memory: so far none is observed
        self._parted = False  # whether it was deleted from a shared memory, and begun anew
        self._forced = False  # calls may have been closed because too much waited (memory-rules.md section 3, groups)
        self._numbers = count(1)
        self._branches = count(1)
        self._copies = count(1)
        self._store = MemoryStore(database)

    async def start(self, *, lease_seconds: float) -> None:
        """Restart every process."""
        for process in self.processes:
            process.lease_seconds = lease_seconds
            await process.kill()

    async def share(self, number: int) -> list["World"]:
        """The worlds of so many sessions, including this one, that share one memory."""
        self.sharers = [self, *(World(self.database, self.processes) for _ in range(number - 1))]
        for one in self.sharers:
            one.resource, one.sharers = self.key, self.sharers
            one.memory = shared_memory_id(TENANT, self.key)
            await one.configure(0, SHARED)
        return self.sharers

    # Acts of callers.

    def message(self, role: str, content: Any, **fields: Any) -> Json:
        """A new message; ids are numbered in the order of sending."""
        return {"id": f"m-{next(self._numbers)}", "role": role, "content": content, **fields}

    async def append(self, at: int, messages: Sequence[Json]) -> None:
        """Post the messages; a dying process need not answer."""
        self.messages |= {message["id"]: message for message in messages}
        self._mark(messages)
        answer = await self.processes[at].service.client.post(
            f"/sessions/{self.key}/messages", json={"messages": list(messages)}
        )
        if answer.status_code == BUSY:
            assert self.processes[at].life.ended, answer.text
            return
        if answer.status_code == GONE:
            assert any(message["id"] in self._erasing for message in messages)
            return
        assert answer.status_code in {200, 201}, answer.text
        for stored in answer.json()["messages"]:
            assert self.told.setdefault(stored["id"], stored["seq"]) == stored["seq"]

    async def conflict(self, at: int, known: str) -> None:
        """Post a stored id with other content among new messages: none of them is stored.

        An id that may be erased is posted alone, because its content is no longer compared.
        """
        other = {"id": known, "role": "user", "content": "something else entirely"}
        fresh = {"id": "never", "role": "user", "content": "not stored either"}
        answer = await self.processes[at].service.client.post(
            f"/sessions/{self.key}/messages", json={"messages": [other] if known in self._erasing else [fresh, other]}
        )
        gone = known in self._erasing and answer.status_code in {GONE, 200}
        assert answer.status_code == 409 or gone or self._dead(at, answer.status_code), answer.text

    async def erase(self, at: int, known: str) -> None:
        """Erase a message and all that was derived from it."""
        for one in self._family():
            one._erasing.add(known)
            one._look = None  # the context changes
            one._forced = True  # a result may have lost its call, or a call the message that closed it
        answer = await self.processes[at].service.client.delete(f"/sessions/{self.key}/messages/{known}")
        if answer.status_code == BUSY:
            assert self.processes[at].life.ended, answer.text
            return
        assert answer.status_code == 200, answer.text
        for one in self._family():
            if known in one.messages:
                one._erasing.add(known)
                one.erased.add(known)

    async def branch(self, at: int, back: int) -> "World | None":
        """Branch a session that begins with all but ``back`` of the newest messages."""
        last = 0 if self._facts is None else self._facts.last_seq
        branch = World(self.database, self.processes)
        branch.key = f"{self.key}-{next(self._branches)}"
        branch.session = branch.memory = session_id(TENANT, branch.key)
        body = {"key": branch.key, "at_seq": max(1, last - back)}
        answer = await self.processes[at].service.client.post(f"/sessions/{self.key}/branch", json=body)
        assert answer.status_code in {201, 404, 422} or self._dead(at, answer.status_code), answer.text
        facts = await laws.read_facts(self.database, branch.session)
        if facts is None:
            return None
        copied = {row["id"] for row in facts.messages}
        branch.origin = self
        branch.messages = {known: message for known, message in self.messages.items() if known in copied}
        branch.told = {known: seq for known, seq in self.told.items() if seq < facts.session["next_seq"]}
        branch.marks = {known: set(self.marks[known]) for known in branch.messages}
        branch._erasing, branch._forced = set(self._erasing), True
        branch.erased = {known for known in self.erased if known in branch.told}
        branch._numbers = count(1_000 * next(_keys))
        self.branches.append(branch)
        return branch

    async def copy(self) -> "World | None":
        """Export the session, and import it under another key: it is the same, but belongs to no resource."""
        await asyncio.gather(*(process.quiet() for process in self.processes))  # so that it does not change meanwhile
        if self._facts is None:
            return None
        copy = World(self.database, self.processes)
        copy.key = f"{self.key}-copy-{next(self._copies)}"
        copy.session = copy.memory = session_id(TENANT, copy.key)
        with TemporaryDirectory() as folder:
            await self._transfer(copy.key, Path(folder) / "exported.ndjson")
        copy.messages, copy.told = dict(self.messages), {}
        copy.marks = {known: set(marks) for known, marks in self.marks.items()}
        copy.erased, copy._erasing, copy._forced = set(self.erased), set(self._erasing), True
        copy._numbers = count(1_000 * next(_keys))
        await copy._is_like(self)
        return copy

    async def _transfer(self, key: str, path: Path) -> None:
        exporting = Exporting(database=self.database, objects=None, config=ExportConfig())
        lines = [line async for line in exporting.session(TENANT, self.key)]
        await asyncio.to_thread(path.write_bytes, b"".join(lines))
        importing = Importing(database=self.database, objects=None)
        rows = await importing.check(path)
        told: list[int] = []
        await importing.session(path, tenant=TENANT, key=key, progress=told.append)
        assert sum(told) == rows

    async def _is_like(self, origin: "World") -> None:
        """Check that the messages are the same and, if the memory is not shared, the log of each version."""
        facts, former = await self.facts(), await origin.facts()
        own = ("session_id", "memory_id", "cursors", "covers", "cursor", "tokens_before", "observe")
        for kind in (
            ("messages", "observations", "reflections", "versions") if origin.resource is None else ("messages",)
        ):
            one, other = (
                [{name: value for name, value in row.items() if name not in own} for row in getattr(found, kind)]
                for found in (former, facts)
            )
            assert one == other, kind
        self.told = {row["id"]: row["seq"] for row in facts.messages if row["kind"] != Kind.SUMMARY}
        self._apart_seq = origin._apart_seq if origin.resource is None else facts.last_seq
        shown = [one.processes[0].service for one in (origin, self) if not one.processes[0].life.is_bounded]
        if origin.resource is None and shown:
            whole = {"now": "2030-01-01T00:00:00Z", "message_budget": 0}  # no limit: a cut text would name its session
            told = [await shown[0].context(one.key, **whole) for one in (origin, self)]
            assert [context["payload"] for context in told[:1]] == [context["payload"] for context in told[1:]]

    def _family(self) -> "list[World]":
        """This world and all branches that descend from it."""
        return [self, *(one for branch in self.branches for one in branch._family())]

    async def part(self, at: int) -> None:
        """Delete the session, and begin another with its key, in the same memory if it was shared."""
        answer = await self.processes[at].service.client.delete(f"/sessions/{self.key}")
        assert answer.status_code in {200, 404} or self._dead(at, answer.status_code), answer.text
        if await laws.read_facts(self.database, self.session) is not None:
            return
        self.sharers[0]._gone |= {mark for marks in self.marks.values() for mark in marks}
        for known in (self.messages, self.told, self.marks, self.erased, self._erasing, self.open_calls):
            known.clear()
        self._facts = self._look = None
        self._taken_back.clear()
        self._parted = self.resource is not None
        if self.origin is not None:
            self.origin.branches += self.branches
        self.branches = []  # erasures in the new session do not reach them
        await self.processes[at].kill()  # it may be about to die, but the new session has to be configured
        await self.configure(at, SHARED if self.resource else CONFIG)

    async def end(self, at: int) -> None:
        answer = await self.processes[at].service.client.post(f"/sessions/{self.key}/end")
        assert answer.status_code in {200, 404} or self._dead(at, answer.status_code), answer.text

    async def visit(self, at: int, where: str | None, scope: str) -> None:
        """Put a session without messages, in the memory of a resource or in its own."""
        body = {"config": {"scope": scope}} | ({} if where is None else {"resource_id": self._resource(where)})
        answer = await self.processes[at].service.client.put(f"/sessions/{self.key}-guest", json=body)
        # 422: a shared memory needs a resource, and the session has none.
        assert answer.status_code in {200, 201, 422} or self._dead(at, answer.status_code), answer.text

    async def visits_at_once(self, visits: Sequence[tuple[str, str]]) -> None:
        """Put, append to and delete a session, in several resources, through all processes concurrently."""
        clients = [process.service.client for process in self.processes if not process.life.is_bounded]
        path, acts = f"/sessions/{self.key}-passer", []
        for number, (where, act) in enumerate(visits if clients else ()):
            client, resource = clients[number % len(clients)], {"resource_id": f"{self.key}-{where}"}
            match act:
                case "delete":
                    acts.append(client.delete(path))
                case "say":
                    said = {"messages": [{"role": "user", "content": "Hello."}]}
                    acts.append(client.post(f"{path}/messages", json=said | resource))
                case scope:
                    acts.append(client.put(path, json={"config": {"scope": scope}} | resource))
        for answer in await asyncio.gather(*acts):
            # 409: it has messages, so its resource and memory are fixed.
            assert answer.status_code in {200, 201, 404, 409}, answer.text

    def _resource(self, where: str) -> str:
        return self.key if where == "here" else f"{self.key}-{where}"

    async def expire(self, at: int) -> None:
        """Run the retention sweep, which removes old messages that are observed and not in the tail."""
        for one in self.sharers:
            one._erasing |= one.messages.keys()
        with suppress(Cut):
            await self.processes[at].retaining.sweep()

    def _mark(self, messages: Sequence[Json]) -> None:
        for message in messages:
            self.marks.setdefault(message["id"], set()).update(MARK.findall(str(message["content"])))

    async def replace(self, at: int, known: str, message: Json) -> None:
        """Replace the content of a stored message; refused once it is sealed. Not through a dying process."""
        if self.processes[at].life.is_bounded:
            return
        sent = {**message, "id": known}
        answer = await self.processes[at].service.client.put(f"/sessions/{self.key}/messages/{known}", json=sent)
        assert answer.status_code in {200, 409} | ({GONE} if known in self._erasing else set()), answer.text
        if answer.status_code == 200:
            self.messages[known] = sent
            self._mark([sent])
            self._taken_back = [one for one in self._taken_back if answer.json()["seq"] not in one[0]]
            self._look = None  # the tail changes
            self._forced = True  # a result may have lost its call, or a call the message that closed it

    async def compact(self, at: int, back: int, summary: str | None) -> None:
        """Compact all but ``back`` of the newest seqs. 422: there is nothing to compact; 409: it is done already."""
        last = 0 if self._facts is None else self._facts.last_seq
        body = {"up_to_seq": max(1, last - back), "summary": summary}
        answer = await self.processes[at].service.client.post(f"/sessions/{self.key}/compact", json=body)
        assert answer.status_code in {200, 404, 409, 422} or self._dead(at, answer.status_code), answer.text

    async def belong(self) -> None:
        """Put the session into a resource, with a memory of its own."""
        path = f"/sessions/{self.key}"
        answer = await self.processes[0].service.client.put(path, json={"resource_id": f"{self.key}-owner"})
        assert answer.status_code in {200, 201}, answer.text

    async def configure(self, at: int, config: dict[str, Any]) -> None:
        body = {"config": config} | ({"resource_id": self.resource} if self.resource else {})
        answer = await self.processes[at].service.client.put(f"/sessions/{self.key}", json=body)
        for one in self.sharers:
            one._look = None  # the context changes with the config
        if answer.status_code == BUSY:
            assert self._dead(at, answer.status_code)
            return
        assert answer.status_code in {200, 201}, answer.text

    async def put_resource(self, at: int, config: dict[str, Any], metadata: Json) -> None:
        """Put config and metadata of the resource; the config of its sessions changes only in a shared memory."""
        for one in self.sharers:
            one._look = None
        before = await laws.read_facts(self.database, self.session)
        path = f"/resources/{self.resource or self.key}"
        answer = await self.processes[at].service.client.put(path, json={"config": config, "metadata": metadata})
        if answer.status_code == BUSY:
            assert self._dead(at, answer.status_code)
            return
        assert answer.status_code in {200, 201}, answer.text
        told, found = answer.json(), await laws.read_all(self.database, [one.session for one in self.sharers])
        assert {name: told["metadata"].get(name) for name in metadata} == metadata
        for facts in found:
            if facts is not None and self.resource is not None:
                assert facts.session["config"] == told["config"] | SHARED
            elif facts is not None and before is not None:
                assert [facts.session[name] == before.session[name] for name in ("config", "metadata")] == [True, True]

    async def request(self, at: int, step: str) -> None:
        answer = await self.processes[at].service.client.post(f"/sessions/{self.key}/memory/{step}")
        known = {404} if self._facts is None else set()
        assert answer.status_code in {202} | known or self._dead(at, answer.status_code), answer.text

    async def tell_of_fact(self, at: int, which: int, change: Json | None) -> None:
        """Correct a fact of the session's resource, or delete it (``change`` None). 422: the speaker may not say it."""
        rows = await laws.facts_of(self.database, self.session)
        if not rows:
            return
        fact, newest = rows[which % len(rows)], rows[-1]["id"]
        path = f"/resources/{fact['resource_id']}/facts/{fact['id']}"
        client = self.processes[at].service.client
        answer = await (client.delete(path) if change is None else client.patch(path, json=change))
        assert answer.status_code in {200, 422} or self._dead(at, answer.status_code), answer.text
        if answer.status_code == 200 and (change is None or "text" in change):
            own = [source for source in fact["sources"] if source["session_id"] == str(self.session)]
            self._taken_back += [({*source["cites"]}, newest) for source in own if source["cites"]]

    async def edit(self, at: int, notes: str, which: int) -> None:
        """Edit a note of either kind, live or not."""
        text = f"* 🔴 [fact] Edited {which}: the shop is in Porto and stays there. #1"
        await self._control(at, "PATCH", f"{notes}/{self._note(notes, which)}", {"text": text})

    async def delete(self, at: int, notes: str, which: int | None) -> None:
        """Delete one note, or all live ones."""
        await self._control(at, "DELETE", notes if which is None else f"{notes}/{self._note(notes, which)}", None)

    async def _control(self, at: int, method: str, path: str, body: Json | None) -> None:
        """404: there is no such note; 409: it is not live; 413: too large for the configured log."""
        answer = await self.processes[at].service.client.request(
            method, f"/sessions/{self.key}/memory/{path}", json=body
        )
        assert answer.status_code in {200, 404, 409, 413} or self._dead(at, answer.status_code), answer.text

    def _note(self, notes: str, which: int) -> int:
        found = [] if self._facts is None else getattr(self._facts, notes)
        return int(found[which % len(found)]["id"]) if found else 1

    def _dead(self, at: int, status: int) -> bool:
        return status == BUSY and self.processes[at].life.ended

    # Processes and clocks.

    async def work(self, at: int) -> None:
        await self.processes[at].work(self.memory)

    async def at_once(self, *posted: Sequence[Json]) -> None:
        """Append through every process, and have every process claim, concurrently."""
        appends = [self.append(at, messages) for at, messages in enumerate(posted) if messages]
        await asyncio.gather(*appends, *(self.work(at) for at in range(len(self.processes))))
        await self.work_at_once()

    async def work_at_once(self) -> None:
        await asyncio.gather(*(self.work(at) for at in range(len(self.processes))))

    async def release(self, at: int, fate: Fate) -> None:
        process = self.processes[at]
        if process.script.held:
            process.script.release(fate)
            await asyncio.sleep(0)
            await process.quiet()

    async def leases_end(self) -> None:
        """End every wait: a lease, a back-off, an interval."""
        await self._run(
            "UPDATE memories SET due_at = now(), reflected_at = reflected_at - interval '1 day'"
            " WHERE id = $1 AND due_at IS NOT NULL"
        )

    async def due(self) -> None:
        """Make the memory due without waking an engine."""
        await self._run("UPDATE memories SET due_at = now() WHERE id = $1")

    async def waits(self) -> None:
        """Make the memory due in an hour, however slow this machine is."""
        await self._run("UPDATE memories SET due_at = now() + interval '1 hour' WHERE id = $1")

    async def hours_pass(self) -> None:
        await self._run("UPDATE sessions SET last_active_at = last_active_at - interval '2 hours' WHERE memory_id = $1")
        await self.leases_end()

    async def _run(self, statement: str) -> None:
        async with self.database.connection() as connection:
            await connection.execute(statement, self.memory)

    # Laws.

    async def check(self) -> None:
        """Check every law for every session that shares the memory."""
        await laws.every_memory_has_a_session(self.database)
        await laws.facts_rest_on_what_is_there(self.database)
        parted = any(one._parted for one in self.sharers)
        found = await laws.read_all(self.database, [one.session for one in self.sharers], parted=parted)
        known = [facts for facts in found if facts is not None]
        for one, facts in zip(self.sharers, found, strict=True):
            if facts is None:
                assert not one.told
            else:
                noted = await laws.facts_of(self.database, one.session)
                one._hold(facts, noted, [other for other in known if other is not facts], self._untellable())
        for facts in known[:1]:
            state, rules = await self._policy_view(facts)
            if state is not None and facts.last_seq != self._apart_seq:
                laws.nothing_is_forgotten(facts, rules, state, *known[1:])
            forced = sum(one.session["total_tokens"] for one in known) >= rules.block_tokens
            for one in self.sharers:
                one._forced = one._forced or forced

    def _hold(
        self, facts: laws.Facts, noted: Sequence[Json], others: Sequence[laws.Facts], untellable: Sequence[str]
    ) -> None:
        laws.check(facts, self._facts, *others)
        laws.nothing_is_noted_again(noted, self._taken_back, facts)
        laws.nothing_tells_of(untellable, facts)
        self._nothing_told_is_lost(facts)
        self._facts = facts

    def _untellable(self) -> list[str]:
        """The marks of all erased messages and deleted sessions."""
        erased = [mark for one in self.sharers for known in one.erased for mark in one.marks[known]]
        return [*erased, *(mark for one in self.sharers for mark in one._gone)]

    async def facts(self) -> laws.Facts:
        """The session as it is; fails if it does not exist."""
        facts = await laws.read_facts(self.database, self.session)
        assert facts is not None
        return facts

    def _nothing_told_is_lost(self, facts: laws.Facts) -> None:
        stored = {row["id"]: row["seq"] for row in facts.messages if row["kind"] != Kind.SUMMARY}
        assert self.told.items() <= stored.items()
        assert stored.keys() <= self.messages.keys()

    async def _policy_view(self, facts: laws.Facts) -> tuple[Any, Rules]:
        lease = Lease(memory_id=self.memory, epoch=facts.memory.get("lease_epoch", 0))
        rules = Rules.resolve({}, facts.session["config"])
        standing = await self._store.look(lease) if facts.memory else None
        return (None if standing is None else state_of(standing, rules, tried=LOOKED)), rules

    async def look(self, at: int) -> None:
        """Check the laws over the API, in every format, also in comparison with the last look."""
        if self._facts is None or not self._facts.messages or self.processes[at].life.is_bounded:
            return
        await asyncio.gather(*(process.quiet() for process in self.processes))  # so that all reads agree
        now = await look(self.processes[at].service, self.key)
        if now.memory["enabled"]:
            tail_is_verbatim(now)
        if not self._forced:
            calls_keep_their_results(now)
        for shape, valid in CHECKS.items():
            told = now.contexts.get(shape) or await self.processes[at].service.context(self.key, format=shape)
            valid(told["payload"])
        self._intervals_follow(now)
        self._budgets_hold(now)
        if self._look is not None:
            prefix_holds(self._look, now)
        self._look = now

    @staticmethod
    def _intervals_follow(now: Look) -> None:
        coverage, end = now.memory["coverage"], 0
        assert coverage["gaps"] == []
        for interval in coverage["intervals"]:
            assert interval["from"] == end + 1
            end = interval["to"]
        assert end == now.cursor["last_seq"] == len(now.stored)

    def _budgets_hold(self, now: Look) -> None:
        assert self._facts is not None
        rules = Rules.resolve({}, self._facts.session["config"])
        for context in now.contexts.values():
            tokens = context["tokens"]
            assert tokens["total"] == sum(size for section, size in tokens.items() if section != "total")
            assert rules.message_budget is None or tokens["messages"] <= rules.message_budget
            assert rules.memory_budget is None or tokens["reflections"] + tokens["observations"] <= rules.memory_budget

    # The end.

    async def settle(self) -> None:
        """End all faults: restart every process, and let the memory catch up by itself."""
        for process in self.processes:
            await process.kill()
        await self.configure(0, {"enabled": True, "min_interval": 0})
        for _ in range(STEPS_MAX):
            await self.check()
            facts = self._facts
            if facts is None or facts.memory["due_at"] is None:
                break
            await self.leases_end()
            await self.work_at_once()
        else:
            raise AssertionError(f"work is left over: {self._facts and self._facts.memory}")
        await self.check()
        self._caught_up()
        await self._look_tells_the_notes()
        for one in self.sharers:
            await one.look(0)

    def _caught_up(self) -> None:
        """Check that no failures or requests are left, and that the live log fits its budget (law 9), if it can."""
        facts = self._facts
        if facts is None or not facts.memory:
            return
        memory, rules = facts.memory, Rules.resolve({}, facts.session["config"])
        assert (memory["lease_owner"], memory["attempts"], memory["requested"]) == (None, 0, None)
        assert not memory["paused"]
        assert memory["rebuilding"] == []
        size = memory["observation_tokens"] + memory["reflection_tokens"]
        fits = rules.memory_budget is None or size <= max(rules.memory_budget, rules.observation_tokens)
        assert fits or memory["unhelped_tokens"] == size

    async def _look_tells_the_notes(self) -> None:
        """Check that the sizes that the policy reads equal those of the notes that a step loads."""
        memory, notes = (self._facts.memory, self._facts.reflections) if self._facts else ({}, [])
        lease = Lease(memory_id=self.memory, epoch=memory.get("lease_epoch", 0))
        standing = await self._store.look(lease)
        loaded = None if standing is None else await self._store.load(lease, standing)
        assert (loaded is None) is (standing is None)
        if standing is not None and loaded is not None:
            assert standing.sizes == sizes_of(loaded, ahead=any(note["status"] == "buffered" for note in notes))

    async def clear(self) -> None:
        for process in self.processes:
            await process.kill()
        async with self.database.connection() as connection:
            await connection.execute(EMPTY)


def sizes_of(loaded: Loaded, *, ahead: bool) -> Sizes:
    """The sizes of loaded notes, which a look should report."""
    return Sizes(
        observations=len(loaded.observations),
        observation_tokens=sum(chunk.tokens for chunk in loaded.observations),
        buffered=tuple(chunk.message_tokens for chunk in loaded.buffered),
        reflections=tuple(LiveReflection(level=note.level, tokens=note.tokens) for note in loaded.reflections),
        ahead=ahead,
    )
