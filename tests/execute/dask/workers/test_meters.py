"""Workers measure while the session lasts, whoever joins or fails, and nothing stays behind."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from distributed import Client, Nanny, Scheduler, Worker, wait

from orchestrator_core.execute.dask import OrchestratorPlugin
from orchestrator_core.execute.dask.session import Session
from orchestrator_core.execute.dask.workers import meters
from orchestrator_core.execute.dask.workers.meters import NAME, Meters
from orchestrator_core.execute.dask.workers.shipped.meter import PEAK, SIZE, Meter
from orchestrator_core.execute.dask.workers.shipping import shipped
from orchestrator_core.execute.record import TaskRecord
from tests.execute.dask.advisors import FixedAdvisor
from tests.execute.dask.cluster import add, cluster_test, layers, result, start, stop, until


async def measured(s: Scheduler) -> tuple[OrchestratorPlugin, Session]:
    """A plugin that only observes, once all present workers measure or have failed to."""
    plugin = OrchestratorPlugin(mode="observe", advisor=FixedAdvisor())
    live = await start(s, plugin)
    await live.meters.settled()
    return plugin, live


def records(plugin: OrchestratorPlugin) -> dict[str, TaskRecord]:
    """By task, of all runs."""
    advisor: Any = plugin.advisor
    return {record.task: record for run in advisor.runs for record in run.tasks}


@cluster_test()
async def test_present_and_coming_workers_measure_until_the_plugin_goes(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    before = (set(s.handlers), set(s.plugins), set(s.worker_plugins))
    plugin, live = await measured(s)
    assert NAME in a.plugins
    assert NAME in b.plugins
    async with Worker(s.address, nthreads=1, name="late") as late:
        await until(lambda: late.address in live.meters)
        await stop(s, plugin)
        await live.meters.settled()
        for worker in (a, b, late):
            assert NAME not in worker.plugins
        async with Worker(s.address, nthreads=1, name="later") as later:
            assert await c.submit(add, 1, workers=[later.address]) == 2
            assert NAME not in later.plugins
    assert (set(s.handlers), set(s.plugins), set(s.worker_plugins)) == before


@cluster_test()
async def test_leaving_at_once_leaves_nothing_on_the_workers(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    guests = Meters(s)
    guests.install([a.address, b.address])
    guests.leave()
    guests.install([a.address])
    await guests.settled()
    assert NAME not in a.plugins
    assert NAME not in b.plugins


@cluster_test()
async def test_a_session_that_gives_up_takes_its_meters_along(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    plugin, live = await measured(s)
    assert a.address in live.meters
    live.fault("test", RuntimeError("first"))
    live.fault("test", RuntimeError("second"))
    await until(lambda: not live.is_live and a.address not in live.meters)
    await live.meters.settled()
    assert NAME not in a.plugins
    await stop(s, plugin)


@cluster_test()
async def test_a_worker_that_cannot_read_the_plugin_works_unmeasured(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(meters, "_meter", lambda: b"no pickle")
        plugin, live = await measured(s)
        assert a.address not in live.meters
        async with Worker(s.address, nthreads=1) as late:
            await until(lambda: len(s.running) == 3)
            await live.meters.settled()
            assert NAME not in late.plugins
            graph, keys = layers()
            assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 6
        await stop(s, plugin)
    assert live.counters.faults == 0
    assert len(records(plugin)) == len(graph)
    assert all(record.memory_peak is None for record in records(plugin).values())


@cluster_test(config={"distributed.comm.timeouts.connect": "300 ms"})
async def test_a_worker_that_dies_meanwhile_is_forgotten(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    plugin, live = await measured(s)
    async with Worker(s.address, nthreads=1) as short:
        await until(lambda: short.address in s.workers)
        live.meters.install([short.address, "tcp://127.0.0.1:9"])
    await until(lambda: short.address not in s.workers)
    await live.meters.settled()
    assert "tcp://127.0.0.1:9" not in live.meters
    await stop(s, plugin)
    await live.meters.settled()
    assert NAME not in a.plugins


class Broken(Meter):
    """Fails where the test wants it to."""

    def __init__(self, where: str) -> None:
        self.where = where

    def setup(self, worker: Any) -> None:
        super().setup(worker)
        setattr(self, self.where, self.fail)

    def fail(self, *arguments: Any) -> Any:
        raise RuntimeError("meant")


@pytest.mark.parametrize("where", ["_shared", "_is_shell", "_ended", "_fetched"])
def test_a_meter_that_fails_does_nothing_any_more(where: str) -> None:
    @cluster_test()
    async def run(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
        guests = [Broken(where), Broken(where)]
        for worker, guest in zip((a, b), guests, strict=True):
            assert await worker.plugin_add(guest, name=NAME) == {"status": "OK"}
        graph, keys = layers()
        assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 6
        assert any(guest._gauge is None for guest in guests)
        with pytest.raises(ZeroDivisionError):
            await c.submit(lambda: 1 / 0)
        for worker in (a, b):
            assert await worker.plugin_remove(NAME) == {"status": "OK"}

    run()


@cluster_test()
async def test_a_meter_that_cannot_start_does_nothing(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    guest = Meter()
    with pytest.MonkeyPatch.context() as patch:
        # What was unpickled in this very process has globals of its own.
        patch.setitem(Meter.setup.__globals__, "rss_reader", lambda: 1 / 0)
        assert await a.plugin_add(guest, name=NAME) == {"status": "OK"}
    assert guest._gauge is None
    assert await c.submit(add, 1, workers=[a.address]) == 2


def test_the_meter_needs_neither_this_project_nor_numpy() -> None:
    script = f"""
