"""Every method that hooks and overrides go through raises: always, or once in a hundred calls.

Workers live in this process: what is tested is the scheduler's side, and there is much of it.
"""

from __future__ import annotations

import inspect
import itertools
import threading
from collections.abc import Callable
from functools import partial
from itertools import product
from random import Random
from typing import Any

import pytest
from distributed import Client, Scheduler, Worker
from distributed.utils_test import gen_cluster

from orchestrator_core.execute.dask.graphs.recorder import Recorder
from orchestrator_core.execute.dask.plans.control import Control
from orchestrator_core.execute.dask.plans.watchdog import Watchdog
from orchestrator_core.execute.dask.session import Session
from orchestrator_core.execute.dask.steer.alarm import Alarm
from orchestrator_core.execute.dask.steer.director import Director
from orchestrator_core.execute.dask.steer.jam import Jams
from orchestrator_core.execute.dask.steer.live_tasks import LiveTasks
from orchestrator_core.execute.dask.steer.lookout import Lookout
from orchestrator_core.execute.dask.steer.restrict import Restrictor
from orchestrator_core.execute.dask.steer.standstill import Standstill
from orchestrator_core.execute.dask.steer.steering import Steering
from orchestrator_core.execute.dask.workers.roster import Roster
from orchestrator_core.execute.follower import Follower
from orchestrator_core.execute.planned_keys import PlannedKeys
from orchestrator_core.plan.crew import pool
from tests.chaos.advisors import Planner
from tests.chaos.play import expected, looks, make_plugin
from tests.chaos.workload import graph_of, make_jobs, sinks

pytestmark = pytest.mark.chaos

CLASSES = (
    Session, Steering, LiveTasks, Alarm, Lookout, Standstill, Jams, Follower, PlannedKeys, Control,
    Watchdog, Director, Restrictor, Roster, Recorder,
)  # fmt: skip

WITHDRAWING = {
    "fault", "stop", "uninstall", "disable", "clear", "_undo", "_attempt", "_give_up", "_withdraw",
    "put_aside", "decide_anew", "_decide", "_decide_next", "_task",
}  # fmt: skip
"""What a failure is answered with has nobody behind it to answer for it."""

RARE = 0.01
"""Part of the calls that fail, where not all do."""

SOON = 12
"""One of so many first calls fails in any case: some methods are called less than 100 times."""

cluster_test: Callable[..., Callable[..., Any]] = partial(
    gen_cluster,
    client=True,
    nthreads=[("127.0.0.1", 1)] * 3,
    scheduler_kwargs={"validate": True},
    worker_kwargs={"validate": True},
    timeout=60,
    config={"distributed.admin.system-monitor.gil.enabled": False},
)


def methods() -> list[tuple[type, str]]:
    """All methods of the classes but those that undo what others did."""
    return [
        (owner, name)
        for owner in CLASSES
        for name, value in vars(owner).items()
        if inspect.isfunction(value) and name != "__init__" and name not in WITHDRAWING
    ]


def ways() -> list[Any]:
    """Class, method, mode, and in which part of its calls the method raises."""
    found = []
    for owner, name in methods():
        modes = ["restrict"] if owner is Restrictor else ["holds"]
        if owner in (Steering, LiveTasks):
            modes = ["restrict", "holds"]
        parts = [1.0, RARE] if owner in (Session, Steering, Follower) else [1.0]
        for mode, part in product(modes, parts):
            label = f"{owner.__name__}.{name}-{mode}-{part:g}"
            found.append(pytest.param(owner, name, mode, part, id=label))
    return found


def broken(
    call: Callable[..., Any], part: float, failures: list[str], seed: int = 0
) -> Callable[..., Any]:
    """The function, which now raises in this part of its calls."""
    random = Random(f"{call.__qualname__} {seed}")
    calls, first = itertools.count(), random.randrange(SOON)

    def raising(*arguments: Any, **keywords: Any) -> Any:
        if random.random() < part or next(calls) == first:
            failures.append(call.__qualname__)
            raise RuntimeError(f"chaos in {call.__qualname__}")
        return call(*arguments, **keywords)

    async def raising_later(*arguments: Any, **keywords: Any) -> Any:
        return await raising(*arguments, **keywords)

    return raising_later if inspect.iscoroutinefunction(call) else raising


async def compute(c: Client, planner: Planner, tag: str) -> None:
    jobs = make_jobs(tag, 40, pace=0.1)
    planner.jobs.update(jobs)
    outputs = await c.gather(c.get(graph_of(jobs), sinks(jobs), sync=False))
    found = {key: value for key, (value, _) in zip(sinks(jobs), outputs, strict=True)}
    assert found == expected(jobs)


async def live_through(c: Client, s: Scheduler, mode: str) -> None:
    """Graphs, a worker that comes and goes, and the end of the plugin."""
    threads = set(threading.enumerate())
    try:
        await live(c, s, mode)
    finally:
        end_new_helpers(threads)


async def live(c: Client, s: Scheduler, mode: str) -> None:
    before = looks(s)
    planner = Planner()
    plugin = make_plugin(mode, planner)
    await s.register_scheduler_plugin(plugin, idempotent=True)
    assert plugin is not None
    if plugin.session is not None:
        await plugin.session.advisory.wait_ready(20)
    await compute(c, planner, "one")
    async with Worker(s.address, nthreads=1, name="late"):
        await compute(c, planner, "two")
    await compute(c, planner, "three")
    s.validate_state()
    s.remove_plugin(plugin.name)
    assert looks(s) == before
    assert not any(ts.worker_restrictions for ts in s.tasks.values())
    await compute(c, planner, "after")


@pytest.fixture(autouse=True)
def helper() -> None:
    """The planner's helper outlives each test, in which it must not look like a leak."""
    pool.start()


def end_new_helpers(before: set[threading.Thread]) -> None:
    """A helper that does not answer in time, as on a busy machine, is replaced in the middle of a
    test: the threads of the new one must not look like a leak either."""
    now = set(threading.enumerate())
    if any(thread.name.startswith("orchestrator-read") for thread in now - before):
        pool.end_all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("owner", "name", "mode", "part"), ways())
@cluster_test()
async def test_a_method_that_raises(
    c: Client, s: Scheduler, *workers: Worker, owner: type, name: str, mode: str, part: float
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, broken(vars(owner)[name], part, []))
        await live_through(c, s, mode)


@pytest.mark.filterwarnings("ignore")
@cluster_test()
async def test_a_helper_that_is_replaced_meanwhile_is_no_leak(
    c: Client, s: Scheduler, *workers: Worker
) -> None:
    """The check of leaks, which comes after this, fails otherwise."""
    pool.end_all()
    await live_through(c, s, "restrict")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("mode", ["restrict", "holds"])
@cluster_test()
async def test_all_methods_raise_now_and_then(
    c: Client, s: Scheduler, *workers: Worker, mode: str, seed: int
) -> None:
    failures: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in methods():
            patch.setattr(owner, name, broken(vars(owner)[name], RARE, failures, seed))
        await live_through(c, s, mode)
    assert failures
