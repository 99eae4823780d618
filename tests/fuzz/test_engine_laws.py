"""Exactly once, by force: a part of what ``make fuzz`` runs at length."""

from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.fuzz.running import machine

EXAMPLES, STEPS = 8, 40


def test_every_law_holds_after_every_step_of_a_random_history(database_url: str) -> None:
    # A history that fails is told as it is: `python -m tests.fuzz --shrink` looks for a shorter one, for minutes.
    how = settings(max_examples=EXAMPLES, stateful_step_count=STEPS, database=None, phases=(Phase.generate,))
    with machine(database_url) as laws:
        run_state_machine_as_test(laws, settings=how)
