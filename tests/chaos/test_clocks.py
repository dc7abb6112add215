"""Clocks that disagree, and clocks that jump."""

from __future__ import annotations

import asyncio
import sys
import time as clock
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.chaos.ledger import Ledger
from tests.chaos.on_workers import reads, skew
from tests.chaos.play import MODES
from tests.chaos.rig import Rig
from tests.chaos.stories import AFTER, computed
from tests.chaos.workload import make_jobs

pytestmark = pytest.mark.chaos


async def skewed_workers(rig: Rig) -> Any:
    """One worker lives an hour ahead, one a day behind, one drifts by a second."""
    for name, seconds in ((0, 3600.0), (1, -86400.0), (2, 1.0)):
        changed = await rig.client.run(skew, seconds, workers=[rig.address(name)])
        assert all(count > 3 for count in changed.values())
    return await computed(rig), await computed(rig)


@contextmanager
def scheduler_clock(offset: list[float]) -> Iterator[None]:
    """Everything in this process reads a clock to which `offset` is added."""
    steady = clock.time

    def stepped() -> float:
        return steady() + offset[0]

    changed = [module for module in list(sys.modules.values()) if reads(module, steady)]
    try:
        for module in changed:
            module.time = stepped  # type: ignore[attr-defined]
        yield
    finally:
        for module in changed:
            module.time = steady  # type: ignore[attr-defined]


def stepping(offset: list[float]) -> Any:
    """The scheduler's clock jumps an hour ahead, then seconds back and forth, and stays there.

    With a long jump back, Dask itself sends no messages until that time has come again.
    """

    async def story(rig: Rig) -> Any:
        jobs = make_jobs()
        futures = rig.start(jobs)
        for i, step in enumerate((3600.0, 3598.0, 3601.0)):
            await rig.watcher.done(15 * (i + 1))
            offset[0] = step
        return await rig.numbers(futures, jobs), await computed(rig)

    return story


async def woken(rig: Rig) -> Any:
    """The machine slept: the event loop's own clock is suddenly many seconds later, twice."""
    loop = asyncio.get_running_loop()
    steady, offset = loop.time, [0.0]
    loop.time = lambda: steady() + offset[0]  # type: ignore[method-assign]
    jobs = make_jobs()
    futures = rig.start(jobs)
    for i, step in enumerate((20.0, 25.0)):
        await rig.watcher.done(AFTER * (i + 1))
        offset[0] = step
    return await rig.numbers(futures, jobs)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("story", [skewed_workers, woken], ids=lambda story: story.__name__)
def test_clocks(ledger: Ledger, story: Any, mode: str) -> None:
    ledger.judge(f"clocks: {story.__name__}", story, mode)


@pytest.mark.parametrize("mode", MODES)
def test_a_clock_that_jumps(ledger: Ledger, mode: str) -> None:
    offset = [0.0]
    with scheduler_clock(offset):
        ledger.judge("clocks: stepping", stepping(offset), mode)
