"""Workers that die: by signals, by a broken library, in peace; alone, together and again."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from tests.chaos.ledger import Ledger
from tests.chaos.on_workers import segfault_once
from tests.chaos.play import MODES
from tests.chaos.rig import Rig
from tests.chaos.stories import Strike, computed
from tests.chaos.workload import make_jobs

pytestmark = pytest.mark.chaos


async def nothing(rig: Rig) -> None:
    """No fault at all: the measure of the others."""


async def kill(rig: Rig) -> None:
    rig.send(1, signal.SIGKILL)


async def kill_slowest(rig: Rig) -> None:
    rig.send(3, signal.SIGKILL)


async def kill_busiest_twice(rig: Rig) -> None:
    victim = rig.busiest()
    before = rig.address(victim)
    rig.send(victim, signal.SIGKILL)
    await rig.until(lambda: rig.scheduler.aliases.get(victim) not in (None, before))
    rig.send(victim, signal.SIGKILL)


async def kill_all_but_one(rig: Rig) -> None:
    for name in (0, 1, 2):
        rig.send(name, signal.SIGKILL)


async def kill_all(rig: Rig) -> None:
    for name in (0, 1, 2, 3):
        rig.send(name, signal.SIGKILL)


async def close_in_peace(rig: Rig) -> None:
    await rig.cluster.workers.pop(rig.busiest()).close()


async def restart_by_nanny(rig: Rig) -> None:
    await rig.nanny(rig.busiest()).restart()


async def restart_workers(rig: Rig) -> None:
    await rig.client.restart_workers([rig.address(name) for name in (0, 2)])


STRIKES = (
    nothing,
    kill,
    kill_slowest,
    kill_busiest_twice,
    kill_all_but_one,
    kill_all,
    close_in_peace,
    restart_by_nanny,
    restart_workers,
)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("strike", STRIKES, ids=lambda strike: strike.__name__)
def test_dead_workers(ledger: Ledger, strike: Strike, mode: str) -> None:
    ledger.judge(strike.__name__, lambda rig: computed(rig, strike), mode)


async def segfault_story(rig: Rig) -> Any:
    jobs = make_jobs()
    futures = rig.start(jobs)
    mortal = rig.client.submit(segfault_once, "dead", futures[0], key="mortal-0")
    return await rig.numbers(futures, jobs), await mortal


@pytest.mark.parametrize("mode", MODES)
def test_a_task_that_breaks_its_worker(ledger: Ledger, mode: str) -> None:
    ledger.judge("segfault", segfault_story, mode)
