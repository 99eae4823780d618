"""The laws of architecture.md section 5, checked over the tables in one snapshot of one session.

Each takes one snapshot (or two successive ones) and fails with what breaks it. The laws over the API are in
tests/journeys/laws.py. If sessions share a memory, its rows are read for each of them, with a note's ``covers`` reduced
to that session.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, time
from itertools import pairwise
from typing import Any
from uuid import UUID

from app.kit.db import Database, Tx
from app.memory.boundaries import span_of
from app.memory.note_store import DELETED, EDITED, ERASED
from app.memory.policy import next_step
from app.memory.reflection_store import SOURCES_CHANGED
from app.memory.rules import Rules
from app.memory.steps import Buffer, Observe, State, Wait
from app.sessions.message_store import message_of
from app.sessions.model import Kind

CONTROLS = frozenset({EDITED, DELETED})
Row = dict[str, Any]
Seqs = list[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All rows of one session and its memory at ``now``. Each version has the session's ``cursor`` then.

    ``parted``: a session that shared the memory was deleted with its notes.
    """

    now: Any
    session: Row
    memory: Row
    messages: list[Row]
    observations: list[Row]
    reflections: list[Row]
    versions: list[Row]
    stood: list[Row]
    runs: list[Row]
    parted: bool = False

    @property
    def id(self) -> UUID:
        found: UUID = self.session["id"]
        return found

    @property
    def last_seq(self) -> int:
        return int(self.session["next_seq"]) - 1

    @property
    def observed_seq(self) -> int:
        return int(self.session["observed_seq"])

    @property
    def buffered_seq(self) -> int:
        return max(self.observed_seq, int(self.session["buffered_seq"]))

    @property
    def copied_seq(self) -> int:
        """The last message copied from a parent session, whose notes were copied without their calls."""
        return int(self.session["branched_at_seq"] or 0)

    def observable(self, first: int, last: int) -> Seqs:
        return [row["seq"] for row in self.messages[first - 1 : last] if row["observe"]]

    def remembered(self, last: int, version: int) -> Seqs:
        """The seqs that the log has to cover up to ``last``: all observable ones not deleted or only in a summary."""
        gone = [row for row in (*self.observations, *self.reflections) if row["retired_by"] == DELETED]
        forgotten = set(_covered(row for row in gone if row["retired_version"] <= version))
        forgotten.update(_seqs(self.untold(version)))
        return [seq for seq in self.observable(1, last) if seq not in forgotten]

    def untold(self, version: int) -> list[list[int]]:
        """The ranges that only the summary covered at this version."""
        cursors = [row["cursor"] for row in self.versions if row["version"] == version]
        seq = cursors[0]["summary_seq"] if cursors and cursors[0] else None
        found: list[list[int]] = [] if seq is None else self.messages[seq - 1]["covers"]
        return found

    @property
    def chunks(self) -> list[Row]:
        """The session's observations, each once: an edited one as its last edit, without erased ones."""
        return [row for row in self.all_chunks if row["session_id"] == self.id]

    @property
    def all_chunks(self) -> list[Row]:
        """The observations of all sessions of the memory, each once."""
        made = [row for row in self.observations if row["retired_by"] != EDITED and row["erased_at"] is None]
        ordered = sorted(made, key=lambda row: int(row["id"]))
        return list({(row["session_id"], row["from_seq"]): row for row in ordered}.values())

    @property
    def erased(self) -> bool:
        """Whether anything was erased, so that the rows no longer show the whole past."""
        rows = (*self.messages, *self.observations, *self.reflections)
        return self.parted or any(row["erased_at"] is not None for row in rows)

    @property
    def rebuilding(self) -> Seqs:
        """The seqs that are to be observed again."""
        own = [gap for gap in self.memory["rebuilding"] if gap[2:] in ([], [str(self.id)])]
        return [seq for first, last, *_ in own for seq in self.observable(first, last)]

    def having(self, status: str) -> list[Row]:
        return [row for row in self.observations if row["status"] == status]

    @property
    def live_reflections(self) -> list[Row]:
        return [row for row in self.reflections if row["status"] == "active"]


