"""What is left of facts when some of what they rest on goes."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from app.facts.forgetting import FactChanges, corrections, derived_since, of_message, of_session, without, without_facts
from app.facts.model import Author, Category, Fact, Source
from app.sessions.model import Trust

A, B = UUID(int=1), UUID(int=2)
START = datetime(2026, 1, 1, tzinfo=UTC)


def source(session: UUID = A, *, cites: tuple[int, ...] = (2,), text: str | None = "As told.") -> Source:
    return Source(session_id=session, session="s", from_seq=1, to_seq=max(cites), cites=cites, text=text)


def fact(id_: int = 1, *sources: Source, author: Author = Author.EXTRACTOR, replaced_by: int | None = None) -> Fact:
    return Fact(
        id=id_,
        text=sources[0].text or "Noted." if sources else "Noted.",
        category=Category.PROFILE,
        trust=Trust.USER,
        author=author,
        sources=sources,
        valid_from=START,
        valid_to=None if replaced_by is None else START + timedelta(days=replaced_by),
        replaced_by=replaced_by,
        created_at=START,
        updated_at=START,
    )


def test_a_fact_of_two_sessions_keeps_what_the_other_said() -> None:
    both = fact(1, source(A, text="First words."), source(B, text="Other words."))
    left = without([both], of_session(A))
    assert left == FactChanges(deleted=(), changed=(replace(both, text="Other words.", sources=both.sources[1:]),))


def test_a_fact_that_nobody_dated_is_so_since_the_words_that_are_left_and_never_longer_than_it_is_so() -> None:
    later, told = START + timedelta(days=2), source(B, text="Other words.")
    first = replace(source(A), valid_from=START)
    for since, until, expected in (
        (later, None, later),
        (later, START + timedelta(days=1), START + timedelta(days=1)),
        (None, None, START),
    ):
        both = replace(fact(1, first, replace(told, valid_from=since)), valid_to=until)
        assert [one.valid_from for one in without([both], of_session(A)).changed] == [expected]
    dated = replace(fact(1, replace(first, valid_from=later), replace(told, valid_from=later)), valid_from=START)
    assert [one.valid_from for one in without([dated], of_session(A)).changed] == [START]


def test_a_fact_in_a_callers_words_goes_with_any_of_its_sources() -> None:
    corrected = fact(1, source(A), source(B), author=Author.CALLER)
    assert without([corrected], of_session(B)) == FactChanges(deleted=(1,), changed=())


def test_what_a_caller_noted_in_the_memory_s_words_keeps_these_and_no_others() -> None:
    told = fact(1, source(A, text="First words."), source(B, text="Other words."), source(B, cites=(9,), text=None))
    left = replace(told, sources=told.sources[1:])
    assert without([told], of_session(A)).changed == (left,)
    assert without([told], of_message(B, 9)).changed == (replace(told, sources=told.sources[:2]),)
    other = replace(told, text="Other words.", sources=told.sources[1:2])
    assert without([left], of_message(B, 9)).changed == (other,)  # nothing that is left says the first ones


def test_what_a_caller_cites_goes_with_it_alone_and_what_was_derived_with_all_that_it_saw() -> None:
    noted, derived = fact(1, source(cites=(2, 9), text=None), author=Author.CALLER), fact(2, source(cites=(5,)))
    for seq, gone in {2: (1, 2), 3: (2,), 9: (1,), 6: ()}.items():
        assert without([noted, derived], of_message(A, seq)).deleted == gone
    assert without([noted, derived], of_message(B, 2)) == FactChanges(deleted=(), changed=())


def test_what_was_read_anew_takes_only_what_was_derived_of_it() -> None:
    noted, derived = fact(1, source(cites=(5,), text=None), author=Author.CALLER), fact(2, source(cites=(5,)))
    assert without([noted, derived], derived_since(A, 5)).deleted == (2,)
    assert without([noted, derived], derived_since(A, 6)).deleted == ()
    assert without([noted, derived], derived_since(B, 1)).deleted == ()


def test_what_a_caller_has_reworded_goes_with_what_it_cites_and_with_nothing_that_was_read_beside_it() -> None:
    reworded = fact(1, source(cites=(5,), text=""), author=Author.CALLER)
    for gone in (of_message(A, 5), of_session(A)):
        assert without([reworded], gone).deleted == (1,)
    for beside in (of_message(A, 2), derived_since(A, 5), of_session(B)):
        assert without([reworded], beside) == FactChanges(deleted=(), changed=())
    of_all = replace(reworded, sources=(replace(reworded.sources[0], cites=()),))  # its model cited nothing
    assert without([of_all], of_message(A, 2)).deleted == (1,)


def test_what_replaced_facts_leaves_is_valid_as_long_as_what_replaced_it() -> None:
    chain = [fact(1, replaced_by=2), fact(2, replaced_by=3), fact(3)]
    assert without_facts(chain, {2}).changed == (replace(chain[0], valid_to=chain[1].valid_to, replaced_by=3),)
    assert without_facts(chain, {3}).changed == (replace(chain[1], valid_to=None, replaced_by=None),)
    assert without_facts(chain, {2, 3}).changed == (replace(chain[0], valid_to=None, replaced_by=None),)


def test_a_correction_is_of_what_the_memory_noted_of_what_goes_and_was_changed_since() -> None:
    noted = replace(source(A), category=Category.PROFILE, valid_from=START)
    decided = replace(fact(2, replace(noted, category=Category.DECISION)), category=Category.DECISION)
    also = (replace(noted, session_id=B), source(B, text=None))  # another session's, and a caller's
    moved = replace(fact(1, noted, *also), category=Category.INSIGHT, valid_from=START + timedelta(days=1))

    (found,) = corrections([moved, decided, fact(3, replace(noted, cites=(3,)))], of_session(A))

    assert (found.source.session_id, found.source.category, found.category) == (A, Category.PROFILE, Category.INSIGHT)
    assert found.source.valid_from == moved.valid_from
    assert (found.source.text, found.valid_to) == ("", None)
    older = replace(moved, sources=(replace(noted, category=None),))  # of which it is not known what it was noted as
    assert corrections([replace(moved, author=Author.CALLER), older], of_session(A)) == []


def test_of_what_the_same_messages_told_all_is_kept_where_one_was_corrected_as_it_is_told_apart_by_its_order() -> None:
    noted = replace(source(A), category=Category.PROFILE, valid_from=START)
    ended = replace(fact(2, noted), valid_to=START + timedelta(days=1))

    found = corrections([fact(1, noted), ended], of_session(A))

    assert [one.valid_to for one in found] == [None, ended.valid_to]


def test_what_a_newer_fact_ended_or_an_older_version_noted_without_its_time_counts_as_nobodys_correction() -> None:
    noted = replace(source(A), category=Category.PROFILE, valid_from=START)
    undated = replace(fact(2, replace(noted, cites=(3,), valid_from=None)), valid_from=START + timedelta(days=1))
    assert corrections([fact(1, noted, replaced_by=2), undated], of_session(A)) == []


@given(
    ends=st.lists(st.booleans(), min_size=1, max_size=8),
    gone=st.sets(st.integers(1, 8)),
)
def test_nothing_is_left_that_was_replaced_by_what_is_gone(ends: list[bool], gone: set[int]) -> None:
    last = len(ends)
    chain = [
        fact(number, replaced_by=number + 1 if ended and number < last else None)
        for number, ended in enumerate(ends, start=1)
    ]
    left = without_facts(chain, gone)
    kept = {one.id: one for one in chain if one.id not in left.deleted} | {one.id: one for one in left.changed}
    assert set(left.deleted) == gone & {one.id for one in chain}
    assert all(one.replaced_by is None or one.replaced_by in kept for one in kept.values())
    assert all((one.replaced_by is None) == (one.valid_to is None) for one in kept.values())
