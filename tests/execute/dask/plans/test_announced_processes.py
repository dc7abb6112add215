"""Announced runs on real processes: one turns out ten times slower, one is killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster, get_worker

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.dask import OrchestratorPlugin, client
from orchestrator_core.execute.directives import Slot
from orchestrator_core.execute.live import LivePlan
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.repair import replan
from orchestrator_core.plan.schedule import Assignment, Schedule
from tests.execute.dask.advisors import FixedAdvisor

SECONDS = 0.1


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[LocalCluster, Client]]:
    """Two processes, 0 and 1, with a director that plans nothing by itself."""
    instance = Instance.from_arrays(np.ones((2, 2)), [(0, 1, 1.0)])
    replan(instance, Schedule([]), 0.0)
    with (
        dask.config.set({"distributed.admin.system-monitor.gil.enabled": False}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as made,
        Client(made, set_as_default=False) as ours,
    ):
        # Functions of this module bring the module with them, which takes a while.
        ours.run(process)
        client.ensure_plugin(ours, advisor=FixedAdvisor(), mode="director", hung_after=60.0)
        yield made, ours
        # What was killed may keep the cluster from closing in time, and the scheduler is ours.
        ours.unregister_scheduler_plugin(OrchestratorPlugin.name)


def announce(ours: Client, run_id: str, tasks: int) -> list[str]:
    """Independent tasks, half of them planned on each of two equal workers; their keys."""
    names = [f"t{i}" for i in range(tasks)]
    workers = client.fetch_cluster(ours)
    instance = Instance(
        TaskGraph.from_columns(names, kinds=["t"] * tasks), workers, np.full((tasks, 2), SECONDS)
    )
    rows = [
        Assignment(name, workers.names[i % 2], SECONDS * (i // 2), SECONDS * (i // 2 + 1))
        for i, name in enumerate(names)
    ]
    plan = LivePlan(instance, Schedule(rows), SECONDS * tasks / 2)
    keys = [f"{run_id}-{name}" for name in names]
    slots = {key: Slot(run.worker, i) for i, (key, run) in enumerate(zip(keys, rows, strict=True))}
    client.begin(
        ours, run_id, [(k, n, "t") for k, n in zip(keys, names, strict=True)], slots, plan=plan
    )
    return keys


def process() -> int:
    return os.getpid()


def works(number: int) -> int:
    """The square, after a tenth of a second; on worker 1 it takes ten times as long."""
    time.sleep(SECONDS * (10 if get_worker().name == 1 else 1))
    return number**2


def die_on_one(number: int, dead: Path) -> int:
    """The square; the first call on worker 1 kills it."""
    if get_worker().name == 1 and not dead.exists():
        dead.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(SECONDS)
    return number**2


def test_a_slow_worker_is_relieved(cluster: tuple[Any, Client]) -> None:
    """Ten tasks of a second are planned there; the other is through with its own after a second."""
    made, ours = cluster
    session = made.scheduler.plugins["orchestrator"].session
    keys = announce(ours, "slow", 20)
    futures = [ours.submit(works, i, key=key) for i, key in enumerate(keys)]
    assert ours.gather(futures) == [i**2 for i in range(20)]
    assert session.counters.replans > 0
    assert session.counters.moved > 0
    places = [row.record.worker for row in client.records(ours, "slow")]
    assert places.count("1") <= 7, "of ten; nothing but a repair takes planned tasks away"
    assert session.counters.faults == 0
    client.end(ours, "slow")


def test_what_a_killed_worker_had_is_planned_again(
    cluster: tuple[Any, Client], tmp_path: Path
) -> None:
    made, ours = cluster
    session = made.scheduler.plugins["orchestrator"].session
    before = session.counters.replans
    keys = announce(ours, "killed", 20)
    futures = [ours.submit(die_on_one, i, tmp_path / "dead", key=key) for i, key in enumerate(keys)]
    assert ours.gather(futures) == [i**2 for i in range(20)]
    assert session.counters.replans > before
    assert session.counters.faults == 0
    assert session.steering.follower.check() == ()
    client.end(ours, "killed")
    assert len(session.control) == len(session.announcements) == 0
