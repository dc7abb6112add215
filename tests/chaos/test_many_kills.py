"""The long one: many workers are killed while graphs run; all runs end, and all are right."""

from __future__ import annotations

import signal
from random import Random
from typing import Any

import pytest

from tests.chaos.play import expected, play
from tests.chaos.rig import Rig
from tests.chaos.workload import make_jobs

pytestmark = pytest.mark.chaos

KILLS = 10
"""In each run."""

TASKS = 150
MODES = ("holds", "director", "restrict", "holds")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "run" in metafunc.fixturenames:
        kills = metafunc.config.getoption("--kills", 40)
        metafunc.parametrize("run", range(max(1, kills // KILLS)))


def alive(rig: Rig) -> list[Any]:
    return [name for name in rig.names if rig.pid(name) is not None]


async def killing(rig: Rig, seed: int) -> Any:
    """Any worker, the moment that the next few tasks are done; also one that has just come."""
    random = Random(seed)
    jobs = make_jobs("w", TASKS, seed=seed)
    futures = rig.start(jobs)
    killed = 0
    for i in range(KILLS):
        await rig.watcher.done(5 + i * (TASKS - 20) // KILLS)
        await rig.until(lambda: rig.scheduler.running and alive(rig))
        rig.send(random.choice(alive(rig)), signal.SIGKILL)
        killed += 1
    numbers = await rig.numbers(futures, jobs)
    assert killed == KILLS
    assert numbers == expected(jobs)
    return numbers


@pytest.mark.timeout(240)
def test_many_kills(run: int) -> None:
    outcome = play(lambda rig: killing(rig, run), MODES[run % len(MODES)], limit=120.0)
    assert not outcome.wrong, (outcome.wrong, outcome.notes)
