"""Who is silent is taken off, unless it is the scheduler that cannot hear."""

from __future__ import annotations

from typing import Any

import pytest
from distributed import Client, Scheduler, Worker

from orchestrator_core.execute.dask.plans import watchdog
from orchestrator_core.execute.dask.plans.watchdog import Watchdog
from tests.execute.dask.cluster import cluster_test, until


class Clock:
    """A clock that the test sets; it looks ten times a second."""

    def __init__(self, patch: pytest.MonkeyPatch, s: Scheduler, *silent: Worker) -> None:
        self.now = 1e9
        patch.setattr(watchdog, "time", lambda: self.now)
        self._scheduler, self._silent = s, {worker.address for worker in silent}
        self._dog = Watchdog(s, 10.0, lambda worker: 1.0)

    def look(self, seconds: float) -> int:
        """All but the silent are heard of; how many are taken off in that time?"""
        found = 0
        for _ in range(round(seconds * 10)):
            self.now += 0.1
            for address, worker in self._scheduler.workers.items():
                worker.last_seen = 0.0 if address in self._silent else self.now
            found = found or self._dog.look()
        return found


async def with_data(c: Client) -> list[Any]:
    """Something on each worker, so that each is needed."""
    return await c.scatter([1, 2], broadcast=True)  # type: ignore[no-any-return]


@cluster_test(worker_kwargs={"heartbeat_interval": "1h"})
async def test_a_silent_worker_goes(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    data = await with_data(c)
    with pytest.MonkeyPatch.context() as patch:
        clock = Clock(patch, s, a)
        assert clock.look(9.9) == 0
        assert clock.look(0.4) == 1
        await until(lambda: a.address not in s.workers)
    assert b.address in s.workers
    del data


@cluster_test(worker_kwargs={"heartbeat_interval": "1h"})
async def test_where_nobody_is_heard_nobody_goes(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    data = await with_data(c)
    with pytest.MonkeyPatch.context() as patch:
        assert Clock(patch, s, a, b).look(60.0) == 0
    del data


@cluster_test(worker_kwargs={"heartbeat_interval": "1h"})
async def test_what_was_missed_while_the_loop_stood_still_does_not_count(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """After a minute in which nobody could be heard, the first look sees old news only."""
    data = await with_data(c)
    with pytest.MonkeyPatch.context() as patch:
        clock = Clock(patch, s, a)
        assert clock.look(5.0) == 0
        clock.now += 60.0
        assert clock.look(9.9) == 0
        assert clock.look(0.4) == 1
    del data
