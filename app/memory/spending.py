"""Daily caps on the cost of the memory's own model calls, and what gives way as one comes near (decision 0016).

Days are UTC days of the database's clock. An account is what one payer, a memory or its tenant, has spent on a day, and
what calls under way have reserved: an upper estimate, so that at most one call passes a cap.
"""

from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import assert_never

from app.llm.port import Usage
from app.memory.policy import next_step
from app.memory.rules import Rules
from app.memory.steps import NEVER, Activate, ActivateReflection, State, Step, Wait

# How soon to look again if calls under way have reserved all that is left.
RESERVED_WAIT = timedelta(seconds=1)
# A memory that had calls waits so long after midnight at most: well behind those that have waited for longer.
TURN = timedelta(seconds=10)


class Rung(StrEnum):
    """Degree of saving as spending nears a cap; each rung includes the measures of those before it."""

    FULL = "full"
    SMALL_MODEL = "small_model"
    LARGER_BATCHES = "larger_batches"  # nothing is observed ahead, and only at block_after
    PAUSED = "paused"  # no call at all


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    tokens: int = 0
    cost_usd: float = 0.0


def amount(usage: Usage) -> Amount:
    """Tokens in and out, the cached ones too; a call without a known price costs nothing in dollars."""
    return Amount(tokens=usage.input_tokens + usage.output_tokens, cost_usd=usage.cost_usd or 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """The cap of one payer on one day; None is no cap."""

    tokens: int | None = None
    cost_usd: float | None = None

    def share(self, *amounts: Amount) -> float:
        """The share of the cap that the amounts use, in tokens or in dollars, whichever is larger."""
        tokens = 0.0 if self.tokens is None else sum(one.tokens for one in amounts) / self.tokens
        dollars = 0.0 if self.cost_usd is None else sum(one.cost_usd for one in amounts) / self.cost_usd
        return max(tokens, dollars)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """``unpriced_tokens``: those of the spent tokens whose price is not known."""

    spent: Amount = field(default_factory=Amount)
    reserved: Amount = field(default_factory=Amount)
    unpriced_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounts:
    """Both payers of a memory's calls, at ``now``. ``last_paid``: the day of the memory's last call, if it had one."""

    now: datetime
    session: Account
    tenant: Account
    last_paid: date | None = None

    @property
    def day(self) -> date:
        return self.now.astimezone(UTC).date()

    @property
    def day_end(self) -> datetime:
        return datetime.combine(self.day + timedelta(days=1), time.min, tzinfo=UTC)

    @property
    def next_turn(self) -> datetime:
        """When the memory may call again, a little after the day; first those that have waited for longer."""
        paid = self.last_paid
        return self.day_end if paid is None else self.day_end + TURN / (1 + (self.day - paid).days)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """``small_model_at`` and ``larger_batches_at`` are shares of a cap; None: there is no smaller model.

    ``observing`` and ``reflecting``: whether these steps call a model at all; the built-in ones cost nothing.
    """

    session: Cap = field(default_factory=Cap)
    tenant: Cap = field(default_factory=Cap)
    small_model_at: float | None = None
    larger_batches_at: float = 0.85
    observing: bool = True
    reflecting: bool = True

    @property
    def are_set(self) -> bool:
        """Whether there is anything to count."""
        return (self.session, self.tenant) != (Cap(), Cap()) and (self.observing or self.reflecting)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """``until``: when more may be allowed again."""

    rung: Rung = Rung.FULL
    until: datetime | None = None


def allowance(caps: Caps, accounts: Accounts) -> Allowance:
    """The rung of the payer that is nearer to its cap. Reservations alone can pause, for a short while."""
    spent = max(caps.session.share(accounts.session.spent), caps.tenant.share(accounts.tenant.spent))
    claimed = max(
        caps.session.share(accounts.session.spent, accounts.session.reserved),
        caps.tenant.share(accounts.tenant.spent, accounts.tenant.reserved),
    )
    if spent >= 1:
        return Allowance(rung=Rung.PAUSED, until=accounts.next_turn)
    if claimed >= 1:
        return Allowance(rung=Rung.PAUSED, until=min(accounts.now + RESERVED_WAIT, accounts.next_turn))
    if spent >= caps.larger_batches_at:
        return Allowance(rung=Rung.LARGER_BATCHES, until=accounts.next_turn)
    if caps.small_model_at is not None and spent >= caps.small_model_at:
        return Allowance(rung=Rung.SMALL_MODEL, until=accounts.next_turn)
    return Allowance()


def affordable_step(state: State, caps: Caps, allowed: Allowance) -> Step | Wait:
    """The next step that the allowance permits. A wait for money ends by itself."""
    step = next_step(state)
    if isinstance(step, Activate | ActivateReflection | Wait):
        return step
    match allowed.rung:
        case Rung.FULL | Rung.SMALL_MODEL:
            return step
        case Rung.LARGER_BATCHES:
            return _postponed(next_step(replace(state, rules=larger_batches(state.rules))), state, allowed)
        case Rung.PAUSED:
            may_observe, may_reflect = not caps.observing, not caps.reflecting
            free = next_step(replace(state, may_observe=may_observe, may_reflect=may_reflect))
            if isinstance(free, Wait):
                free = replace(free, paused=True, at_tokens=free.at_tokens if may_observe else NEVER)
            return _postponed(free, state, allowed)
    assert_never(allowed.rung)


def _postponed(step: Step | Wait, state: State, allowed: Allowance) -> Step | Wait:
    """A wait also ends when more is allowed, and when buffered observations, which are paid for, can become live."""
    if not isinstance(step, Wait):
        return step
    until = min((moment for moment in (step.until, allowed.until) if moment), default=None)
    at_tokens = min(step.at_tokens, state.rules.message_tokens) if state.buffered else step.at_tokens
    return replace(step, until=until, at_tokens=at_tokens)


def larger_batches(rules: Rules) -> Rules:
    """The same rules with fewer, larger calls: no buffering, and nothing before ``block_after``."""
    return replace(rules, buffer_tokens=None, message_tokens=rules.block_tokens)
