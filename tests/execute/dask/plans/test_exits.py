"""An advisor that exits ends its own thread, and nothing else."""

from __future__ import annotations

from concurrent.futures import Future

import pytest
from distributed import Client, Scheduler, Worker

from orchestrator_core.errors import PlanningFailed
from orchestrator_core.execute.advice import Advice
from orchestrator_core.execute.dask.plans.advisory import _answer
from orchestrator_core.execute.record import RunRecord
from tests.execute.dask.advisors import FixedAdvisor, plugin_of
from tests.execute.dask.cluster import cluster_test, layers, result, start, stop


def test_an_exit_is_an_answer_that_failed() -> None:
    answer: Future[Advice] = Future()

    def leave() -> Advice:
        raise SystemExit(3)

    _answer(answer, leave)
    with pytest.raises(PlanningFailed, match=r"the advisor gave up: SystemExit\(3\)"):
        answer.result(0)


class Leaving(FixedAdvisor):
    """Exits instead of remembering a run, the first time."""

    def record(self, run: RunRecord) -> None:
        super().record(run)
        if len(self.runs) == 1:
            raise SystemExit(3)


@cluster_test()
async def test_an_exit_while_a_run_is_recorded_loses_no_other(
    c: Client, s: Scheduler, a: Worker, b: Worker
) -> None:
    advisor = Leaving()
    plugin = plugin_of(advisor)
    session = await start(s, plugin)
    for tag in ("x", "y"):
        graph, keys = layers(tag=tag)
        assert await c.gather(c.get(graph, keys, sync=False)) == [result()] * 6
    await stop(s, plugin)
    assert len(advisor.runs) == 2
    assert advisor.closed == 1
    assert session.counters.faults == 1
