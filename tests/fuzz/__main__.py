"""Runs the fuzz tests at length: ``python -m tests.fuzz --seeds 2000``. Exits with 1 if any seed or death failed.

A seed is a history of ``--steps`` acts; ``--first N --seeds 1 --shrink`` looks for the shortest that fails like seed
N. Then the service is killed before and after each statement, also at its later executions.
"""

import argparse
import asyncio
import sys
import tempfile
import traceback
from pathlib import Path

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis.reporting import with_reporter
from hypothesis.stateful import run_state_machine_as_test

from app.kit.logging import configure
from tests.databases import clone, own_server
from tests.fuzz.crashes import Lanes, single, unreached
from tests.fuzz.engine_laws import EngineLaws
from tests.fuzz.running import PHASES, machine

# Hypothesis begins each run with the simplest history, which is the same for all seeds.
EXAMPLES = 2
LANES, RUNS = 6, 3  # services at once; executions of each statement at which it is killed


def main() -> int:
    parser = argparse.ArgumentParser(description="Random histories and deaths; every law of the memory after each.")
    parser.add_argument("--seeds", type=int, default=2_000)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--no-crashes", action="store_true")
    asked = parser.parse_args()
    configure(json=False, level="error")
    with own_server("fuzz") as dsn:
        url = asyncio.run(clone(dsn, "daybook_fuzz"))
        seeds = range(asked.first, asked.first + asked.seeds)
        with machine(url) as laws:
            failed = failing_seeds(laws, seeds, _settings(asked.steps, shrink=asked.shrink))
        wrong = {} if asked.no_crashes else asyncio.run(failing_deaths(dsn))
    sys.stdout.write(f"{len(failed)} of {asked.seeds} seeds failed: {failed}\n{len(wrong)} deaths show in the end\n")
    return bool(failed or wrong)


def failing_seeds(laws: type[EngineLaws], seeds: range, how: settings) -> list[int]:
    """The seeds at which a law breaks, each printed with its history."""
    failed: list[int] = []
    for done, seed in enumerate(seeds, start=1):
        told: list[str] = []
        try:
            with with_reporter(lambda line: told.append(str(line))):  # noqa: B023 - called within
                run_state_machine_as_test(hypothesis.seed(seed)(laws), settings=how)
        except Exception as error:  # noqa: BLE001 - whatever it is, the seed failed
            failed.append(seed)
            _tell(seed, told, error)
        _progress(f"{done}/{len(seeds)} seeds, {len(failed)} failed")
    sys.stdout.write("\n")
    return failed


async def failing_deaths(dsn: str) -> dict[str, str]:
    """Deaths that change the final state, and statements that the scenario does not reach."""
    with tempfile.TemporaryDirectory() as folder:
        async with Lanes(dsn, Path(folder), number=LANES) as lanes:
            undisturbed = await lanes.run()
            wrong = dict.fromkeys(unreached(undisturbed), "the scenario does not reach it")
            wrong |= await lanes.wrong(undisturbed, single(undisturbed, number_max=RUNS), told=_progress)
    for point, how in wrong.items():
        sys.stdout.write(f"\n{point}: {how}")
    sys.stdout.write("\n")
    return wrong


def _settings(steps: int, *, shrink: bool) -> settings:
    return settings(
        max_examples=EXAMPLES,
        stateful_step_count=steps,
        database=None,
        deadline=None,
        phases=PHASES if shrink else (Phase.generate,),
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        verbosity=Verbosity.debug,  # prints each step; read only if the seed fails
    )


def _tell(seed: int, told: list[str], error: Exception) -> None:
    acts = [line for line in told if "state." in line and "laws_hold" not in line]
    begin = max((number for number, line in enumerate(acts) if ".begin(" in line), default=0)
    sys.stdout.write("\n".join(["", f"seed {seed}", *acts[begin:], ""]))
    traceback.print_exception(error, limit=-3, file=sys.stdout)


def _progress(line: str) -> None:
    sys.stdout.write(f"\r{line}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
