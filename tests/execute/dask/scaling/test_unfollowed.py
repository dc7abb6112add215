"""Where the plan of a run is not followed, as on workers that are alike, it still says how many
workers the run is worth; who goes is left to Dask."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from distributed import Client, Event, Scheduler, Worker

from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.dask.session import Session
from tests.execute.dask.advisors import PricedAdvisor, all_on_first, plugin_of
from tests.execute.dask.cluster import cluster_test, start, stop, until, wait_for
from tests.execute.dask.scaling.test_elastic import TEN, told

WIDTH = 8
ALIKE = "left to Dask: all workers are alike"


class Declining(PricedAdvisor):
    """Has a plan that is not worth following, or makes none at all; in both cases it has priced
    the graph."""

    makes_plans = True

    def advise(self, *asked: Any) -> Advice:
        advice = super().advise(*asked)
        assert advice.plan is not None
        if not self.makes_plans:
            return replace(advice, plan=None, reason=ALIKE)
        return replace(advice, plan=replace(advice.plan, adopted=False), reason=ALIKE)


def submitted(c: Client, event: str) -> list[Any]:
    graph = {f"wide-{i}": (wait_for, event) for i in range(WIDTH)}
    return c.get(graph, list(graph), sync=False)  # type: ignore[no-any-return]


def follows_nothing(session: Session) -> bool:
    return len(session.steering.follower) == 0 and len(session.control) == 0


@pytest.mark.parametrize("plans", [True, False])
@cluster_test(nthreads=[("127.0.0.1", 1)])
async def test_a_run_that_is_left_to_dask_makes_the_cluster_grow(
    c: Client, s: Scheduler, a: Worker, plans: bool
) -> None:
    """Twice: the second time, nobody is asked before the run is over if a plan was declined."""
    advisor = Declining(all_on_first, seconds=TEN)
    advisor.makes_plans = plans
    plugin = plugin_of(advisor)
    session = await start(s, plugin)
    for turn in ("one", "two"):
        asked = len(advisor.asked)
        futures = submitted(c, turn)
        await told(c, WIDTH)
        assert len(advisor.asked) == asked + (turn == "one" or not plans)
        assert follows_nothing(session)
        assert session.runs[0].reason == ALIKE
        await Event(turn).set()
        assert await c.gather(futures) == [1] * WIDTH
        del futures
        await until(lambda: not s.tasks)
        reflected = session.advisory._reflected
        await until(lambda r=reflected: r is None or r.done())
    assert session.control.remaining() == []
    assert session.counters.faults == 0
    await stop(s, plugin)


@cluster_test(nthreads=[("127.0.0.1", 1)] * 3)
async def test_nobody_who_is_busy_is_closed_for_a_plan_that_is_not_followed(
    c: Client, s: Scheduler, *workers: Worker
) -> None:
    """By the plan one worker would do."""
    advisor = Declining(all_on_first, seconds=1e-3)
    plugin = plugin_of(advisor)
    session = await start(s, plugin)
    futures = submitted(c, "go")
    await until(lambda: all(ws.processing for ws in s.workers.values()))
    await until(lambda: session.elastic._workers(99, "5s") == 3)
    assert session.elastic._chosen(1, None) is None, "that is Dask's to say"
    await Event("go").set()
    assert await c.gather(futures) == [1] * WIDTH
    await stop(s, plugin)
