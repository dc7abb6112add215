"""What hints say of price, dates and memory changes what a cluster does; a real advisor plans."""

from __future__ import annotations

import time
from typing import Any

import dask
import numpy as np
import pytest
from dask.delayed import delayed
from distributed import Client, Scheduler, Worker

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.dask import OrchestratorPlugin
from orchestrator_core.execute.dask.session import Session
from orchestrator_core.execute.dask.workers.describe import Description
from orchestrator_core.execute.record import TaskRecord
from orchestrator_core.orchestrate import Orchestrator
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.portfolio import plan
from orchestrator_core.store.memory import MemoryStore
from tests.execute.dask.cluster import cluster_test, start, stop, until

PLENTY: dict[str, Any] = {
    "worker_kwargs": {"memory_limit": 10**9, "validate": True},
    # Workers share the process of all tests, which may hold more than they are said to have.
    "config": {f"distributed.worker.memory.{what}": False for what in ("target", "spill", "pause")},
}

PLANNERS = ("heft", "edf", "price-subsets", "tardiness-lists")


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    """What is compiled is loaded before any budget counts."""
    instance = Instance.from_arrays(np.ones((2, 2)), [], deadline=[3.0, 3.0])
    for objective in ("price", "tardiness"):
        plan(instance, Budget(iterations=1), PLANNERS, objective=objective)


def works(number: int) -> int:
    time.sleep(0.05)
    return number


async def ready(s: Scheduler) -> tuple[Session, OrchestratorPlugin]:
    advisor = Orchestrator(MemoryStore(), budget=Budget(seconds=0.3), planners=PLANNERS)
    plugin = OrchestratorPlugin(advisor=advisor, min_tasks=1, plan_wait=20.0)
    return await start(s, plugin), plugin


def seen(session: Session) -> tuple[str, list[TaskRecord]]:
    """Why the run went as it did, and its tasks in order of their start."""
    run = session.last_run
    assert run is not None
    return run.reason, sorted((row for _, row in run.records()), key=lambda row: row.start)


async def run(c: Client, *hints: dict[str, Any]) -> None:
    """One task for each of the hints, each said to take a second."""
    tasks = []
    for i, hint in enumerate(hints):
        with dask.annotate(orchestrator={"seconds": 1.0, **hint}):
            tasks.append(delayed(works)(i, dask_key_name=f"t-{i}"))
    wanted = c.compute(tasks, optimize_graph=False)
    assert await c.gather(wanted) == list(range(len(hints)))


@cluster_test(timeout=60, **PLENTY)
async def test_for_the_price_dear_workers_are_left_alone(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    session, plugin = await ready(s)
    session.roster.describe(a.address, Description(kind="dear", price=36_000.0))
    session.roster.describe(b.address, Description(kind="cheap", price=3_600.0))
    await run(c, *[{"objective": "price"}] * 8)
    await stop(s, plugin)
    reason, tasks = seen(session)
    assert {record.worker for record in tasks} == {str(b.name)}, reason


@cluster_test(timeout=60, **PLENTY)
async def test_who_is_left_to_dask_is_told_which_hints_are_not_heeded(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    session, plugin = await ready(s)
    await run(c, {"workers": [str(a.name)], "due": 5.0}, {})
    assert seen(session)[0].endswith("; Dask heeds no hints but where tasks may run")
    await until(lambda: not s.tasks)
    await run(c, {"workers": [str(a.name)]}, {})
    assert "hints" not in seen(session)[0]
    await until(lambda: not s.tasks)
    await c.gather([c.submit(works, i) for i in range(2)])
    bare = c.get({f"b-{i}": (works, i) for i in range(2)}, ["b-0", "b-1"], sync=False)
    await c.gather(bare)
    await stop(s, plugin)
    assert "hints" not in seen(session)[0]


@cluster_test(timeout=60, **PLENTY)
async def test_deadlines_let_tasks_run_first(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    """Whatever Dask begins with: of these two it would keep one for the end."""
    session, plugin = await ready(s)
    soon = {"deadline": 1.0}
    await run(c, soon, *[{}] * 6, soon)
    await stop(s, plugin)
    reason, tasks = seen(session)
    assert {record.task for record in tasks[:2]} == {"t-0", "t-7"}, reason


@cluster_test(timeout=60, **PLENTY)
async def test_what_needs_much_memory_goes_where_it_is(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    """All would go to the cheap worker, if it were not too small for some of them. So many are
    cheap that Dask, which shares them out, pays more whichever worker it begins with."""
    session, plugin = await ready(s)
    session.roster.describe(a.address, Description(kind="small", price=3_600.0))
    session.roster.describe(b.address, Description(kind="large", price=36_000.0))
    s.workers[b.address].memory_limit = 4 * 10**9
    cheap, large = {"objective": "price"}, {"objective": "price", "memory": "2 GB"}
    await run(c, *[cheap] * 12, *[large] * 2)
    await stop(s, plugin)
    reason, tasks = seen(session)
    places = {record.task: record.worker for record in tasks}
    assert {places[f"t-{i}"] for i in range(12)} == {str(a.name)}, reason
    assert {places[f"t-{i}"] for i in range(12, 14)} == {str(b.name)}, reason
