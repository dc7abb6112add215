"""Stories that several test files tell."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tests.chaos.play import expected
from tests.chaos.rig import Rig
from tests.chaos.workload import make_jobs

AFTER = 25
"""Tasks that are done when a fault strikes."""

Strike = Callable[[Rig], Awaitable[object]]


async def computed(rig: Rig, strike: Strike | None = None) -> dict[str, int]:
    """The workload, struck after some of its tasks are done."""
    jobs = make_jobs()
    futures = rig.start(jobs)
    if strike is not None:
        await rig.watcher.done(AFTER)
        await strike(rig)
    numbers = await rig.numbers(futures, jobs)
    assert numbers == expected(jobs)
    return numbers
