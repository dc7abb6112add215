"""Who is silent is taken off, unless it is the scheduler that cannot hear."""

from __future__ import annotations

from typing import Any

import pytest
from distributed import Client, Nanny, Scheduler, Worker

from orchestrator_core.execute.dask.plans import watchdog
from orchestrator_core.execute.dask.plans.watchdog import Watchdog
from tests.execute.dask.advisors import FixedAdvisor, plugin_of
from tests.execute.dask.cluster import cluster_test, layers, result, start, stop, until


class Clock:
    """A clock that the test sets; it looks ten times a second.

    Attributes:
        silent: addresses of workers that are not heard of. new: of those that have not ended a
            task yet.
    """

    def __init__(self, patch: pytest.MonkeyPatch, s: Scheduler, *silent: Worker) -> None:
        self.now = 1e9
        self.new: set[str] = set()
        patch.setattr(watchdog, "time", lambda: self.now)
        self._scheduler, self.silent = s, {worker.address for worker in silent}
        self.dog = Watchdog(s, 10.0, lambda _: 1.0, lambda address: address not in self.new)

    def look(self, seconds: float) -> int:
        """All but the silent are heard of; how many are taken off in that time?"""
        found = 0
        for _ in range(round(seconds * 10)):
            self.now += 0.1
            for address, worker in self._scheduler.workers.items():
                worker.last_seen = 0.0 if address in self.silent else self.now
            found = found or self.dog.look()
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


@cluster_test(worker_kwargs={"heartbeat_interval": "1h"})
async def test_who_may_still_import_what_its_first_task_needs_is_given_longer(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """A worker does that on its event loop: it cannot say so, and nobody else can see it."""
    data = await with_data(c)
    with pytest.MonkeyPatch.context() as patch:
        clock = Clock(patch, s, a)
        clock.new = {a.address}
        assert clock.look(59.8) == 0
        assert clock.look(0.4) == 1
    del data


@cluster_test(worker_kwargs={"heartbeat_interval": "1h"})
async def test_who_comes_back_was_not_hung(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    """If it is stopped at each start anew, it never gets anywhere."""
    data = await with_data(c)
    with pytest.MonkeyPatch.context() as patch:
        clock = Clock(patch, s, a)
        state = s.workers[a.address]
        clock.dog.joined(state)
        assert clock.look(10.3) == 1, "who joined for the first time is no sign of anything"
        await until(lambda: a.address not in s.workers)
        clock.dog.joined(state)
        async with Worker(s.address, nthreads=1, heartbeat_interval="1h") as other:
            await c.replicate(data)
            clock.silent = {other.address}
            clock.now += 60.0  # silence counts from the next look
            assert clock.look(19.8) == 0
            assert clock.look(0.4) == 1
    del data


@cluster_test(nthreads=[("127.0.0.1", 1)] * 4, worker_kwargs={"heartbeat_interval": "1h"})
async def test_several_that_come_back_are_one_reason_to_wait_longer(
    c: Client, s: Scheduler, *workers: Worker
) -> None:
    data = await with_data(c)
    with pytest.MonkeyPatch.context() as patch:
        clock = Clock(patch, s, *workers[:3])
        states = [s.workers[each.address] for each in workers[:3]]
        assert clock.look(10.3) == 3
        for state in states:
            clock.dog.joined(state)
        assert clock.dog._patience == 20.0
        for _ in range(6):
            clock.dog._taken_off[states[0].name] = clock.dog._patience
            clock.dog.joined(states[0])
        assert clock.dog._patience == watchdog.MOST
    del data


@cluster_test(Worker=Nanny, worker_kwargs={})
async def test_who_has_a_nanny_is_begun_anew(c: Client, s: Scheduler, a: Nanny, b: Nanny) -> None:
    """Told by Dask that nobody knows it, a worker that is well ends for good."""
    data = await with_data(c)
    with pytest.MonkeyPatch.context() as patch:
        clock = Clock(patch, s)
        clock.silent, before = {a.worker_address}, a.pid
        assert clock.look(10.3) == 1
        await until(lambda: len(s.workers) == 1)
    await until(lambda: len(s.workers) == 2 or a.status.name == "closed")
    assert a.status.name == "running"
    assert a.pid not in (None, before)
    del data


@cluster_test()
async def test_it_is_known_who_has_ended_a_task(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    plugin = plugin_of(FixedAdvisor())
    session = await start(s, plugin)
    assert not session.recorder.has_run(a.address)
    graph, keys = layers()
    assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 6
    assert session.recorder.has_run(a.address)
    assert session.recorder.has_run(b.address)
    await a.close()
    await until(lambda: a.address not in s.workers)
    assert not session.recorder.has_run(a.address)
    assert session.recorder.has_run(b.address)
    await stop(s, plugin)
