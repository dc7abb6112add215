"""A graph that would be left to Dask, beside runs that have turns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from distributed import Client, Event, Scheduler, Worker

from orchestrator_core.costs.instance import Instance
from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.dask.plans.company import beside_others
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.plan.objective import Objective
from orchestrator_core.plan.schedule import Assignment, Schedule
from tests.execute.dask.advisors import PricedAdvisor, all_on_first, plugin_of
from tests.execute.dask.cluster import NO_MEMORY, add, cluster_test, start, stop, until, wait_for
from tests.execute.dask.spy import Spy
from tests.promises import promised

ONE = {**NO_MEMORY, "nthreads": [("127.0.0.1", 1)]}
LITTLE = "left to Dask: it must save 5%"


class Doubtful(PricedAdvisor):
    """Plans graphs of more than five tasks; of others it says that Dask is nearly as fast."""

    def advise(self, graph: TaskGraph, cluster: Cluster, flow: str) -> Advice:
        advice = super().advise(graph, cluster, flow)
        assert advice.plan is not None
        if len(graph) > 5:
            return advice
        seconds = advice.plan.predicted / 1.1
        plan = replace(advice.plan, adopted=False, reason=LITTLE, default_predicted=seconds)
        return replace(advice, plan=plan, reason=LITTLE)


async def blocked(c: Client, s: Scheduler, a: Worker) -> tuple[Doubtful, Any, Any]:
    """A task that waits has the only thread."""
    advisor = Doubtful(all_on_first, seconds=1.0)
    plugin = plugin_of(advisor)
    await start(s, plugin)
    gate = c.submit(wait_for, "go", key="gate")
    await until(lambda: a.state.executing_count == 1)
    return advisor, plugin, gate


async def order(c: Client, s: Scheduler, a: Worker, futures: list[Any]) -> list[str]:
    s.plugins["spy"] = spy = Spy([])  # type: ignore[assignment]
    await until(lambda: len(a.state.tasks) == len(futures) + 1)
    await Event("go").set()
    await c.gather(futures)
    s.validate_state()
    return [str(key)[2:-1] for key in spy.ended if key != "gate"]


def independent(tag: str, number: int) -> dict[str, Any]:
    return {f"x-{tag}{i}": (add,) for i in range(number)}


@cluster_test(**ONE)
async def test_it_has_a_turn_beside_a_planned_run(c: Client, s: Scheduler, a: Worker) -> None:
    advisor, plugin, _gate = await blocked(c, s, a)
    long, short = independent("long", 8), independent("short", 3)
    futures = list(c.get(long, list(long), sync=False))
    await until(lambda: len(plugin.session.control) == 1)
    futures += c.get(short, list(short), sync=False)
    assert await order(c, s, a, futures) == ["short"] * 3 + ["long"] * 8
    await stop(s, plugin)
    (run,) = (run for run in advisor.runs if len(run.tasks) == 3)
    assert run.mode == "planned"
    assert run.reason == (
        "planned, to take turns with runs under way: "
        "it takes 3 s against 2.73 s by Dask's own order"
    )


@cluster_test(**ONE)
async def test_it_is_asked_about_again_though_it_was_declined_alone(
    c: Client, s: Scheduler, a: Worker
) -> None:
    """What was not worth a plan is not asked about twice, but in company."""
    advisor, plugin, _gate = await blocked(c, s, a)
    futures: list[Any] = []
    for tag in ("one", "two"):
        graph = independent(tag, 3)
        futures += c.get(graph, list(graph), sync=False)
        await until(lambda tag=tag: f"x-{tag}0" in s.tasks)  # type: ignore[misc]
    assert len(advisor.asked) == 1
    assert len(plugin.session.control) == 0
    long = independent("long", 8)
    futures += c.get(long, list(long), sync=False)
    await until(lambda: len(plugin.session.control) == 1)
    short = independent("short", 3)
    futures += c.get(short, list(short), sync=False)
    await until(lambda: len(plugin.session.control) == 2)
    await Event("go").set()
    await c.gather(futures)
    await stop(s, plugin)


@cluster_test(**ONE)
async def test_runs_of_another_priority_are_no_company(c: Client, s: Scheduler, a: Worker) -> None:
    _advisor, plugin, _gate = await blocked(c, s, a)
    long, short = independent("long", 8), independent("short", 3)
    futures = list(c.get(long, list(long), sync=False))
    await until(lambda: len(plugin.session.control) == 1)
    futures += c.get(short, list(short), sync=False, priority=1)
    await until(lambda: "x-short0" in s.tasks)
    assert len(plugin.session.control) == 1
    await Event("go").set()
    await c.gather(futures)
    await stop(s, plugin)


def declined(predicted: float = 1.0, default: float | None = 1.0, **told: Any) -> Advice:
    schedule = Schedule([Assignment("t", "w", 0.0, predicted)])
    plan = promised(schedule, adopted=False, reason=LITTLE, default_predicted=default)
    return Advice(plan, LITTLE, **told)


def test_a_plan_need_save_nothing_and_must_not_cost_much() -> None:
    assert beside_others(declined()).adopted
    assert beside_others(declined(predicted=0.9)).adopted
    assert beside_others(declined(predicted=1.2)).adopted
    assert not beside_others(declined(predicted=1.21)).adopted


@pytest.mark.parametrize(
    "advice",
    [
        Advice(None, "its costs are not known"),
        declined(default=None),
        declined(objective=Objective.of("price")),
        declined(max_price=3.0),
    ],
)
def test_whatever_is_not_about_time_stays_as_it_is(advice: Advice) -> None:
    assert beside_others(advice) is advice


def test_dates_are_not_about_time() -> None:
    graph = TaskGraph.from_columns(["t"], kinds=["t"], deadline=[5.0])
    instance = Instance.from_arrays(np.ones((1, 1)), [], task_names=["t"])
    instance = replace(instance, graph=graph)
    assert beside_others(declined(instance=instance)).reason == LITTLE