CURSORS = "SELECT * FROM session_cursors WHERE memory_id = $1 AND session_id = $2 ORDER BY version"
MESSAGES = "SELECT * FROM messages WHERE session_id = $1 ORDER BY seq"
ROWS = {
    "observations": "SELECT * FROM observations WHERE memory_id = $1 ORDER BY from_seq, id",
    "reflections": "SELECT * FROM reflections WHERE memory_id = $1 ORDER BY id",
    "versions": "SELECT * FROM memory_versions WHERE memory_id = $1 ORDER BY version",
    "runs": "SELECT * FROM runs WHERE memory_id = $1 ORDER BY id",
}

PARTED = """
SELECT s.key, m.id FROM sessions s FULL JOIN memories m ON m.id = s.memory_id WHERE s.id IS NULL OR m.id IS NULL
"""


async def read_facts(database: Database, session: UUID) -> Facts | None:
    """The session as it is committed now; None if it was never seen."""
    (found,) = await read_all(database, [session])
    return found


async def read_all(database: Database, sessions: Sequence[UUID], *, parted: bool = False) -> list[Facts | None]:
    """The facts of several sessions, from one snapshot."""
    async with database.snapshot() as tx:
        return [await _read(tx, session, parted=parted) for session in sessions]


# By the column that says whose a row is: the tables, and whose id it is.
OWNED = {
    "session_id": ("sessions", "messages message_terms message_vectors session_configs session_cursors artifacts"),
    "memory_id": ("memories", "memory_versions session_cursors observations reflections runs spending"),
}
LEFT_BEHIND = " UNION ALL ".join(
    f"SELECT '{table}' AS of, {column} AS id FROM {table} LEFT JOIN {owners} o ON o.id = {column} WHERE o.id IS NULL"  # noqa: S608
    for column, (owners, tables) in OWNED.items()
    for table in tables.split()
)


async def every_memory_has_a_session(database: Database) -> None:
    """Every memory has a session, and every session its memory; no row is of one that is not there."""
    async with database.connection() as connection:
        parted, left_behind = await connection.fetch(PARTED), await connection.fetch(LEFT_BEHIND)
    assert parted == [], parted
    assert left_behind == [], left_behind


FACTS = """
SELECT f.text, f.author, f.valid_from, f.valid_to, f.replaced_by, r.id AS heir, s.next_seq, s.facts_seq, of.source,
       s.id AS session, (SELECT array_agg(m.seq) FROM messages m
        WHERE m.session_id = s.id AND m.erased_at IS NOT NULL AND m.seq > s.expired_seq) AS erased
FROM facts f CROSS JOIN LATERAL jsonb_array_elements(f.sources) AS of (source)
LEFT JOIN sessions s ON s.id::text = of.source->>'session_id' AND s.resource_id = f.resource_id AND s.tenant = f.tenant
LEFT JOIN facts r ON r.tenant = f.tenant AND r.resource_id = f.resource_id AND r.id = f.replaced_by
"""
FACTS_OF = """
SELECT * FROM facts WHERE sources @> jsonb_build_array(jsonb_build_object('session_id', $1::text))
  AND sources->0->>'text' IS NOT NULL AND text <> '' ORDER BY id
"""
RESTING_ON_NOTHING = "SELECT text FROM facts WHERE author = 'extractor' AND jsonb_array_length(sources) = 0"


async def facts_rest_on_what_is_there(database: Database) -> None:
    """Facts that the memory noted cite sessions of their resource, and no erased messages.

    No fact cites a deleted session, or was replaced by a deleted fact.
    """
    async with database.snapshot() as tx:
        assert await tx.fetch(RESTING_ON_NOTHING) == []
        rows = await tx.fetch(FACTS)
    for row in rows:
        source = row["source"]
        assert row["session"] is not None, "its session is gone"
        assert not source["text"] or source["to_seq"] <= row["facts_seq"] < row["next_seq"]  # no text: a caller's
        assert not row["text"] or not {*source["cites"]} & {*(row["erased"] or ())}
        assert (row["replaced_by"] is None) == (row["heir"] is None)
        assert row["valid_to"] is None or row["valid_from"] <= row["valid_to"] or not row["text"]


