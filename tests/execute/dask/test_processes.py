"""Real processes: the plugin travels by pickle, workers die, and a scheduler preloads it."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import dask
from distributed import Client, Event, LocalCluster, Nanny, Scheduler
from distributed.utils_test import popen

from orchestrator_core.execute.dask import OrchestratorPlugin, client, optimize
from orchestrator_core.execute.dask.plugin import FOR_BLOCKS
from orchestrator_core.execute.dask.settled import Settled
from tests.execute.dask.advisors import FixedAdvisor
from tests.execute.dask.cluster import (
    add,
    cluster_test,
    layers,
    result,
    start,
    stop,
    until,
    wait_for,
)


def test_a_cluster_of_processes_follows_the_plan() -> None:
    graph, keys = layers(width=10)
    with (
        dask.config.set({"distributed.admin.system-monitor.gil.enabled": False}),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            scheduler_kwargs={"validate": True},
        ) as cluster,
        Client(cluster) as ours,
    ):
        with optimize(ours, FixedAdvisor(), mode="director"):
            plugin: Any = cluster.scheduler.plugins[FOR_BLOCKS]
            found = client.fetch_cluster(ours)
            assert ours.get(graph, keys) == [result()] * 10
        assert ours.get(graph, keys) == [result()] * 10
    (run,) = plugin.advisor.runs
    planned = {a.task: a.worker for a in plugin.advisor.plans[0].assignments}
    assert {record.task: record.worker for record in run.tasks} == planned
    assert run.cluster.names == found.names == ("0", "1")


def die_once(event: str) -> int:
    """The first call kills its worker's process."""
    if not Event(event).is_set():
        Event(event).set()
        os.kill(os.getpid(), signal.SIGKILL)
    return add()


@cluster_test(Worker=Nanny, nthreads=[("127.0.0.1", 1)] * 2, worker_kwargs={}, timeout=60)
async def test_a_killed_worker_costs_time_but_no_result(
    c: Client, s: Scheduler, a: Nanny, b: Nanny
) -> None:
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(mode="director", advisor=advisor)
    session = await start(s, plugin)
    graph: dict[str, Any] = {f"t-{i}": (add,) for i in range(20)}
    graph |= {"mortal-0": (die_once, "dead")}
    graph |= {f"u-{i}": (add, f"t-{i}", "mortal-0") for i in range(20)}
    futures = c.get(graph, [f"u-{i}" for i in range(20)], sync=False)
    assert await c.gather(futures) == [3] * 20
    s.validate_state()
    assert session.steering.follower.disabled is None
    assert session.steering.follower.check() == ()
    await until(lambda: len(s.workers) == 2)
    twin, twins = layers(tag="after")
    assert await c.gather(c.get(twin, twins, sync=False)) == [result()] * 6
    await stop(s, plugin)
    mortal = [r for r in advisor.runs[0].tasks if r.task == "mortal-0"]
    assert [(r.status, r.attempt) for r in mortal] == [("ok", 2)]
    assert [run.mode for run in advisor.runs] == ["planned", "planned"]


@cluster_test(Worker=Nanny, nthreads=[("127.0.0.1", 1)] * 2, worker_kwargs={}, timeout=60)
async def test_after_a_restart_in_the_middle_the_same_keys_are_planned_again(
    c: Client, s: Scheduler, a: Nanny, b: Nanny
) -> None:
    advisor = FixedAdvisor()
    plugin = OrchestratorPlugin(mode="director", advisor=advisor)
    session = await start(s, plugin)
    graph, keys = layers()
    graph |= {"gate-0": (wait_for, "open", *keys)}
    graph |= {f"u-{i}": (add, "gate-0") for i in range(6)}
    last = [f"u-{i}" for i in range(6)]
    cut = c.get(graph, last, sync=False)
    await until(lambda: all(key in s.tasks and s.tasks[key].state == "memory" for key in keys))
    await c.restart()
    assert {future.status for future in cut} == {"cancelled"}
    assert len(session.steering.follower) == len(session.recorder) == len(session.control) == 0
    await Event("open").set()
    assert await c.gather(c.get(graph, last, sync=False)) == [2] * 6
    s.validate_state()
    assert session.steering.follower.disabled is None
    await stop(s, plugin)
    assert [(run.mode, run.status) for run in advisor.runs] == [
        ("planned", "cancelled"),
        ("planned", "ok"),
    ]


@cluster_test(
    Worker=Nanny,
    nthreads=[("127.0.0.1", 1)],
    worker_kwargs={"env": {"ORCHESTRATOR_WORKER_KIND": "slow", "ORCHESTRATOR_WORKER_SPEED": "0.5"}},
    timeout=60,
)
async def test_a_worker_is_described_by_its_own_environment(
    c: Client, s: Scheduler, nanny: Nanny
) -> None:
    plugin = OrchestratorPlugin(advisor=FixedAdvisor())
    session = await start(s, plugin)
    await until(lambda: session.roster.kind(nanny.worker_address) == "slow")
    (worker,) = (await client.fetch_cluster(c)).workers
    assert (worker.kind, worker.speed) == ("slow", 0.5)
    await stop(s, plugin)


def advisor_for_store(store: str | None) -> FixedAdvisor:
    return FixedAdvisor()


@contextmanager
def preloaded(folder: Path, **settings: str) -> Iterator[Client]:
    """A scheduler in a process of its own, as ``dask scheduler --preload`` on a command line."""
    where = folder / "scheduler.json"
    command = ["dask", "scheduler", "--host", "127.0.0.1:0", "--dashboard-address", ":0"]
    command += ["--preload", "orchestrator_core.execute.dask.preload"]
    command += ["--scheduler-file", str(where)]
    with (
        popen(command, env={**os.environ, **settings}),
        Client(scheduler_file=str(where), set_as_default=False) as ours,
    ):
        yield ours


def test_a_scheduler_preloads_the_plugin(tmp_path: Path) -> None:
    settings = {
        "DASK_ORCHESTRATOR__ADVISOR": "no_such_module:nothing",
        "DASK_ORCHESTRATOR__MODE": "observe",
    }
    with preloaded(tmp_path, **settings) as ours:
        assert client.fetch_mode(ours) == "observe"
        assert not client.wait_ready(ours, 10), "there is no such advisor"
        assert client.remove_plugin(ours)
        assert client.fetch_mode(ours) == "off"


def test_nobody_looks_for_garbage_in_what_was_loaded(tmp_path: Path) -> None:
    """In the scheduler's own process, until the plugin leaves; nowhere in another thread."""
    settings = {"ORCHESTRATOR_STORE": str(tmp_path / "schedules.db")}
    with preloaded(tmp_path, **settings) as ours:
        assert client.wait_ready(ours, 60)
        assert ours.run_on_scheduler(gc.get_freeze_count) > 10_000
        assert client.remove_plugin(ours)
        assert ours.run_on_scheduler(gc.get_freeze_count) == 0
    settled = Settled()
    other = Thread(target=settled.look)
    other.start()
    other.join()
    assert gc.get_freeze_count() == 0


def test_what_others_froze_stays_frozen() -> None:
    gc.freeze()
    try:
        settled = Settled()
        settled.look()
        settled.leave()
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
