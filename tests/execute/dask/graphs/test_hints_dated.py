"""What hints say is not to begin before a date does not, whoever places it."""

from __future__ import annotations

from time import time
from typing import Any

import dask
import pytest
from dask.delayed import delayed
from distributed import Client, Scheduler, Worker

from orchestrator_core.execute.dask import OrchestratorPlugin
from orchestrator_core.execute.dask.steer import standstill
from tests.execute.dask.advisors import PLANS, FixedAdvisor
from tests.execute.dask.cluster import add, cluster_test, start, stop, until

SOON, NEVER = 0.3, 1e6


def moment(number: int) -> float:
    return time()


def dated(tasks: int = 9, **hint: Any) -> list[Any]:
    with dask.annotate(orchestrator=hint):
        return [delayed(moment)(i, dask_key_name=f"t-{i}") for i in range(tasks)]


def states(s: Scheduler, prefix: str = "t-") -> set[str]:
    return {str(task.state) for key, task in s.tasks.items() if str(key).startswith(prefix)}


def director(advisor: str = "left to Dask") -> OrchestratorPlugin:
    return OrchestratorPlugin(mode="director", advisor=PLANS[advisor]())


@pytest.mark.parametrize("tasks", [1, 9])
@pytest.mark.parametrize("advisor", PLANS)
@cluster_test()
async def test_they_begin_when_it_has_come(
    c: Client, s: Scheduler, a: Worker, b: Worker, advisor: str, tasks: int
) -> None:
    """One task alone is no graph that is planned; its date counts."""
    await start(s, plugin := director(advisor))
    submitted = time()
    began = await c.gather(c.compute(dated(tasks, release=SOON), optimize_graph=False))
    assert min(began) >= submitted + SOON
    await stop(s, plugin)


@pytest.mark.parametrize("advisor", PLANS)
@cluster_test()
async def test_others_do_not_wait_for_it(
    c: Client, s: Scheduler, a: Worker, b: Worker, advisor: str
) -> None:
    """Nor do they for ever, when the plugin goes."""
    session = await start(s, plugin := director(advisor))
    others = [delayed(add)(i, dask_key_name=f"now-{i}") for i in range(9)]
    later = c.compute(dated(release=NEVER), optimize_graph=False)
    assert await c.gather(c.compute(others, optimize_graph=False)) == list(range(1, 10))
    await until(lambda: states(s) == {"no-worker"})
    assert len(session.steering.dated.keys) == 9
    await stop(s, plugin)
    await c.gather(later)


@cluster_test()
async def test_who_waits_is_not_put_off_by_a_second_graph(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    session = await start(s, plugin := director())
    first = c.compute(dated(release=NEVER), optimize_graph=False)
    await until(lambda: states(s) == {"no-worker"})
    until_when = dict(session.steering.dated._moment)
    assert len(until_when) == 9
    more = [delayed(add)(i, dask_key_name=f"now-{i}") for i in range(9)]
    second = c.compute([*dated(release=NEVER), *more], optimize_graph=False)
    await c.gather(second[9:])
    assert session.steering.dated._moment == until_when
    await stop(s, plugin)
    await c.gather([*first, *second])


@cluster_test()
async def test_waiting_for_it_is_no_standstill(
    c: Client, s: Scheduler, a: Worker, b: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await start(s, plugin := director())
    later = c.compute(dated(release=NEVER), optimize_graph=False)
    await until(lambda: states(s) == {"no-worker"})
    monkeypatch.setattr(standstill, "LONGEST", -1.0)
    session.steering._standstill.look()
    assert states(s) == {"no-worker"}
    assert session.counters.faults == 0
    await stop(s, plugin)
    await c.gather(later)


@cluster_test()
async def test_a_task_that_is_asked_for_again_without_a_date_waits_for_none(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    session = await start(s, plugin := director())
    later = c.compute(dated(release=NEVER), optimize_graph=False)
    await until(lambda: states(s) == {"no-worker"})
    del later
    await until(lambda: not states(s))
    assert not session.steering.dated.keys, "nor is anything kept of what is gone"
    plain = [delayed(add)(i, dask_key_name=f"t-{i}") for i in range(9)]
    assert await c.gather(c.compute(plain, optimize_graph=False)) == list(range(1, 10))
    await stop(s, plugin)


@cluster_test(config={"distributed.scheduler.no-workers-timeout": "1s"})
async def test_nobody_waits_for_so_long_that_dask_would_fail_it(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    await start(s, plugin := director())
    await c.gather(c.compute(dated(release=NEVER), optimize_graph=False))
    await stop(s, plugin)


@cluster_test()
async def test_of_several_dates_each_counts(c: Client, s: Scheduler, a: Worker, b: Worker) -> None:
    await start(s, plugin := OrchestratorPlugin(mode="director", advisor=FixedAdvisor()))
    submitted, tasks = time(), []
    for number in range(9):
        with dask.annotate(orchestrator={"release": SOON + 0.02 * number}):
            tasks.append(delayed(moment)(number, dask_key_name=f"t-{number}"))
    began = await c.gather(c.compute(tasks, optimize_graph=False))
    late = [at - submitted - SOON - 0.02 * number for number, at in enumerate(began)]
    assert min(late) >= 0.0
    await stop(s, plugin)