async def facts_of(database: Database, session: UUID) -> list[Row]:
    """The facts that the memory noted of the session, oldest first."""
    async with database.connection() as connection:
        return [dict(row) for row in await connection.fetch(FACTS_OF, str(session))]


def nothing_is_noted_again(noted: Sequence[Row], taken_back: Sequence[tuple[set[int], int]], now: Facts) -> None:
    """After a fact was deleted or reworded, no fact is noted of its messages again."""
    for fact in noted:
        own = [{*source["cites"]} for source in fact["sources"] if source["session_id"] == str(now.id)]
        again = [cites for cites, newest in taken_back for one in own if one <= cites and fact["id"] > newest]
        assert not again, f"noted again: {fact['text']}"


async def _read(tx: Tx, session: UUID, *, parted: bool) -> Facts | None:
    found = await tx.fetchrow("SELECT s.*, clock_timestamp() AS now FROM sessions s WHERE id = $1", session)
    if found is None:
        return None
    shared = found["memory_id"]
    memory = await tx.fetchrow("SELECT * FROM memories WHERE id = $1", shared)
    rows = {name: [_of(session, row) for row in await tx.fetch(query, shared)] for name, query in ROWS.items()}
    stood = [dict(row) for row in await tx.fetch(CURSORS, shared, session)]
    return Facts(
        now=found["now"],
        session=dict(found),
        memory=dict(memory or {}),
        messages=[dict(row) for row in await tx.fetch(MESSAGES, session)],
        observations=rows["observations"],
        reflections=rows["reflections"],
        versions=[row | {"cursor": _cursor(session, row, stood)} for row in rows["versions"]],
        stood=stood,
        runs=rows["runs"],
        parted=parted,
    )


def _of(session: UUID, row: Any) -> Row:
    """A row of the memory, with ``covers`` reduced to this session."""
    found = dict(row)
    covers = found.get("covers")
    if isinstance(covers, dict):
        found["covers"] = covers.get(str(session), [])
    elif covers is not None and found["session_id"] != session:
        found["covers"] = []
    return found


def _cursor(session: UUID, version: Row, stood: Sequence[Row]) -> Row | None:
    """The session's cursor at a version; None if it did not exist yet. A shared memory stores it only when it moved."""
    own = version["cursors"].get(str(session))
    noted = [row for row in stood if row["version"] <= version["version"]]
    return own or (noted[-1] if noted else None)


def check(now: Facts, before: Facts | None, *others: Facts) -> None:
    """Check every law that holds at any moment, whatever runs and failed. ``others`` share the memory."""
    log_is_whole(now)
    each_message_is_derived_once(now)
    live_log_covers_what_is_observed(now)
    what_is_made_ahead_can_be_used(now)
    counters_are_sums(now, *others)
    versions_follow_one_another(now)
    past_logs_cover_their_past(now)
    versions_note_what_moved(now)
    who_waits_is_found(now)
    calls_are_counted(now)
    failures_are_told(now)
    if before is not None:
        nothing_moves_back(before, now)


def log_is_whole(now: Facts) -> None:
    """No message is lost or doubled, and the running sums are right."""
    assert [row["seq"] for row in now.messages] == list(range(1, now.last_seq + 1))
    assert len({row["id"] for row in now.messages}) == now.last_seq
    total = 0
    for row in now.messages:
        assert row["tokens_before"] == total, row["seq"]
        total += row["tokens"] if row["kind"] != Kind.SUMMARY else 0
    assert now.session["total_tokens"] == total