import pickle, sys
sys.modules['orchestrator_core'] = sys.modules['numpy'] = None
from types import SimpleNamespace as N
meter = pickle.loads({shipped(Meter())!r})
task = N(startstops=[], type=int)
meter.setup(N(state=N(tasks={{"x": task}}), data={{}}))
meter.transition("x", "ready", "executing")
held = bytearray(50_000_000)
task.startstops.append({{"action": "compute", "start": 1.0, "stop": 2.0}})
meter.transition("x", "executing", "memory")
print(task.startstops[0][{PEAK!r}] >= 50_000_000)
meter.teardown(None)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "True"


@cluster_test()
async def test_workers_that_share_a_process_measure_no_memory(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    plugin, _ = await measured(s)
    await wait(c.map(bytes, [10, 20], key=["b-0", "b-1"]))
    await stop(s, plugin)
    assert {record.memory_peak for record in records(plugin).values()} == {None}


class Box:
    """Dask sees an object of some 50 bytes."""

    def __init__(self, nbytes: int) -> None:
        self.content = bytes(nbytes)


@cluster_test()
async def test_outputs_that_dask_sees_as_shells_have_their_real_size(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    plugin, _ = await measured(s)
    futures = c.map(Box, [3_000_000, 5_000_000], key=["box-0", "box-1"])
    await wait(futures)
    assert s.tasks["box-0"].nbytes < 1_000
    await stop(s, plugin)
    assert 3_000_000 <= records(plugin)["box-0"].nbytes < 3_010_000
    assert 5_000_000 <= records(plugin)["box-1"].nbytes < 5_010_000


@cluster_test(worker_kwargs={"memory_limit": "100 MB", "validate": True})
async def test_what_was_spilled_stays_on_disk(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """Only what is in memory is looked at."""
    guest = Meter()
    assert await a.plugin_add(guest, name=NAME) == {"status": "OK"}
    computed: dict[str, Any] = {}
    box = await c.submit(Box, 1000, key="box", workers=[a.address])
    assert box is not None
    a.data.evict()
    assert not a.data.fast
    guest._tell_size("box", computed)
    assert SIZE not in computed
    assert not a.data.fast


@cluster_test(config={"distributed.admin.low-level-log-length": 0})
async def test_links_are_learned_from_the_transfers_of_tasks(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    plugin, live = await measured(s)
    big = c.map(bytes, [5_000_000 + i for i in range(12)], workers=[a.address], pure=False)
    await wait(big)
    before = live.roster.links.observed
    # One after the other, so that each is a transfer of its own.
    for i, future in enumerate(big):
        sizes = c.map(
            lambda x, _: len(x),
            [future] * 2,
            [0, 1],
            key=[f"n-{i}-0", f"n-{i}-1"],
            workers=[b.address],
        )
        await wait(sizes)
    await stop(s, plugin)
    assert before == 0
    assert live.roster.links.observed == 12
    found = live.roster._found()
    assert found is not None
    pair = live.roster.links._pairs[a.address, b.address]
    assert [int(nbytes) // 1_000_000 for nbytes, _ in pair._large] == [5] * 12
    waited = sum(record.transfer_seconds for record in records(plugin).values())
    assert waited == pytest.approx(sum(seconds for _, seconds in pair._large))
    assert found.link(str(a.name), str(b.name)).bandwidth == pytest.approx(
        pair.bandwidth(float(found.latency[0, 1])) or 0.0
    )


@cluster_test(Worker=Nanny, nthreads=[("127.0.0.1", 1)] * 2, worker_kwargs={}, timeout=60)
async def test_a_task_in_a_process_of_its_own_tells_its_peak(
    c: Client, s: Scheduler, a: Nanny, b: Nanny
) -> None:
    plugin, live = await measured(s)
    # Each takes its worker higher than it ever was, which the operating system tells exactly: what
    # stays below is seen only if the task lets another thread look.
    sizes = [80_000_000, 160_000_000, 240_000_000]
    # Lambdas travel by value: the workers need not import this module, which takes memory too.
    # The output does not show what the task took.
    large = c.map(
        lambda n: len(bytearray(b"x") * n),
        sizes,
        key=[f"large-{i}" for i in range(3)],
        workers=[a.worker_address],
    )
    assert await c.gather(large) == sizes
    small = c.map(lambda n: n + 1, range(4), key=[f"small-{i}" for i in range(4)])
    await wait(small)
    await stop(s, plugin)
    await live.meters.settled()
    left = await c.run(lambda dask_worker: list(dask_worker.plugins))
    assert all(NAME not in plugins for plugins in left.values())
    found = records(plugin)
    # Beside the bytes a task takes what its process does meanwhile.
    for i, nbytes in enumerate(sizes):
        assert 0.98 * nbytes < (found[f"large-{i}"].memory_peak or 0) < nbytes + 30_000_000
    for i in range(4):
        peak = found[f"small-{i}"].memory_peak
        assert peak is not None
        assert peak < 30_000_000
    assert all(record.nbytes < 1_000 for record in found.values())
