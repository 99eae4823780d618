"""The ladder: what gives way as the cap of a memory or of its tenant comes near."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.llm.port import Usage
from app.memory.policy import next_step
from app.memory.rules import Rules
from app.memory.spending import (
    RESERVED_WAIT,
    TURN,
    Account,
    Accounts,
    Allowance,
    Amount,
    Cap,
    Caps,
    Rung,
    affordable_step,
    allowance,
    amount,
)
from app.memory.steps import NEVER, Activate, Buffer, Observe, Reflect, Request, State, Step, Wait

NOW = datetime(2026, 8, 1, 22, 30, tzinfo=UTC)
MIDNIGHT = datetime(2026, 8, 2, tzinfo=UTC)
CAPS = Caps(
    session=Cap(tokens=1_000, cost_usd=1.0),
    tenant=Cap(tokens=10_000, cost_usd=10.0),
    small_model_at=0.7,
    larger_batches_at=0.85,
)
FREE = Allowance()
PAUSED = Allowance(rung=Rung.PAUSED, until=MIDNIGHT)
LARGER = Allowance(rung=Rung.LARGER_BATCHES, until=MIDNIGHT)
RUNGS = list(Rung)


def account(tokens: int = 0, usd: float = 0.0, *, reserved: int = 0) -> Account:
    return Account(spent=Amount(tokens=tokens, cost_usd=usd), reserved=Amount(tokens=reserved))


def accounts(session: Account, tenant: Account, now: datetime = NOW) -> Accounts:
    return Accounts(now=now, session=session, tenant=tenant)


@pytest.mark.parametrize(
    ("session", "tenant", "rung"),
    [
        (account(), account(), Rung.FULL),
        (account(699), account(), Rung.FULL),
        (account(700), account(), Rung.SMALL_MODEL),
        (account(0, 0.7), account(), Rung.SMALL_MODEL),
        (account(849), account(), Rung.SMALL_MODEL),
        (account(850), account(), Rung.LARGER_BATCHES),
        (account(), account(8_500), Rung.LARGER_BATCHES),
        (account(999), account(), Rung.LARGER_BATCHES),
        (account(1_000), account(), Rung.PAUSED),
        (account(), account(0, 9.9), Rung.LARGER_BATCHES),
        (account(), account(0, 10.0), Rung.PAUSED),
        (account(5_000), account(5_000), Rung.PAUSED),
        (account(0, reserved=999), account(reserved=999), Rung.FULL),
        (account(1, reserved=999), account(), Rung.PAUSED),
        (account(), account(4_000, reserved=6_000), Rung.PAUSED),
    ],
)
def test_the_payer_nearer_to_its_cap_decides(session: Account, tenant: Account, rung: Rung) -> None:
    assert allowance(CAPS, accounts(session, tenant)).rung is rung


def test_without_a_smaller_model_there_is_one_rung_less() -> None:
    caps = replace(CAPS, small_model_at=None)
    assert allowance(caps, accounts(account(849), account())).rung is Rung.FULL
    assert allowance(caps, accounts(account(850), account())).rung is Rung.LARGER_BATCHES


@pytest.mark.parametrize("caps", [Caps(), Caps(observing=False, reflecting=False, session=Cap(tokens=1))])
def test_without_a_cap_or_a_model_nothing_is_counted(caps: Caps) -> None:
    assert not caps.are_set


@pytest.mark.parametrize(("observing", "reflecting"), [(True, False), (False, True)])
@pytest.mark.parametrize("caps", [Caps(session=Cap(tokens=1)), Caps(tenant=Cap(cost_usd=1.0))])
def test_a_cap_is_counted_where_any_model_is_called(caps: Caps, observing: bool, reflecting: bool) -> None:
    assert replace(caps, observing=observing, reflecting=reflecting).are_set


@pytest.mark.parametrize("tokens", [700, 850, 1_000])
def test_what_gives_way_comes_back_when_the_day_is_over(tokens: int) -> None:
    assert allowance(CAPS, accounts(account(tokens), account())).until == MIDNIGHT


def test_a_cap_for_one_payer_does_not_bind_the_other() -> None:
    caps = Caps(tenant=Cap(tokens=1_000))
    assert allowance(caps, accounts(account(999_999, 99.0), account(1))).rung is Rung.FULL


@given(spent=st.integers(0, 3_000), more=st.integers(0, 3_000), reserved=st.integers(0, 3_000), usd=st.floats(0, 3))
def test_who_spends_more_never_climbs(spent: int, more: int, reserved: int, usd: float) -> None:
    less = allowance(CAPS, accounts(account(spent, usd, reserved=reserved), account(spent))).rung
    then = allowance(CAPS, accounts(account(spent + more, usd, reserved=reserved), account(spent + more))).rung
    assert RUNGS.index(then) >= RUNGS.index(less)


@given(
    tokens=st.integers(1, 5_000),
    calls=st.lists(st.tuples(st.integers(1, 2_000), st.floats(0, 1), st.booleans()), max_size=60),
)
def test_calls_that_use_no_more_than_they_reserve_pass_the_cap_by_one_at_most(
    tokens: int, calls: list[tuple[int, float, bool]]
) -> None:
    """Any number of workers: each reserves when it may, and some of those under way end before the next begins."""
    caps = Caps(tenant=Cap(tokens=tokens))
    spent, under_way, largest = 0, list[tuple[int, int]](), 0
    for estimate, share, one_ends in calls:
        tenant = account(spent, reserved=sum(reserved for reserved, _ in under_way))
        if allowance(caps, accounts(account(), tenant)).rung is not Rung.PAUSED:
            under_way.append((estimate, round(estimate * share)))
        if one_ends and under_way:
            _, used = under_way.pop(0)
            spent, largest = spent + used, max(largest, used)
    spent += sum(used for _, used in under_way)
    largest = max([largest, *(used for _, used in under_way)])
    assert spent < tokens + max(1, largest)


@pytest.mark.parametrize(
    ("now", "day", "end"),
    [
        (NOW, "2026-08-01", MIDNIGHT),
        (MIDNIGHT, "2026-08-02", MIDNIGHT + timedelta(days=1)),
        (datetime(2026, 8, 2, 1, 0, tzinfo=timezone(timedelta(hours=2))), "2026-08-01", MIDNIGHT),
    ],
)
def test_a_day_is_one_of_utc(now: datetime, day: str, end: datetime) -> None:
    at = accounts(account(1_000), account(), now)
    assert (str(at.day), at.day_end) == (day, end)
    assert allowance(CAPS, at) == Allowance(rung=Rung.PAUSED, until=end)


def test_who_was_not_paid_for_longer_goes_on_earlier_when_the_day_is_over() -> None:
    days = [None, *(NOW.date() - timedelta(days=days) for days in (400, 2, 1, 0))]
    paid = [replace(accounts(account(), account(10_000)), last_paid=day) for day in days]
    turns = [allowance(CAPS, at).until for at in paid]
    assert turns[0] == MIDNIGHT
    assert turns == sorted({turn for turn in turns if turn is not None})
    assert turns[-1] == MIDNIGHT + TURN


def test_what_is_only_reserved_pauses_until_a_call_may_have_ended() -> None:
    claimed = account(10, reserved=990)
    assert allowance(CAPS, accounts(claimed, account())).until == NOW + RESERVED_WAIT
    late = MIDNIGHT - RESERVED_WAIT / 2
    assert allowance(CAPS, accounts(claimed, account(), late)).until == MIDNIGHT


def test_all_tokens_count_and_an_unknown_price_is_none() -> None:
    usage = Usage(input_tokens=100, cached_input_tokens=80, cache_write_tokens=10, output_tokens=20)
    assert amount(usage) == Amount(tokens=120, cost_usd=0.0)
    assert amount(replace(usage, cost_usd=0.25)) == Amount(tokens=120, cost_usd=0.25)


RULES = Rules.resolve({}, {"message_tokens": 1_000, "observation_tokens": 500, "buffer_every": 0.2, "memory_budget": 0})
BLOCK = RULES.block_tokens


def state(pending: int, **values: object) -> State:
    given_values = {"rules": RULES, "now": NOW, "pending_tokens": pending, "observation_tokens": 0, "observations": 0}
    return State(**(given_values | values))  # type: ignore[arg-type] # the test's own values


@pytest.mark.parametrize("rung", [Rung.FULL, Rung.SMALL_MODEL])
@pytest.mark.parametrize("pending", [0, 300, 1_000, 5_000])
def test_the_upper_rungs_change_nothing_of_when(rung: Rung, pending: int) -> None:
    assert affordable_step(state(pending), CAPS, Allowance(rung=rung)) == next_step(state(pending))


@pytest.mark.parametrize(("pending", "kind"), [(300, Buffer), (1_000, Observe), (BLOCK - 1, Observe), (BLOCK, Observe)])
def test_larger_batches_wait_for_block_after(pending: int, kind: type[Step]) -> None:
    step = affordable_step(state(pending), CAPS, LARGER)
    assert isinstance(next_step(state(pending)), kind)
    if pending < BLOCK:
        assert step == Wait(until=MIDNIGHT, at_tokens=BLOCK)
    else:
        assert isinstance(step, Observe)


@pytest.mark.parametrize("allowed", [LARGER, PAUSED], ids=lambda allowed: allowed.rung.value)
def test_what_calls_no_model_is_done_on_every_rung(allowed: Allowance) -> None:
    buffered = state(1_000, buffered=(900,))
    assert affordable_step(buffered, CAPS, allowed) == Activate(count=1)
    off = replace(buffered, rules=replace(RULES, enabled=False))
    assert affordable_step(off, CAPS, allowed) == next_step(off)
    assert isinstance(next_step(off), Wait)


@pytest.mark.parametrize("allowed", [LARGER, PAUSED], ids=lambda allowed: allowed.rung.value)
@pytest.mark.parametrize("pending", [700, 900])
def test_what_was_observed_ahead_is_looked_at_when_it_may_become_live_on_every_rung(
    pending: int, allowed: Allowance
) -> None:
    buffered = state(pending, buffered=(600,))
    step = affordable_step(buffered, CAPS, allowed)
    assert isinstance(next_step(buffered), Buffer)
    assert isinstance(step, Wait)
    assert step.at_tokens == RULES.message_tokens


@pytest.mark.parametrize("pending", [300, 1_000, BLOCK])
def test_a_pause_lasts_to_the_days_end_whatever_comes_meanwhile(pending: int) -> None:
    assert affordable_step(state(pending), CAPS, PAUSED) == Wait(until=MIDNIGHT, at_tokens=NEVER, paused=True)


def test_a_pause_with_nothing_to_do_is_none() -> None:
    assert affordable_step(state(10), CAPS, PAUSED) == next_step(state(10)) == Wait(at_tokens=100)


def test_the_built_in_observer_goes_on_while_the_reflector_is_paused() -> None:
    caps = replace(CAPS, observing=False)
    full_log = state(1_000, observation_tokens=600, observations=3)
    assert isinstance(next_step(full_log), Reflect)
    assert isinstance(affordable_step(full_log, caps, PAUSED), Observe)
    rest = replace(full_log, pending_tokens=10)
    assert isinstance(next_step(rest), Reflect)
    assert affordable_step(rest, caps, PAUSED) == Wait(until=MIDNIGHT, at_tokens=100, paused=True)


def test_the_built_in_observer_is_paused_no_longer_than_until_it_has_something_to_do() -> None:
    full_log = state(650, buffered=(600,), observation_tokens=600, observations=3)
    step = affordable_step(full_log, replace(CAPS, observing=False), PAUSED)
    assert step == Wait(until=MIDNIGHT, at_tokens=700, paused=True)


def test_larger_batches_are_looked_at_when_min_interval_ends() -> None:
    rules = replace(RULES, min_interval=60.0)
    held = state(1_000, observation_tokens=600, observations=3, reflected_at=NOW, rules=rules)
    assert isinstance(next_step(held), Observe)
    assert affordable_step(held, CAPS, LARGER) == Wait(until=NOW + timedelta(seconds=60), at_tokens=BLOCK)


def test_the_built_in_reflector_goes_on_while_the_observer_is_paused() -> None:
    caps = replace(CAPS, reflecting=False)
    full_log = state(1_000, observation_tokens=600, observations=3)
    assert isinstance(affordable_step(full_log, caps, PAUSED), Reflect)
    rest = replace(full_log, observation_tokens=10)
    assert isinstance(next_step(rest), Observe)
    assert affordable_step(rest, caps, PAUSED) == Wait(until=MIDNIGHT, at_tokens=NEVER, paused=True)


def test_a_wish_waits_for_money_too() -> None:
    asked = state(10, requested=Request.OBSERVE)
    assert isinstance(affordable_step(asked, CAPS, FREE), Observe)
    assert affordable_step(asked, CAPS, PAUSED) == Wait(until=MIDNIGHT, at_tokens=NEVER, paused=True)


def test_a_wish_is_done_while_batches_are_larger() -> None:
    assert isinstance(affordable_step(state(10, requested=Request.OBSERVE), CAPS, LARGER), Observe)