def each_message_is_derived_once(now: Facts) -> None:
    """Laws 1 and 2: chunks are contiguous from 1 to the cursor, and from there to the buffered cursor.

    Retired chunks count, whether a reflection replaces them or they were deleted. Messages that only a summary covers
    count as derived.
    """
    ranges = now.untold(now.memory["log_version"])
    untold = [{"from_seq": first, "to_seq": last} for first, last in ranges]
    derived = [*now.chunks, *untold]
    assert now.buffered_seq <= now.last_seq
    if now.erased:
        told = {seq for first, last in ranges for seq in now.observable(first, last)}
        noted = [seq for row in now.chunks for seq in _seqs(row["covers"])]
        deleted = {*_covered(row for row in (*now.observations, *now.reflections) if row["retired_by"] == DELETED)}
        found = sorted(seq for seq in [*noted, *told, *now.rebuilding] if seq not in deleted)
        assert found == [seq for seq in now.observable(1, now.buffered_seq) if seq not in deleted]
    else:
        assert _end_of([row for row in derived if row["from_seq"] <= now.observed_seq], start=0) == now.observed_seq
        assert _end_of(derived, start=0) == now.buffered_seq
    for row in now.chunks:
        assert row["covers"], "an observation of nothing"
        assert _seqs(row["covers"]) == now.observable(row["from_seq"], row["to_seq"]), row["id"]
        assert row["message_tokens"] == _tokens(now, _seqs(row["covers"])), row["id"]
        assert (row["status"] == "buffered") <= (row["born_version"] is None), row["id"]
        assert (row["status"] == "buffered") <= (row["from_seq"] > now.observed_seq), row["id"]
        assert (row["status"] == "active") <= (row["to_seq"] <= now.observed_seq), row["id"]


def live_log_covers_what_is_observed(now: Facts) -> None:
    """Law 2: each observable message up to the cursor is in one live note; a retired note is in its reflection."""
    live = [*now.having("active"), *now.live_reflections]
    lost = set(now.rebuilding)
    remembered = now.remembered(now.observed_seq, now.memory["log_version"])
    assert _covered(live) == [seq for seq in remembered if seq not in lost]
    assert all(row["erased_at"] is None for row in (*live, *now.having("buffered")))
    by_id = {f"reflection:{row['id']}": row for row in now.reflections if row["born_version"] is not None}
    for kind, rows in (("observations", now.observations), ("reflections", now.reflections)):
        for row in rows:
            if row["status"] == "retired" and row["retired_by"] not in {*CONTROLS, ERASED, SOURCES_CHANGED}:
                heir = by_id[row["retired_by"]]
                assert row["id"] in heir["sources"][kind]
                assert heir["born_version"] == row["retired_version"] > row["born_version"]


def what_is_made_ahead_can_be_used(now: Facts) -> None:
    """A buffered reflection is in no version; its sources are live, otherwise it was dropped."""
    notes = {"observations": now.having("active"), "reflections": now.live_reflections}
    live = {kind: {row["id"] for row in rows} for kind, rows in notes.items()}
    ahead = [row for row in now.reflections if row["status"] == "buffered"]
    assert len(ahead) <= 1
    for row in ahead:
        assert all(live[kind].issuperset(ids) for kind, ids in row["sources"].items())
    for row in now.reflections:
        made_ahead = row["status"] == "buffered" or row["retired_by"] == SOURCES_CHANGED
        assert (row["born_version"] is None) == made_ahead, row["id"]
        assert (row["retired_version"] is None) == (made_ahead or row["status"] == "active"), row["id"]


def counters_are_sums(now: Facts, *others: Facts) -> None:
    """The counters that are compared with thresholds equal the sums of their rows."""
    memory = now.memory
    assert memory["pending_tokens"] == sum(map(_pending_tokens, (now, *others)))
    assert memory["buffered_tokens"] == sum(row["message_tokens"] for row in now.having("buffered"))
    assert memory["observation_tokens"] == sum(row["tokens"] for row in now.having("active"))
    assert memory["reflection_tokens"] == sum(row["tokens"] for row in now.live_reflections)


def _pending_tokens(now: Facts) -> int:
    pending = now.remembered(now.last_seq, now.memory["log_version"])
    return _tokens(now, [seq for seq in pending if seq > now.observed_seq])


