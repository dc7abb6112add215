"""What is believed of tasks that never ran: understood or refused where it is said, and planned."""

from __future__ import annotations

from typing import Any

import pytest
from prefect import task

from orchestrator_core.errors import InvalidInput
from orchestrator_core.execute.dask.graphs.hints import Hint
from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.store.sql import ScheduleStore
from orchestrator_prefect import OptimizedTaskRunner, optimized_flow
from orchestrator_prefect.settings.estimates import Estimate, read_estimates
from orchestrator_prefect.settings.flow_advisor import flow_advisor
from orchestrator_prefect.settings.flow_settings import FlowSettings
from orchestrator_prefect.settings.options import Options

from ..listening import listening

UNDERSTOOD = [
    (30, Estimate(Hint(seconds=30.0))),
    ("2min", Estimate(Hint(seconds=120.0))),
    ("30 ± 5", Estimate(Hint(seconds=30.0), 5.0)),
    ("2min +- 20s", Estimate(Hint(seconds=120.0), 20.0)),
    ("1h +/- 5min", Estimate(Hint(seconds=3600.0), 300.0)),
    ({"memory": "2 GiB"}, Estimate(Hint(memory=2.0**31))),
    (
        {"seconds": "5min ± 10s", "memory": 5},
        Estimate(Hint(seconds=300.0, memory=5.0), 10.0),
    ),
    (
        {"seconds": 3, "spread": "100ms", "output_bytes": 5},
        Estimate(Hint(seconds=3.0, output_bytes=5.0), 0.1),
    ),
]


@pytest.mark.parametrize(("said", "estimate"), UNDERSTOOD)
def test_an_estimate_is_understood(said: Any, estimate: Estimate) -> None:
    assert read_estimates({"train": said}) == {"train": estimate}


REFUSED = [
    ({"train": "soon"}, "estimates of task 'train': seconds = 'soon': expected seconds >= 0"),
    ({"train": -1}, "expected seconds >= 0"),
    ({"train": "1 ± 2 ± 3"}, "expected seconds, or text such as '30s ± 5s'"),
    ({"train": "± 2"}, "expected seconds >= 0"),
    ({"train": {"seconds": "1 ± 2 ± 3"}}, "expected seconds, or text such as '30s ± 5s'"),
    ({"train": {"seconds": "3 ± 1", "spread": 1}}, "there is a spread beside it, too"),
    ({"train": {"second": 1}}, "nobody asks for 'second'; there are seconds, spread, memory"),
    ({"train": {"workers": ["w"]}}, "nobody asks for 'workers'"),
    ({"train": {"spread": 2}}, "a spread needs seconds > 0 beside it"),
    ({"train": None}, "expected seconds >= 0"),
    ({7: 1}, "estimates of task 7: the name of a task is text"),
    ([("train", 1)], "expected seconds by name of the task"),
]


@pytest.mark.parametrize(("said", "message"), REFUSED)
def test_a_wrong_estimate_is_refused_at_decoration(said: Any, message: str) -> None:
    for decorate in (optimized_flow, OptimizedTaskRunner):
        with pytest.raises(InvalidInput) as refused:
            decorate(estimates=said)
        assert message in str(refused.value)


@task
def quick() -> int:
    return 1


def three() -> int:
    return sum(future.result() for future in [quick.submit() for _ in range(3)])


def settings(**options: Any) -> FlowSettings:
    return FlowSettings.of(Options(**options), Options(), None)


def test_the_advisor_is_made_with_the_runs_settings(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """10 s ± 5 s: at the 0.9 quantile, 10 exp(1.2816 sqrt(log 1.25)) = 18.3 s."""
    monkeypatch.setenv("ORCHESTRATOR_MIN_GAIN", "0.2")
    monkeypatch.setenv("ORCHESTRATOR_BUDGET", "0.5")
    told = settings(store=str(tmp_path / "a.db"), max_price=3, estimates={"train": "10 ± 5"})
    advisor: Any = flow_advisor(told)
    assert (advisor.min_gain, advisor.budget.seconds, advisor.max_price) == (0.2, 0.5, 3.0)
    builder = TaskGraph.build()
    builder.task("train-0", kind="k", seconds=10.0)
    builder.task("load-0", kind="l", seconds=10.0)
    priced = advisor.price(builder.done(), Cluster([Worker("w")]), 0.9)
    assert priced.seconds[:, 0] == pytest.approx([18.319, 10.0], abs=0.01)
    advisor.close()


@pytest.mark.parametrize("estimates", [None, {"quick": "0.01 ± 0.002"}])
def test_a_flow_with_estimates_is_planned_in_its_first_run(
    cluster: Any, tmp_path: Any, estimates: Any
) -> None:
    """With the real planner: without estimates the first run is only watched."""
    store = str(tmp_path / "plans.db")
    runner = OptimizedTaskRunner(cluster=cluster, store=store, report=False)
    assert optimized_flow(task_runner=runner, estimates=estimates)(three)() == 3
    opened = ScheduleStore(store)
    (line,) = opened.runs()
    watched = opened.run(line.run_id).reason.startswith("first run: observed")
    opened.close()
    assert watched == (estimates is None)


@pytest.mark.parametrize(
    ("estimates", "told"),
    [
        ({"qiuck": 0.01}, ["What is estimated of task 'qiuck' helped nobody, as there was none"]),
        ({"quick": 0.01, "quack": 0.01}, []),
        ({"nightly report": 5}, []),
    ],
)
def test_an_estimate_that_misspells_its_task_is_told(
    cluster: Any, tmp_path: Any, estimates: Any, told: list[str]
) -> None:
    """Not one of a task that this run has not submitted, as others may."""
    said: list[str] = []
    runner = OptimizedTaskRunner(cluster=cluster, store=str(tmp_path / "s.db"), report=False)
    flow = optimized_flow(task_runner=runner, estimates=estimates)(three)
    with listening(["prefect.flow_runs"], lambda record: said.append(record.getMessage())):
        assert flow() == 3
    found = [line for line in said if "estimated" in line]
    assert [line.partition(";")[0] for line in found] == told
    assert all(line.endswith("was 'quick' meant?") for line in found)