def versions_follow_one_another(now: Facts) -> None:
    """Each version has one row and one cause, and the births and retirements of that cause."""
    assert [row["version"] for row in now.versions] == list(range(1, now.memory["log_version"] + 1))
    for row in () if now.parted else now.versions:
        version, cause = row["version"], row["cause"]
        born = [sum(one["born_version"] == version for one in rows) for rows in (now.observations, now.reflections)]
        retired = [one for one in (*now.observations, *now.reflections) if one["retired_version"] == version]
        match cause:
            case "erased":
                pass  # anything: a note that it retires may be born in it by another erasure
            case "observed" | "rebuilt":
                assert (born, retired) == ([1, 0], [])
            case "activated":
                assert (born[0] > 0, born[1], retired) == (True, 0, [])
            case "compacted":
                assert (born[1], retired) == (0, [])
            case "edited":
                assert (sum(born) <= 1, len(retired)) == (True, 1)
            case "deleted":
                assert (born, bool(retired)) == ([0, 0], True)
            case _:
                assert (born, bool(retired)) == ([0, 1], True), cause


def past_logs_cover_their_past(now: Facts) -> None:
    """Each version's log, rebuilt from the rows, covers exactly what was observed when it was made."""
    own = [row for row in now.versions if row["cursor"] is not None]
    for row in own:
        cursor = row["cursor"]
        lived = [one for one in (*now.observations, *now.reflections) if _lived(one, row["version"])]
        told, remembered = _covered(lived), now.remembered(cursor["observed_seq"], row["version"])
        assert len(told) == len(set(told))
        assert told == remembered or (now.erased and told[-1:] <= [cursor["observed_seq"]])
        assert 1 <= cursor["tail_from_seq"] <= cursor["observed_seq"] + 1
    for earlier, later in pairwise(own):
        one, other = earlier["cursor"], later["cursor"]
        assert all(one[name] <= other[name] for name in ("last_seq", "observed_seq", "tail_from_seq"))
        assert one["compacted_seq"] <= other["compacted_seq"] or other["compacted_seq"] == 0 < now.erased
        assert (one["summary_seq"] or 0) <= (other["summary_seq"] or 0)


def versions_note_what_moved(now: Facts) -> None:
    """In a shared memory versions have no cursors, and only moved ones are noted; else they have the session's."""
    shared = now.session["memory_id"] != now.id
    assert all(bool(row["cursors"]) != shared for row in now.versions)
    assert shared or not now.stood
    for earlier, later in pairwise(now.stood):
        assert {**earlier, "version": 0} != {**later, "version": 0}


def who_waits_is_found(now: Facts) -> None:
    """A session of a shared memory with messages to observe, or facts to note, is marked ``waiting``."""
    session = now.session
    said = [row["seq"] for row in now.messages if row["kind"] != Kind.SUMMARY]
    to_note = session["ended_at"] is not None and session["facts_seq"] < max(said, default=0)
    to_observe = bool(now.observable(now.observed_seq + 1, now.last_seq))
    assert session["waiting"] or session["memory_id"] == now.id or not (to_note or to_observe)
    assert not (session["waiting"] and session["memory_id"] == now.id)


def calls_are_counted(now: Facts) -> None:
    """Each chunk has one recorded call, and each call is counted once."""
    recorded = [row for row in now.runs if row["outcome"] == "recorded"]
    observed = [(row["from_seq"], row["to_seq"]) for row in recorded if row["kind"] == "observe"]
    chunks = [(row["from_seq"], row["to_seq"]) for row in now.all_chunks]
    if now.copied_seq:
        assert set(observed) <= set(chunks) or now.erased
    else:
        assert sorted(observed) == sorted(chunks) or (now.erased and set(chunks) <= set(observed))
    for role, kinds in (("observer", {"observe", "note_facts"}), ("reflector", {"reflect", "consolidate"})):
        own = [row for row in now.runs if row["kind"] in kinds]
        assert now.memory["usage"].get(role, {}).get("calls", 0) == len(own)


def failures_are_told(now: Facts) -> None:
    memory = now.memory
    assert memory["attempts"] == 0 or memory["last_error"] is not None
    assert (memory["lease_owner"] is None) or memory["due_at"] is not None


def nothing_moves_back(before: Facts, now: Facts) -> None:
    """Law 2: no cursor, version or epoch goes back; sealed messages never change; notes keep their texts."""
    for name in ("next_seq", "observed_seq", "buffered_seq"):
        assert now.session[name] >= before.session[name], name
    for name in ("log_version", "generation", "lease_epoch"):
        assert now.memory[name] >= before.memory[name], name
    for one, other in zip(before.messages, now.messages, strict=False):
        assert (one["seq"], one["id"], one["ingested_at"]) == (other["seq"], other["id"], other["ingested_at"])
        if one["seq"] <= before.buffered_seq and one["kind"] != Kind.SUMMARY and other["erased_at"] is None:
            assert {**one, "tokens_before": 0} == {**other, "tokens_before": 0}
    for kind in ("observations", "reflections"):
        texts = {row["id"]: "" if row["erased_at"] else row["text"] for row in getattr(now, kind)}
        known = [row for row in getattr(before, kind) if row["id"] in texts or not now.parted]
        assert all(texts[row["id"]] in {row["text"], ""} for row in known), kind


def nothing_tells_of(marks: Iterable[str], now: Facts) -> None:
    """Erased content is in no row of any message, note, version or run."""
    rows = repr((now.session, now.memory, now.messages, now.observations, now.reflections, now.versions, now.runs))
    assert [mark for mark in marks if mark in rows] == []


def nothing_is_forgotten(now: Facts, rules: Rules, state: State, *others: Facts) -> None:
    """A memory without a due time or a lease has nothing to do; ``state`` is the policy's own view of it.

    One with a due time in the future waits for a reason: a back-off, ``min_interval``, or the end of the day of a cap.
    """
    memory = now.memory
    if now.last_seq == now.copied_seq:
        return  # nothing is done in a branch before its first own message
    if memory["due_at"] is not None:
        waits = memory["due_at"] > now.now and memory["lease_owner"] is None and not memory["attempts"]
        of_cap = memory["paused"] or memory["due_at"].astimezone(UTC).time() == time.min
        assert not waits or of_cap or state.reflected_at is not None, "it waits for no reason"
        return
    assert memory["requested"] is None
    step = next_step(state)
    if isinstance(step, Observe | Buffer):
        assert not any(_safe(one, rules, step) for one in (now, *others)), f"forgotten: {step}"
    else:
        assert isinstance(step, Wait), f"forgotten: {step}"


def _safe(now: Facts, rules: Rules, step: Observe | Buffer) -> bool:
    return span_of(step, [message_of(row) for row in now.messages[now.buffered_seq :]], rules) is not None


def _end_of(rows: Sequence[Row], *, start: int) -> int:
    """Check that chunks follow ``start`` without gap or overlap; returns their end."""
    end = start
    for row in sorted(rows, key=lambda row: int(row["from_seq"])):
        assert row["from_seq"] == end + 1, f"{row['from_seq']} follows {end}"
        assert row["to_seq"] >= row["from_seq"]
        end = row["to_seq"]
    return end


def _seqs(ranges: Iterable[Sequence[int]]) -> Seqs:
    return [seq for first, last in ranges for seq in range(first, last + 1)]


def _covered(rows: Iterable[Row]) -> Seqs:
    """All seqs that these notes cover, sorted; those of two notes twice."""
    return sorted(seq for row in rows for seq in _seqs(row["covers"]))


def _tokens(now: Facts, seqs: Seqs) -> int:
    return sum(now.messages[seq - 1]["tokens"] for seq in seqs)


def _lived(row: Row, version: int) -> bool:
    born, retired = row["born_version"], row["retired_version"]
    return born is not None and born <= version and (retired is None or retired > version)
